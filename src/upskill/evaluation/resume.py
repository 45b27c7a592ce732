"""Resumes a run: under its own settings, within those of today, and only where skill, cases and models are the same."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from upskill.core.nouns import Evaluation
from upskill.core.nouns.harness import Ceiling, harness_info
from upskill.core.nouns.skill import Among, OtherSkills
from upskill.core.nouns.trial import CONTROLS
from upskill.core.progress import SILENT_RUN, RunProgress
from upskill.core.runs.own_runs import (
    differing_settings,
    is_own_run,
    is_typed,
    not_own,
    recorded_settings,
    resumed_settings,
    settings_record,
)
from upskill.core.runs.records import RunRecord, read_run
from upskill.core.runs.run_folders import RunFolder, require_plain_folder
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.core.trials.harness import load_harness
from upskill.core.trials.judge import identity
from upskill.errors import UsageError
from upskill.evaluation.estimate import client_for
from upskill.evaluation.evaluate import passages_digest, run_evaluation, with_page
from upskill.evaluation.looks import look_notes, looks_of
from upskill.evaluation.order import EvaluationOrder, opened_previous, recorded_revision
from upskill.evaluation.prepare import PreparedEvaluation, prepare
from upskill.evaluation.replay import changed_families, in_recorded_families
from upskill.sandbox import ENGINES, Backend

_UNUSED = (
    "anyway",
    "ceiling",
    "trigger_prompts",
    "teacher",
    "teacher_base_url",
    "test_gen_model",
    "cases",
    "harness",
    "agent_bin",
)
"""Settings that an evaluation does not use; its harness is recorded with its version, and compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TypedAgain:
    """What a person typed beside the run, and the settings of today."""

    settings: ResolvedSettings = field(default_factory=resolve_settings)
    sandbox: Backend = "bubblewrap"
    skill: Path | None = None
    case_file: Path | None = None
    previous: Path | None = None
    previous_revision: str | None = None
    among: Among = field(default_factory=Among)
    agent_bin: Path | None = None
    accept_findings: bool = False
    accept_changed_cases: bool = False


def resume(
    run: Path,
    *,
    typed: TypedAgain | None = None,
    progress: RunProgress = SILENT_RUN,
) -> Evaluation:
    """Resume a run that was killed or interrupted, under its own settings. No finished trial is bought again.

    Raises `UsageError` for a run that is not known as the user's own, unless all that it asks for was typed again.
    """
    require_plain_folder(run)
    record = read_run(run)
    typed = TypedAgain() if typed is None else typed
    folder, own = RunFolder(path=run), is_own_run(run)
    chosen = typed.settings
    if own:
        chosen = resumed_settings(run, recorded_settings(record.settings), typed.settings)
    else:
        _require_typed(run, record, typed)
    order = _recorded_order(run, record, typed, own=own)
    told = {name: one for name, one in settings_record(chosen).items() if is_typed(typed.settings, name)}
    record = replace(record, settings={**record.settings, **told})
    settings = chosen.values
    asked = replace(settings, harness=record.harness.partition("/")[0])
    with opened_previous(order) as opened:
        prepared = prepare(opened, asked, begun=record, announce=progress.announce)
    prepared = as_begun(prepared, record, run)
    plan = prepared.experiment.plan
    prepared = replace(prepared, notes=(*prepared.notes, *look_notes(record.looks)))
    progress.evaluation_planned(plan, skill=prepared.experiment.skill, lines=prepared.lines, notes=prepared.note_lines)
    evaluation = run_evaluation(
        prepared,
        settings,
        folder,
        folder.sealed(record) if own else record,
        client=client_for(settings),
        looks=looks_of(prepared, settings),
        resumed=True,
        progress=progress,
    )
    return with_page(evaluation, folder, settings, cases=plan.cases)


