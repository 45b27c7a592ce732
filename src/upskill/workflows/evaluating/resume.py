"""Resumes a run: under its own settings, within those of today, and only where skill, cases and models are the same."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from upskill import storage, trials
from upskill.domain import Evaluation
from upskill.domain.harness import Ceiling
from upskill.domain.other_skills import Among, OtherSkills
from upskill.errors import UpskillError, UsageError
from upskill.sandbox import Backend
from upskill.storage.runs import RunFolder, RunRecord
from upskill.workflows.evaluating.evaluate import EvaluationRun, ParentRun, run_and_report
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.evaluating.looks import look_notes, open_ledger, resumed_terms
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation, prepare
from upskill.workflows.evaluating.previous_version import opened_previous, recorded_revision
from upskill.workflows.evaluating.record import passages_digest, recorded_settings, settings_record
from upskill.workflows.evaluating.replay import changed_families, in_recorded_families
from upskill.workflows.evaluating.spending import client_for
from upskill.workflows.evaluating.typed_again import (
    EVAL_FLAGS,
    Demands,
    TypedAgain,
    Word,
    is_typed,
    keywords,
    nothing_typed,
    typed_command,
)
from upskill.workflows.progress import SILENT_RUN, RunProgress


def resume(
    run: Path,
    *,
    typed: TypedAgain | None = None,
    progress: RunProgress = SILENT_RUN,
    parent: ParentRun | None = None,
) -> Evaluation:
    """Resume a run that was killed or interrupted, under its own settings. No finished trial is bought again.

    Raises, with what to type, where the record asks for something that only a person may ask for.
    """
    storage.require_plain_folder(run)
    record = storage.read_run(run)
    typed = nothing_typed() if typed is None else typed
    demands = Demands.of(run, typed, EVAL_FLAGS)
    chosen = demands.settings(recorded_settings(record.settings), urls=("base_url",))
    order = _recorded_order(record, demands, every_case=parent is not None)
    demands.require_typed()
    told = {name: one for name, one in settings_record(chosen).items() if is_typed(typed.settings, name)}
    record = replace(record, settings={**record.settings, **told})
    settings = chosen.values
    announce = progress.announce if parent is None else lambda _: None
    with opened_previous(order) as opened:
        prepared = prepare(opened, replace(settings, harness=record.harness.partition("/")[0]), announce=announce)
    require_unchanged(prepared, record, run)
    plan = prepared.plan
    prepared = replace(
        prepared, plan=replace(plan, harness_version=record.harness, cases=in_recorded_families(plan.cases, record))
    )
    ledger = None if parent is not None else open_ledger(prepared, settings)
    if ledger is not None and record.looks:
        known = RunFolder(path=run).trials.read()
        record = replace(record, looks=resumed_terms(ledger, prepared, record.looks, run=run, known=known))
    notes = (*changed_families(plan.cases, record), *look_notes(record.looks))
    caps = demands.notes if parent is None else ()
    prepared = replace(prepared, notes=(*prepared.notes, *caps, *notes))
    progress.evaluation_planned(prepared.plan, skill=prepared.skill, lines=prepared.lines, notes=prepared.note_lines)
    client = client_for(settings) if parent is None else parent.client
    return run_and_report(
        EvaluationRun(prepared, settings, RunFolder(path=run), record, progress, client, parent, ledger), resumed=True
    )


def _recorded_order(record: RunRecord, demands: Demands, *, every_case: bool) -> EvaluationOrder:
    """What a record says of skill, cases and design, with what was typed in the place of what was recorded."""
    typed = demands.typed
    skill = demands.path(
        record.skill_source, typed.skill, Word("its skill is outside the working folder", "skill", "", "")
    )
    cases = typed.case_file
    if cases is None and (typed.skill is not None or demands.misses("skill")):  # a skill that is typed brings its cases
        cases = _beside_skill(record, skill)
    demands.sandbox(recorded_backend(record))
    demands.agent(record.agent)
    previous, revision = typed.previous, typed.previous_revision
    if record.previous_source is None and (previous, revision) != (None, None):
        raise UsageError(f"{demands.run}: was started without --compare", hint="remove --compare")
    if previous is None and revision is None:
        revision = recorded_revision(record.previous_source)
    if record.previous_source is not None and revision is None:
        word = Word("the older version is outside the working folder", "previous", "--compare", "previous:")
        previous = demands.path(record.previous_source, previous, word)
    return EvaluationOrder(
        skill=skill,
        case_file=demands.path(
            record.case_source, cases, Word("its cases are outside the working folder", "tests", "--tests", "")
        ),
        repeats=record.repeats if record.design == "fixed" else None,
        turn_cap=record.turn_cap or record.repeats * len(record.cases),
        baseline=len(record.arms) > 1,
        ceiling=recorded_ceiling(record),
        baseline_only=record.arms == ("baseline",),
        previous=previous,
        previous_revision=revision,
        min_lift=record.min_lift,
        only=frozenset(case.id for case in record.cases),
        every_case=every_case,
        known_states=record.case_states,
        sandbox=typed.sandbox,
        among=_recorded_among(record, demands),
        agent_bin=typed.agent_bin,
        accept_findings=typed.accept_findings,
        accept_changed_cases=typed.accept_changed_cases,
        searched=every_case,
    )


def _recorded_among(record: RunRecord, demands: Demands) -> Among:
    """The other skills of a run. Folders that were typed stand for all recorded ones; nothing else can be changed."""
    typed, begun = demands.typed.among, record.others or OtherSkills()
    if (typed.bundled and not begun.bundled) or (typed.shipped not in (0, begun.shipped)):
        raise UsageError(f"{demands.run}: was started among other skills than these", hint="remove --among")
    if typed.folders and not record.other_sources:
        raise UsageError(f"{demands.run}: was started without a folder of other skills", hint="remove --among")
    word = Word("its other skills are outside the working folder", "among", "--among", "")
    folders = typed.folders or tuple(str(demands.path(source, None, word)) for source in record.other_sources)
    return Among(shipped=begun.shipped, folders=folders, bundled=begun.bundled)


def _beside_skill(record: RunRecord, skill: Path) -> Path | None:
    """Where cases lie that were part of a skill, now that the skill was typed; `None` for a file of their own."""
    below = PurePosixPath(os.path.normpath(record.case_source)), PurePosixPath(os.path.normpath(record.skill_source))
    return skill / below[0].relative_to(below[1]) if below[0].is_relative_to(below[1]) else None


def resume_command(run: Path, *, library: bool = False) -> str:
    """What is typed to resume a run of `eval`, with all that must be typed again."""
    demands = Demands.of(run, nothing_typed(), EVAL_FLAGS)
    with suppress(UpskillError):
        record = storage.read_run(run)
        demands.settings(recorded_settings(record.settings), urls=("base_url",))
        _recorded_order(record, demands, every_case=False)
    if library:
        return f"upskill.resume({run.as_posix()!r}{keywords(demands.words)})"
    return typed_command(("eval", "--resume", run.as_posix()), demands.words)


def recorded_ceiling(record: RunRecord) -> Ceiling | None:
    """How a run has a ceiling arm."""
    if "ceiling" not in record.arms:
        return None
    return "beside" if "ceiling" in record.arms[2:] else "alone"


def recorded_backend(record: RunRecord) -> Backend | None:
    """What confined a run; `None` where nothing was executed. No order: `none` must be typed again."""
    if record.sandbox is None:
        return None
    recorded = record.sandbox.get("backend")
    return "none" if recorded == "none" else "docker" if recorded == "docker" else "bubblewrap"


def require_unchanged(prepared: PreparedEvaluation, record: RunRecord, run: Path) -> None:
    """Raise, with everything that differs now, where a run cannot be resumed."""
    problems = []
    if prepared.skill.digest != record.skill_digest:
        problems.append(f"the skill {prepared.skill.name} has changed since this run started")
    if (None if prepared.previous is None else prepared.previous.digest) != record.previous_digest:
        problems.append("the older version of the skill has changed since this run started")
    if [case.digest for case in prepared.plan.cases] != [case.digest for case in record.cases]:
        problems.append(
            "the cases have changed since this run; `upskill regrade` applies changed checks to stored answers"
        )
    if prepared.plan.arms != record.arms:
        problems.append("it is not an evaluation: `cases check --probe` asked only without the skill")
    if prepared.others != record.others:
        problems.append("the other skills (--among) have changed since this run started")
    if passages_digest(prepared.plan) != record.passages:
        problems.append("the passages have changed since this run")
    if prepared.plan.students != record.students:
        problems.append("the model names now resolve to other models")
    if identity(prepared.judge) != record.judge:
        problems.append("the judge now resolves to another model")
    harness = trials.load_harness(prepared.plan.harness)
    if record.harness not in (harness.version, *harness.resumable) or record.frame != harness.frame:
        problems.append("this version of upskill asks models in another way")
    program = prepared.trial_limits.setup.program
    if program is not None and record.agent is not None and program.version != record.agent.get("version"):
        problems.append(
            f"the coding agent is now version {program.version}, and the run began with {record.agent.get('version')}"
        )
    if problems:
        raise UsageError(f"{run}: cannot be resumed", problems=problems, hint="start a new run")
