"""Resumes a run: under its own settings, and only where skill, cases and models are what they were."""

from dataclasses import replace
from pathlib import Path

from upskill import storage, trials
from upskill.domain import Evaluation
from upskill.domain.harness import Ceiling
from upskill.errors import UsageError
from upskill.sandbox import Backend
from upskill.storage.runs import RunFolder, RunRecord
from upskill.workflows.evaluating.evaluate import EvaluationRun, ParentRun, run_and_report
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.evaluating.looks import look_notes, open_ledger, resumed_terms
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation, prepare
from upskill.workflows.evaluating.record import passages_digest, recorded_settings
from upskill.workflows.evaluating.replay import changed_families, in_recorded_families
from upskill.workflows.evaluating.spending import client_for
from upskill.workflows.progress import SILENT_RUN, RunProgress


def resume(run: Path, *, progress: RunProgress = SILENT_RUN, parent: ParentRun | None = None) -> Evaluation:
    """Resume a run that was killed or interrupted, under its own settings. No finished trial is bought again."""
    record = storage.read_run(run)
    settings = recorded_settings(record.settings).values
    prepared = prepare(
        EvaluationOrder(
            skill=run / record.skill_source,
            case_file=run / record.case_source,
            repeats=record.repeats if record.design == "fixed" else None,
            turn_cap=record.turn_cap or record.repeats * len(record.cases),
            baseline=len(record.arms) > 1,
            ceiling=recorded_ceiling(record),
            baseline_only=record.arms == ("baseline",),
            previous=None if record.previous_source is None else run / record.previous_source,
            min_lift=record.min_lift,
            only=frozenset(case.id for case in record.cases),
            every_case=parent is not None,
            known_states=record.case_states,
            sandbox=recorded_backend(record),
        ),
        replace(settings, harness=record.harness.partition("/")[0]),
    )
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
    prepared = replace(prepared, notes=(*prepared.notes, *notes))
    progress.evaluation_planned(prepared.plan, skill=prepared.skill, lines=prepared.lines)
    client = client_for(settings) if parent is None else parent.client
    return run_and_report(
        EvaluationRun(prepared, settings, RunFolder(path=run), record, progress, client, parent, ledger), resumed=True
    )


def recorded_ceiling(record: RunRecord) -> Ceiling | None:
    """How a run has a ceiling arm."""
    if "ceiling" not in record.arms:
        return None
    return "beside" if "ceiling" in record.arms[2:] else "alone"


def recorded_backend(record: RunRecord) -> Backend:
    """What confined a run. `none` is recorded only where a person typed it."""
    return "none" if record.sandbox is not None and record.sandbox.get("backend") == "none" else "bubblewrap"


def require_unchanged(prepared: PreparedEvaluation, record: RunRecord, run: Path) -> None:
    """Raise, with everything that differs now, where a run cannot be resumed."""
    problems = []
    if prepared.skill.digest != record.skill_digest:
        problems.append(f"the skill {prepared.skill.name} has changed since")
    if (None if prepared.previous is None else prepared.previous.digest) != record.previous_digest:
        problems.append("the older version of the skill has changed since")
    if [case.digest for case in prepared.plan.cases] != [case.digest for case in record.cases]:
        problems.append("the cases have changed since; `upskill regrade` applies changed checks to stored answers")
    if prepared.plan.arms != record.arms:
        problems.append("it was no evaluation: only the baseline was probed")
    if passages_digest(prepared.plan) != record.passages:
        problems.append("the passages have changed since")
    if prepared.plan.students != record.students:
        problems.append("the models resolve to something else now")
    if identity(prepared.judge) != record.judge:
        problems.append("the judge resolves to something else now")
    harness = trials.load_harness(prepared.plan.harness)
    if record.harness not in (harness.version, *harness.resumable) or record.frame != harness.frame:
        problems.append("this version of upskill asks students in another way")
    if problems:
        raise UsageError(f"{run}: cannot be resumed", problems=problems, hint="start a new run instead")