def as_begun(prepared: PreparedEvaluation, record: RunRecord, run: Path) -> PreparedEvaluation:
    """What was prepared again for a run that goes on, with the families that its cases had. Raises where it differs."""
    require_unchanged(prepared, record, run)
    plan = prepared.experiment.plan
    same = replace(plan, cases=in_recorded_families(plan.cases, record))
    return replace(
        prepared,
        experiment=replace(prepared.experiment, plan=same),
        notes=(*prepared.notes, *changed_families(plan.cases, record)),
    )


def _require_typed(run: Path, record: RunRecord, typed: TypedAgain) -> None:
    """Raise where a run that is not the user's own asks for something that was not typed again."""
    problems = []
    if others := differing_settings(recorded_settings(record.settings), typed.settings, unused=_UNUSED):
        problems.append(f"its settings are not those of today: {', '.join(others)}")
    if typed.skill is None:
        problems.append("its skill was not typed")
    elif typed.case_file is None and _beside_skill(record, typed.skill) is None:
        problems.append("its cases were not typed (--tests)")
    if (backend := recorded_backend(record)) is not None and backend != typed.sandbox:
        problems.append("its sandbox was not typed (--sandbox)")
    if record.agent is not None and record.agent.get("named") is not None and typed.agent_bin is None:
        problems.append("its coding agent was not named (UPSKILL_AGENT_BIN)")
    older = record.previous_source is not None and recorded_revision(record.previous_source) is None
    if older and typed.previous is None:
        problems.append("its older version was not typed (--compare)")
    if record.other_sources and not typed.among.folders:
        problems.append("its other skills were not typed (--among)")
    harness = harness_info(record.harness)
    if harness.program and harness.name != typed.settings.values.harness:
        problems.append(f"its harness is not that of today: {harness.name}")
    if problems:
        raise not_own(run, problems)


def _recorded_order(run: Path, record: RunRecord, typed: TypedAgain, *, own: bool) -> EvaluationOrder:
    """What a record says of skill, cases and design, with what was typed in the place of what was recorded.

    Paths, a program and a sandbox are taken from the record of an own run alone.
    """
    skill, cases = typed.skill, typed.case_file
    if cases is None and skill is not None:  # a skill that is typed brings its cases
        cases = _beside_skill(record, skill)
    if skill is None or cases is None:
        if not own:
            raise not_own(run, ["its skill or its cases were not typed"])
        skill, cases = skill or run / record.skill_source, cases or run / record.case_source
    previous, revision = typed.previous, typed.previous_revision
    if record.previous_source is None and (previous, revision) != (None, None):
        raise UsageError(f"{run}: was started without --compare", hint="remove --compare")
    if previous is None and revision is None:
        revision = recorded_revision(record.previous_source)
    if own and record.previous_source is not None and revision is None and previous is None:
        previous = run / record.previous_source
    named = record.agent.get("named") if own and record.agent is not None else None
    return EvaluationOrder(
        skill=skill,
        case_file=cases,
        repeats=record.repeats if record.design == "fixed" else None,
        required="no-harm" if record.design == "gate" and record.previous_source is None else None,
        baseline=len(record.arms) > 1,
        ceiling=recorded_ceiling(record),
        controls=not set(CONTROLS).isdisjoint(record.arms),
        previous=previous,
        previous_revision=revision,
        min_lift=record.min_lift,
        sandbox=resumed_backend(run, recorded_backend(record), typed.sandbox) if own else typed.sandbox,
        among=_recorded_among(run, record, typed.among, own=own),
        agent_bin=None if record.agent is None else typed.agent_bin or (None if named is None else Path(str(named))),
        accept_findings=typed.accept_findings,
        accept_changed_cases=typed.accept_changed_cases,
    )


