"""Resumes the order of a `generate`: that of an own run as it was recorded, another only where it is typed again."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from upskill.core.nouns import Cap
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.runs.own_runs import (
    differing_settings,
    is_own_run,
    not_own,
    recorded_settings,
    resume_command,
    resumed_settings,
)
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.skill_files import first_problem
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.evaluation.resume import TypedAgain, resumed_backend
from upskill.generation.files import TeachingFolder, TeachingRecord, shown_path
from upskill.generation.order import (
    GenerateOrder,
    Target,
    improved_skill,
    in_place,
    order_from,
    with_cap,
)
from upskill.generation.teachers import with_absolute_handoff

_UNUSED = ("agent_bin", "anyway", "judge", "judge_is_student", "ledger")


@dataclass(frozen=True, kw_only=True, slots=True)
class TypedGenerate:
    """What a person typed beside the run of a `generate`; `again.skill` is the skill that is improved."""

    again: TypedAgain
    output: str | None = None
    plan_file: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumedOrder:
    """What a run goes on with."""

    order: GenerateOrder
    settings: ResolvedSettings
    skill: Path | None
    """The skill that is improved; `None` for a new one."""
    own: bool
    """Whether the run is known as the user's own."""


def resumed_order(run: Path, record: TeachingRecord, typed: TypedGenerate) -> ResumedOrder:
    """The order of a run. Raises `UsageError` for a run that is not known as the user's own, unless it was typed."""
    again = typed.again
    today = with_absolute_handoff(with_cap(again.settings))
    try:
        order = order_from(record.order)
    except ValidationError as error:
        raise EngineError(
            f"{run}: its recorded options cannot be read: {first_problem(error)}", hint="start a new run"
        ) from None
    recorded, own = recorded_settings(record.settings), is_own_run(run)
    plan_file = None if typed.plan_file is None else str(Path(typed.plan_file).expanduser().absolute())
    if own:
        settings = resumed_settings(run, recorded, today)
    else:
        _require_typed(run, order, typed, differing_settings(recorded, today, unused=_UNUSED), plan_file)
        settings = today
    skill = _improved(run, order, again.skill)
    named = None if again.agent_bin is None else str(again.agent_bin)
    order = replace(
        order,
        sandbox=resumed_backend(run, order.sandbox, again.sandbox),
        output=typed.output or order.output,
        plan_file=plan_file or order.plan_file,
        among=replace(order.among, folders=again.among.folders or order.among.folders),
        agent_bin=None if order.agent_bin is None else named or order.agent_bin,
        target=_target(order, skill, settings, typed, own=own),
    )
    return ResumedOrder(order=order, settings=settings, skill=skill, own=own)


def cap_notes(cap: Cap | None, run: Path) -> tuple[str, ...]:
    """At which cap a run stopped, and what is typed to resume it; empty where there is room."""
    if cap is None:
        return ()
    return (f"stopped at {cap}; resume with: {resume_command(Path(shown_path(run)), cap.raised_with)}",)


def _require_typed(
    run: Path, order: GenerateOrder, typed: TypedGenerate, others: list[str], plan_file: str | None
) -> None:
    """Raise where a run that is not the user's own asks for something that was not typed again."""
    again = typed.again
    problems = [f"its settings are not those of today: {', '.join(others)}"] if others else []
    named = None if again.agent_bin is None else str(again.agent_bin)
    skill = improved_skill(order)
    improves = skill is not None or (order.target is not None and order.target.in_place)
    asked = {
        "--sandbox": order.sandbox == again.sandbox,
        "--output": order.output == typed.output,
        "--plan": order.plan_file == plan_file,
        "UPSKILL_AGENT_BIN": order.agent_bin == named,
        "--among": order.among.folders == again.among.folders,
        "--from": not improves or again.skill is not None,
    }
    problems += [f"what it asks for was not typed ({option})" for option, same in asked.items() if not same]
    if problems:
        raise not_own(run, problems)


def _improved(run: Path, order: GenerateOrder, typed: Path | None) -> Path | None:
    """The skill that is improved: as it was typed, or as the run knows it."""
    if typed is not None:
        return typed
    skill = improved_skill(order)
    if skill is None:
        if order.target is not None and order.target.in_place:
            raise UsageError(f"{run}: the skill that it improves no longer exists", hint="name it with --from SKILL")
        return None
    if not _is_known(skill, TeachingFolder(path=run)):
        raise UsageError(
            f"{run}: the skill that it improves has changed since the run started",
            hint="to replace it as it is now, name it with --from SKILL",
        )
    return skill


def _is_known(skill: Path, folder: TeachingFolder) -> bool:
    """Whether a skill is as when the run began, or as the run saved it."""
    drafts = [path.parent for path in folder.path.glob(f"drafts/*/*/{SKILL_FILE}")]
    known = [*drafts, *([] if folder.previous is None else [folder.previous])]
    with suppress(UpskillError):
        digest = read_skill(skill).digest
        return any(read_skill(one).digest == digest for one in known)
    return False


def _target(
    order: GenerateOrder, skill: Path | None, settings: ResolvedSettings, typed: TypedGenerate, *, own: bool
) -> Target:
    """Where the skill is saved: where it was typed, where an own run says, or where today's settings say."""
    recorded = order.target
    if recorded is not None and recorded.in_place and typed.output is None and skill is not None:
        return in_place(skill)
    if typed.output is None:
        if own and recorded is not None:
            return recorded
        return Target(parent=settings.place("skills_dir").resolve())
    output = Path(typed.output).expanduser()
    if recorded is None or recorded.folder is None:
        return Target(parent=output.resolve())
    if output.name != recorded.folder.name:
        raise UsageError(
            f"{typed.output}: the run writes the skill {recorded.folder.name}, and a skill has the name of its folder",
            hint=f"name a folder {recorded.folder.name} with --output",
        )
    return Target(folder=output.resolve(), parent=output.resolve().parent)
