"""Generate: from a task, recordings or a skill to a skill that is measured, refined and saved with its provenance.

The result of every stage, every answer of a teacher and every trial is saved when it is there. Resuming a run is
running the same again: what was bought is found, and only what is missing is bought.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from pydantic import ValidationError

from upskill.core import checks
from upskill.core.cases.files import read_case_file, write_case_file
from upskill.core.models import Endpoint, HandoffOpen, NoAnswer
from upskill.core.models.handoff import Side, open_line
from upskill.core.nouns import Cap, Case
from upskill.core.progress import SILENT, SILENT_RUN, Progress, RunProgress
from upskill.core.runs.handing_off import asking_in, handoff_folder
from upskill.core.runs.own_runs import (
    differing_settings,
    is_own_run,
    not_own,
    recorded_settings,
    resume_command,
    resumed_settings,
    settings_record,
)
from upskill.core.runs.records import Status, now, record_text
from upskill.core.runs.run_folders import only_one_in, require_plain_folder
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.core.skills.skill_files import first_problem
from upskill.core.skills.skills import read_skill
from upskill.core.trials.judge import identity
from upskill.errors import EngineError, ProviderError, UpskillError, UsageError
from upskill.evaluation.evaluate import versions
from upskill.evaluation.resume import resumed_backend
from upskill.generation.describe import keep_prompts, plan_description, run_description
from upskill.generation.draft import read_draft
from upskill.generation.facts import PlanWritten
from upskill.generation.files import (
    MATERIAL_FILE,
    OWN_CASES_FILE,
    TeachingFolder,
    TeachingRecord,
    create_teaching_run,
    read_teaching_run,
)
from upskill.generation.gathering import material_record, read_material
from upskill.generation.generated import GenerateResult
from upskill.generation.handoff import handoff_status
from upskill.generation.material import Material
from upskill.generation.order import (
    GenerateOrder,
    Target,
    improved_skill,
    in_place,
    order_from,
    order_json,
    roles_for,
    with_absolute_paths,
    with_cap,
)
from upskill.generation.plan import (
    GenerateInputs,
    GeneratePlan,
    plan_generate,
    read_own_cases,
)
from upskill.generation.stages import PROFILE, PROFILE_RECORD, run_stages
from upskill.generation.story import keep_generate_report
from upskill.generation.student import StudentProfile
from upskill.generation.teaching import NOBODY, Accept, Teaching, begin, end_without_result, raised_with
from upskill.sandbox import Backend

__all__ = [
    "GenerateOrder",
    "GeneratePlan",
    "PlanWritten",
    "TypedGenerate",
    "generate",
    "plan_generate",
    "plan_order",
    "resume_generate",
]


def generate(
    order: GenerateOrder,
    *,
    settings: ResolvedSettings,
    progress: RunProgress = SILENT_RUN,
    confirm: Callable[[GeneratePlan], bool] = lambda _: True,
    accept: Accept = NOBODY,
    piped: BinaryIO | None = None,
) -> GenerateResult:
    """Make a skill, or a better one. Raises before any call if it could not succeed.

    `accept` is asked before a draft with dangerous content is saved.
    Whatever is raised after there is a draft has a note (`__notes__`) that names the best one and where it lies.
    """
    settings = with_absolute_paths(with_cap(settings))
    plan = plan_order(order, settings=settings, progress=progress, piped=piped)
    progress.generate_planned(plan.lines)
    if plan.is_much and not confirm(plan):
        raise UsageError("nothing was run, nothing was spent")
    inputs, material = plan.inputs, plan.inputs.material
    folder = create_teaching_run(settings.place("runs_dir"), about=_about(material))
    # They may have been edited while a person thought about the price: what is improved is what is saved now.
    own: tuple[Case, ...] = ()
    if not inputs.order.description_only:
        own = read_own_cases(inputs.order, material.skill_folder, judge=True, feedback=inputs.feedback)
    if material.skill_folder is not None and material.skill is not None:
        previous = folder.keep_previous(material.skill_folder, name=material.skill.name)
        material = replace(material, skill=read_draft(previous))
    if inputs.feedback is not None and inputs.target.in_place:
        inputs.feedback.record_retired()
    if own:
        write_case_file(folder.path / OWN_CASES_FILE, own)
    if inputs.prompts:
        keep_prompts(folder, inputs.prompts)
    folder.save(MATERIAL_FILE, material_record(material))
    if inputs.profile is not None:
        folder.save(PROFILE, record_text(PROFILE_RECORD, inputs.profile))
    inputs = replace(inputs, material=material, own_cases=_saved_own_cases(folder))
    record = folder.sealed(_first_record(inputs))
    folder.write_record(record)
    return _run_stages(folder, record, inputs, progress, accept)


def plan_order(
    order: GenerateOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    piped: BinaryIO | None = None,
    needs_keys: bool = True,
) -> GeneratePlan:
    """The plan of what was asked for: of a skill, or of a description alone."""
    if order.description_only:
        return plan_description(order, settings=settings, progress=progress, needs_keys=needs_keys)
    return plan_generate(order, settings=settings, progress=progress, piped=piped, needs_keys=needs_keys)


QUESTIONS = 2
"""Changes when teachers are asked something else: then the answers that a run has bought are answers to nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TypedGenerate:
    """What a person typed beside the run of a `generate`."""

    settings: ResolvedSettings
    sandbox: Backend = "bubblewrap"
    skill: Path | None = None
    """The skill that is improved."""
    output: str | None = None
    plan_file: str | None = None