def _recorded_among(run: Path, record: RunRecord, typed: Among, *, own: bool) -> Among:
    """The other skills of a run. Folders that were typed stand for all recorded ones; nothing else can be changed."""
    begun = record.others or OtherSkills()
    if (typed.bundled and not begun.bundled) or (typed.shipped not in (0, begun.shipped)):
        raise UsageError(f"{run}: was started among other skills than these", hint="remove --among")
    if typed.folders and not record.other_sources:
        raise UsageError(f"{run}: was started without a folder of other skills", hint="remove --among")
    recorded = tuple(str(run / source) for source in record.other_sources) if own else ()
    folders = typed.folders or recorded
    return Among(shipped=begun.shipped, folders=folders, bundled=begun.bundled)


def _beside_skill(record: RunRecord, skill: Path) -> Path | None:
    """Where cases lie that were part of a skill, now that the skill was typed; `None` for a file of their own."""
    below = PurePosixPath(os.path.normpath(record.case_source)), PurePosixPath(os.path.normpath(record.skill_source))
    return skill / below[0].relative_to(below[1]) if below[0].is_relative_to(below[1]) else None


def resumed_backend(run: Path, recorded: Backend | None, typed: Backend) -> Backend:
    """The sandbox of a resumed run: its own. Raises where another one was typed."""
    if recorded is None or typed in (recorded, "bubblewrap"):
        return typed if recorded is None else recorded
    began = "without a sandbox" if recorded == "none" else f"by {recorded}"
    how = "unconfined" if typed == "none" else f"in containers of {typed}"
    what = f"is not confined and was started {began}" if recorded == "none" else f"is confined {began}"
    raise UsageError(
        f"{run}: this run {what}, and cannot be resumed {how}",
        hint=f"remove --sandbox {typed}, or start a new run",
    )


def recorded_ceiling(record: RunRecord) -> Ceiling | None:
    """How a run has a ceiling arm."""
    if "ceiling" not in record.arms:
        return None
    return "beside" if "ceiling" in record.arms[2:] else "alone"


def recorded_backend(record: RunRecord) -> Backend | None:
    """What confined a run; `None` where nothing was executed."""
    if record.sandbox is None:
        return None
    recorded = record.sandbox.get("backend")
    backends: tuple[Backend, ...] = ("none", *ENGINES)
    return next((backend for backend in backends if backend == recorded), "bubblewrap")


def require_unchanged(prepared: PreparedEvaluation, record: RunRecord, run: Path) -> None:
    """Raise, with everything that differs now, where a run cannot be resumed."""
    problems = []
    if prepared.experiment.skill.digest != record.skill_digest:
        problems.append(f"the skill {prepared.experiment.skill.name} has changed since this run started")
    if (
        None if prepared.experiment.previous is None else prepared.experiment.previous.digest
    ) != record.previous_digest:
        problems.append("the older version of the skill has changed since this run started")
    if [case.digest for case in prepared.experiment.plan.cases] != [case.digest for case in record.cases]:
        problems.append(
            "the cases have changed since this run; `upskill regrade` applies changed checks to stored answers"
        )
    if prepared.experiment.plan.arms != record.arms:
        problems.append("it is not an evaluation: `cases check --probe` asked only without the skill")
    if prepared.experiment.others != record.others:
        problems.append("the other skills (--among) have changed since this run started")
    if passages_digest(prepared.experiment.plan.cases, prepared.experiment.plan.arms) != record.passages:
        problems.append("the passages have changed since this run")
    if prepared.experiment.plan.students != record.students:
        problems.append("the model names now resolve to other models")
    if identity(prepared.experiment.judge) != record.judge:
        problems.append("the judge now resolves to another model")
    harness = load_harness(prepared.experiment.plan.harness)
    if record.harness != harness.version or record.frame != harness.frame:
        problems.append("this version of upskill asks models in another way")
    program = prepared.experiment.trial_limits.setup.program
    if program is not None and record.agent is not None and program.version != record.agent.get("version"):
        problems.append(
            f"the coding agent is now version {program.version}, and the run began with {record.agent.get('version')}"
        )
    if problems:
        raise UsageError(f"{run}: cannot be resumed", problems=problems, hint="start a new run")
