"""What the record of a `generate` may ask for when it is resumed, and the command that resumes it.

Where the skill is saved is never taken from the record: it is typed again, or it is the place of today's settings.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from upskill import storage
from upskill.domain import Cap
from upskill.domain.other_skills import Among
from upskill.domain.skill import SKILL_FILE
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.models.handoff import is_handoff_folder
from upskill.settings import ResolvedSettings
from upskill.storage.records import first_problem
from upskill.storage.teaching_runs import CASES_FILE, TeachingFolder, TeachingRecord, read_teaching_run
from upskill.workflows.evaluating.record import recorded_settings
from upskill.workflows.evaluating.typed_again import (
    GENERATE_FLAGS,
    Demands,
    TypedAgain,
    Word,
    is_inside,
    keywords,
    nothing_typed,
    typed_command,
)
from upskill.workflows.generating.fact_plan import PLAN_FILE
from upskill.workflows.generating.order import (
    GenerateOrder,
    Target,
    improved_skill,
    in_place,
    order_from,
    with_cap,
)
from upskill.workflows.generating.shown_path import shown_path
from upskill.workflows.generating.teachers import absolute_handoff, with_absolute_handoff


@dataclass(frozen=True, kw_only=True, slots=True)
class TypedGenerate:
    """What a person typed beside the run of a `generate`; `again.skill` is the skill that is improved."""

    again: TypedAgain
    output: str | None = None
    plan_file: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumedOrder:
    """What a run goes on with: the recorded order and settings, as far as they may be followed."""

    order: GenerateOrder
    settings: ResolvedSettings
    skill: Path | None
    """The skill that is improved; `None` for a new one."""
    notes: tuple[str, ...]


def resumed_order(run: Path, record: TeachingRecord, typed: TypedGenerate) -> ResumedOrder:
    """The order of a run. Raises, with what to type, where it asks for what only a person may ask for."""
    demands = _demands(run, typed)
    resumed = _resumed(record, typed, demands)
    demands.require_typed()
    return resumed


def resume_command(run: Path, *extra: str, library: bool = False) -> str:
    """What is typed to resume a run of `generate`, with all that must be typed again; `extra` goes last."""
    typed = TypedGenerate(again=nothing_typed())
    demands = _demands(run, typed)
    with suppress(UpskillError):
        _resumed(read_teaching_run(run), typed, demands)
    words = [word for word in demands.words if word.flag not in extra]
    if library:
        return f"upskill.resume_generate({run.as_posix()!r}{keywords(words)})"
    return " ".join((typed_command(("generate", "--resume", run.as_posix()), words), *extra))


def cap_notes(cap: Cap | None, run: Path) -> tuple[str, ...]:
    """At which cap a run stopped, and what is typed to resume it; empty where there is room."""
    if cap is None:
        return ()
    return (f"stopped at {cap}; resume with: {resume_command(Path(shown_path(run)), *cap.option)}",)


def _demands(run: Path, typed: TypedGenerate) -> Demands:
    settings = with_absolute_handoff(with_cap(typed.again.settings))
    return Demands.of(run, replace(typed.again, settings=settings), GENERATE_FLAGS)


def _resumed(record: TeachingRecord, typed: TypedGenerate, demands: Demands) -> ResumedOrder:
    try:
        order = order_from(record.order)
    except ValidationError as error:
        raise EngineError(
            f"{demands.run}: its recorded options cannot be read: {first_problem(error)}", hint="start a new run"
        ) from None
    settings = demands.settings(recorded_settings(record.settings), urls=("base_url", "teacher_base_url"))
    demands.sandbox(order.sandbox)
    demands.agent(None if order.agent_bin is None else {"named": order.agent_bin})
    _require_handoffs(settings, demands)
    folder = TeachingFolder(path=demands.run)
    skill = _improved(order, folder, demands)
    order = replace(
        order,
        sandbox=typed.again.sandbox,
        output=typed.output,
        plan_file=_plan_file(order, folder, typed, demands),
        among=_among(order, demands),
        agent_bin=None if typed.again.agent_bin is None else str(typed.again.agent_bin),
        target=_target(order, skill, settings, typed, demands),
    )
    return ResumedOrder(order=order, settings=settings, skill=skill, notes=demands.notes)


def _improved(order: GenerateOrder, folder: TeachingFolder, demands: Demands) -> Path | None:
    """The skill that is improved: as it was typed, or in the working folder and as the run knows it."""
    if demands.typed.skill is not None:
        return demands.typed.skill
    skill = improved_skill(order)
    recorded = next((source for source in order.sources if skill is not None or folder.previous is not None), None)
    if skill is None:
        if order.target is not None and order.target.in_place:
            why = "the skill that it improves no longer exists"
            demands.missing.append(Word(why, "sources", "--from", recorded or str(order.target.folder)))
        return None
    if not is_inside(demands.run, skill) or not _is_known(skill, folder):
        why = f"it improves {skill}, which is outside this folder or has changed since the run started"
        demands.missing.append(Word(why, "sources", "--from", str(skill)))
    return skill


def _is_known(skill: Path, folder: TeachingFolder) -> bool:
    """Whether a skill is as when the run began, or as the run saved it."""
    drafts = [path.parent for path in folder.path.glob(f"drafts/*/*/{SKILL_FILE}")]
    known = [*drafts, *([] if folder.previous is None else [folder.previous])]
    with suppress(UpskillError):
        digest = storage.read_skill(skill).digest
        return any(storage.read_skill(one).digest == digest for one in known)
    return False


def _target(
    order: GenerateOrder, skill: Path | None, settings: ResolvedSettings, typed: TypedGenerate, demands: Demands
) -> Target:
    """Where the skill is saved: the place of an improved one, the one that was typed, or that of today's settings."""
    recorded = order.target
    if recorded is not None and recorded.in_place and typed.output is None and skill is not None:
        return in_place(skill)
    default = Target(parent=Path(settings.values.skills_dir).resolve())
    if order.output is None and typed.output is None:
        typed.again.settings.place("skills_dir", flag="-o")
        return default
    if typed.output is None:
        demands.missing.append(Word(f"it saves the skill in {order.output}", "output", "--output", order.output))
        return default
    output = Path(typed.output).expanduser()
    if recorded is None or recorded.folder is None:
        return Target(parent=output.resolve())
    if output.name != recorded.folder.name:
        raise UsageError(
            f"{typed.output}: the run writes the skill {recorded.folder.name}, and a skill has the name of its folder",
            hint=f"name a folder {recorded.folder.name} with --output",
        )
    return Target(folder=output.resolve(), parent=output.resolve().parent)