def resume_generate(
    run: Path, *, typed: TypedGenerate | None = None, accept: Accept = NOBODY, progress: RunProgress = SILENT_RUN
) -> GenerateResult:
    """Resume a run that was killed, interrupted or stopped, under its own settings. Nothing is bought twice.

    `typed` is what a person typed beside the run. A run that is not known as the user's own is refused, unless all that
    it asks for was typed. A cap that was typed holds; what was spent before counts.
    """
    require_plain_folder(run)
    record = read_teaching_run(run)
    if record.questions != QUESTIONS:
        raise UsageError(
            f"{run}: cannot be resumed: an earlier version of upskill started it and asked the teacher other questions",
            hint=f"resume it with upskill {record.versions.get('upskill', 'of that version')}, or start a new run",
        )
    folder, own = TeachingFolder(path=run), is_own_run(run)
    typed = TypedGenerate(settings=resolve_settings()) if typed is None else typed
    if typed.plan_file is not None:
        typed = replace(typed, plan_file=str(Path(typed.plan_file).expanduser().absolute()))
    try:
        order = order_from(record.order)
    except ValidationError as error:
        raise EngineError(
            f"{run}: its recorded options cannot be read: {first_problem(error)}", hint="start a new run"
        ) from None
    recorded, settings = recorded_settings(record.settings), with_absolute_paths(with_cap(typed.settings))
    if own:
        settings = resumed_settings(run, recorded, settings)
    else:
        _require_typed(run, order, typed, differing_settings(recorded, settings, unused=_UNUSED))
    skill = _improved(folder, order, typed.skill)
    order = replace(
        order,
        sandbox=resumed_backend(run, order.sandbox, typed.sandbox),
        output=typed.output or order.output,
        plan_file=typed.plan_file or order.plan_file,
        target=_resumed_target(order, skill, settings, typed, own=own),
    )
    record = replace(record, settings=settings_record(settings))
    record = folder.sealed(record) if own else record
    text = folder.saved(MATERIAL_FILE)
    if text is None:
        raise UsageError(f"{run}: ended before anything was read or spent", hint="start a new run")
    material = read_material(text, previous=folder.previous, skill_folder=skill)
    roles = roles_for(settings, evaluate=order.evaluate, announce=progress.announce)
    if (identity(roles.teacher), identity(roles.writer)) != (record.teacher, record.case_writer):
        raise UsageError(
            f"{run}: cannot be resumed: its teacher was {record.teacher} and is now {identity(roles.teacher)}",
            hint="start a new run",
        )
    # Writers are told of the students as when it began, so that what they answered is found again.
    told = folder.saved(PROFILE)
    inputs = GenerateInputs(
        order=order,
        material=material,
        roles=roles,
        settings=settings,
        own_cases=_saved_own_cases(folder),
        profile=None if told is None else _profile(told, run),
    )
    return _run_stages(folder, record, inputs, progress, accept)


_UNUSED = ("judge", "judge_is_student", "ledger")


def _require_typed(run: Path, order: GenerateOrder, typed: TypedGenerate, others: list[str]) -> None:
    """Raise where a run that is not the user's own asks for something that was not typed again."""
    problems = [f"its settings are not those of today: {', '.join(others)}"] if others else []
    improves = improved_skill(order) is not None or (order.target is not None and order.target.in_place)
    asked = {
        "--sandbox": order.sandbox == typed.sandbox,
        "--output": order.output == typed.output,
        "--plan": order.plan_file == typed.plan_file,
        "--from": not improves or typed.skill is not None,
    }
    problems += [f"what it asks for was not typed ({option})" for option, same in asked.items() if not same]
    if problems:
        raise not_own(run, problems)


def _improved(folder: TeachingFolder, order: GenerateOrder, typed: Path | None) -> Path | None:
    """The skill that is improved: as it was typed, or as the run knows it."""
    if typed is not None:
        return typed
    skill = improved_skill(order)
    if skill is None:
        if order.target is not None and order.target.in_place:
            raise UsageError(
                f"{folder.path}: the skill that it improves no longer exists", hint="name it with --from SKILL"
            )
        return None
    if not _is_known(skill, folder):
        raise UsageError(
            f"{folder.path}: the skill that it improves has changed since the run started",
            hint="to replace it as it is now, name it with --from SKILL",
        )
    return skill


def _is_known(skill: Path, folder: TeachingFolder) -> bool:
    """Whether a skill is as when the run began, or as the run saved it."""
    known = [*folder.drafts, *([] if folder.previous is None else [folder.previous])]
    with suppress(UpskillError):
        digest = read_skill(skill).digest
        return any(read_skill(one).digest == digest for one in known)
    return False


def _resumed_target(
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


def _profile(told: bytes, run: Path) -> StudentProfile:
    try:
        return PROFILE_RECORD.validate_json(told)
    except ValidationError as error:
        raise EngineError(f"{run / PROFILE}: cannot be read: {first_problem(error)}") from None


def _run_stages(
    folder: TeachingFolder, record: TeachingRecord, inputs: GenerateInputs, progress: RunProgress, accept: Accept
) -> GenerateResult:
    with only_one_in(folder.path), asking_in(_handoffs(inputs, folder)) as close:
        record = replace(record, status="running", finished_at=None, end=None)
        folder.write_record(record)
        progress.run_created(folder.path)
        state = begin(folder, record, inputs, progress=progress, accept=accept, close=close)
        try:
            result = run_description(state) if inputs.order.description_only else run_stages(state)
        except BaseException as error:
            resumable = isinstance(error, KeyboardInterrupt | HandoffOpen | PlanWritten)
            if isinstance(error, UpskillError) and error.hint is None and not isinstance(error, PlanWritten):
                error.hint = f"every answer so far is saved; resume with `{resume_command(folder.path)}`"
            told = _explained(error, inputs, folder, state.client.exhausted)
            _record_end(state, told, "interrupted" if resumable else "failed")
            if (problem := _report(folder, inputs)) is not None:
                progress.note(f"note: {problem}")
            if state.best_draft is not None:
                told.add_note(state.best_draft)
            if told is error:
                raise
            raise told from None
        close("skill", f"the outcome: {result.sentence}")
        problem = _report(folder, inputs)
        return result if problem is None else replace(result, notes=(*result.notes, problem))


def _report(folder: TeachingFolder, inputs: GenerateInputs) -> str | None:
    """Leave a page in the run folder, however the run ended; returns why there is none, in words."""
    return keep_generate_report(folder.path) if inputs.settings.values.report else None


def _explained(error: BaseException, inputs: GenerateInputs, folder: TeachingFolder, cap: Cap | None) -> BaseException:
    if isinstance(error, HandoffOpen):
        return _handed_off(inputs, folder)
    return _unanswered(error, folder, cap) if isinstance(error, NoAnswer) else error


def _handoffs(inputs: GenerateInputs, folder: TeachingFolder) -> list[tuple[Path, Side]]:
    """The folders in which questions are handed off, by who is asked."""
    roles: list[tuple[Endpoint, Side]] = [(inputs.roles.teacher, "skill")]
    if inputs.writes_cases:
        roles.append((inputs.roles.writer, "cases"))
    return [(handoff_folder(one, run=folder.path), side) for one, side in roles if one.is_handoff]


def _handed_off(inputs: GenerateInputs, folder: TeachingFolder) -> HandoffOpen:
    """All that is open, and how to go on."""
    sides = {one / side: handoff_status(one / side).open for one, side in _handoffs(inputs, folder)}
    waiting = {side: [one.question for one in found] for side, found in sides.items() if found}
    commands = " and ".join(f"`upskill handoff {quote(side.as_posix())}`" for side in waiting)
    return HandoffOpen(
        "; ".join(map(open_line, waiting.values())),
        hint=f"answer with {commands}, then resume with `{resume_command(folder.path)}`",
    )


def _record_end(state: Teaching, error: BaseException, status: Status) -> None:
    """Where a disk is full, what happened matters more than that it could not be recorded; it can still be resumed."""
    reason = error.message if isinstance(error, UpskillError) else status
    with suppress(EngineError):
        end = end_without_result(state, reason)
        state.folder.write_record(replace(state.record, status=status, finished_at=now(), end=end))


def _unanswered(error: NoAnswer, folder: TeachingFolder, cap: Cap | None) -> UpskillError:
    if error.fault == "budget" and cap is not None:
        higher = resume_command(folder.path, raised_with(cap))
        return ProviderError(f"nothing was saved: {error}", hint=f"resume with a higher cap: {higher}")
    command = resume_command(folder.path)
    if error.fault == "crash":
        return EngineError(f"nothing was saved: {error}", hint=f"resume with {command}")
    return ProviderError(f"nothing was saved: the teacher did not answer: {error}", hint=f"resume with {command}")


def _saved_own_cases(folder: TeachingFolder) -> tuple[Case, ...]:
    path = folder.path / OWN_CASES_FILE
    if not path.exists():
        return ()
    return read_case_file(path, check_problems=partial(checks.check_problems, judge=True)).cases


def _about(material: Material) -> str:
    skill = material.skill
    return skill.name if skill is not None else " ".join(material.task.split())[:30]


def _first_record(inputs: GenerateInputs) -> TeachingRecord:
    order, material, roles = inputs.order, inputs.material, inputs.roles
    return TeachingRecord(
        started_at=now(),
        versions=versions(),
        # The task as it is sent: a person may have typed a secret into it.
        order=order_json(replace(order, task=material.task if order.task else None, examples=())),
        teacher=identity(roles.teacher) or "",
        case_writer=identity(roles.writer) or "",
        students=tuple(identity(student) or "" for student in roles.students),
        questions=QUESTIONS,
        settings=settings_record(inputs.settings),
        notes=(*roles.untyped, *material.notes),
    )