def _among(order: GenerateOrder, demands: Demands) -> Among:
    """The other skills of a run. Folders that were typed stand for all recorded ones."""
    folders = demands.typed.among.folders
    if not folders:
        folders = order.among.folders
        for folder in folders:
            if not is_inside(demands.run, Path(folder)):
                why = f"its other skills are in {folder}, outside the working folder"
                demands.missing.append(Word(why, "among", "--among", folder))
    return replace(order.among, folders=folders)


def _plan_file(order: GenerateOrder, folder: TeachingFolder, typed: TypedGenerate, demands: Demands) -> str | None:
    """The plan of facts, which is written where it does not exist: then it must be typed again."""
    if typed.plan_file is not None:
        return str(Path(typed.plan_file).expanduser().absolute())
    if order.plan_file is None or any(folder.saved(name) is not None for name in (PLAN_FILE, CASES_FILE)):
        return order.plan_file
    path = Path(order.plan_file)
    if not (path.is_file() and is_inside(demands.run, path)):
        why = f"it reads or writes the plan {order.plan_file}"
        demands.missing.append(Word(why, "plan", "--plan", order.plan_file))
    return order.plan_file


def _require_handoffs(settings: ResolvedSettings, demands: Demands) -> None:
    """The folder of a hand-off is written to: it is the one of today, lies in the run folder, or was one before."""
    today = demands.typed.settings.values
    for name in ("teacher", "test_gen_model"):
        asked = absolute_handoff(getattr(settings.values, name))
        if asked is None or not asked.startswith("handoff/") or asked == absolute_handoff(getattr(today, name)):
            continue
        folder = Path(asked.removeprefix("handoff/"))
        if not (is_inside(demands.run, folder) and is_handoff_folder(folder)):
            why = f"it writes its questions into {folder}"
            demands.missing.append(Word(why, name, GENERATE_FLAGS[name], asked))
