"""Evaluate a skill: put it on trial, measure, and keep everything in one run folder that can be resumed."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from upskill import checks, measuring, reporting, storage
from upskill.domain import Evaluation, Purchase, RunEnd, Scored, Student, Trial
from upskill.errors import EngineError, UsageError
from upskill.measuring.verdict import CutShort
from upskill.models import JudgeClient, MeteredClient, Spending
from upskill.redaction import redactor_from
from upskill.settings import Resolved, Settings
from upskill.storage.runs import RunFolder, RunRecord, now
from upskill.workflows.evaluating.conclude import summarise
from upskill.workflows.evaluating.execute import run_prepared
from upskill.workflows.evaluating.grading import grading_context_for, recorded_backend
from upskill.workflows.evaluating.judge import identity, judge_report, with_judge
from upskill.workflows.evaluating.own_keys import clean_logs
from upskill.workflows.evaluating.prepare import (
    EvaluationOrder,
    PreparedEvaluation,
    prepare,
)
from upskill.workflows.evaluating.record import first_record, recorded_settings, relative, require_unchanged
from upskill.workflows.evaluating.report import drawer_for, keep_report
from upskill.workflows.evaluating.reuse import Reuse, open_store
from upskill.workflows.evaluating.schedule import ResumedSchedule, Schedule, schedule_for
from upskill.workflows.evaluating.spending_rules import PricedPlan, client_for, is_much
from upskill.workflows.progress import SILENT_RUN, RunProgress


@dataclass(frozen=True, kw_only=True, slots=True)
class ParentRun:
    """What an evaluation shares with the larger thing that it is a part of."""

    client: MeteredClient
    """One budget for all parts."""
    folder: RunFolder
    """Where this part is kept."""
    recall: Callable[[str], Trial | None] = lambda _: None
    """Finds a trial that another part bought, by its id."""
    open_store: Callable[[PreparedEvaluation, Settings], AbstractContextManager[storage.TrialStore | None]] = open_store
    """Opens the trial store that this part reads and fills."""
    is_over: bool = False
    """Whether this part came to its end before: then what errored stays so, and nothing of it is bought any more."""


def evaluate(
    order: EvaluationOrder,
    *,
    settings: Resolved,
    progress: RunProgress = SILENT_RUN,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    client: MeteredClient | None = None,
    part_of: ParentRun | None = None,
) -> Evaluation:
    """Evaluate a skill that has cases. Raises before any call if it could not succeed; later it always returns a
    result.

    `client` is one that has been spent through already, so that its caps hold for both.
    """
    client = part_of.client if part_of is not None else client or client_for(settings.values)
    prepared = prepare(order, settings.values, progress=progress)
    progress.evaluation_planned(prepared.plan, skill=prepared.skill, lines=prepared.lines)
    if is_much(prepared.estimate) and not confirm(prepared.estimate):
        raise UsageError("nothing was run, nothing was spent")
    if part_of is None:
        folder = storage.create_run(Path(settings.values.runs_dir), skill_name=prepared.skill.name)
    else:
        folder = storage.run_folder_at(part_of.folder.path)
    record = first_record(prepared, settings, folder)
    folder.write_record(record)
    if part_of is not None:  # a stage of a longer run: `upskill report` draws it for whoever asks
        return _carry_out(prepared, settings.values, folder, record, progress, client=client, part_of=part_of)
    with drawer_for(settings.values) as drawer:
        evaluation = _carry_out(prepared, settings.values, folder, record, progress, client=client)
        return keep_report(folder.path, evaluation, cases=prepared.plan.cases, drawer=drawer)


def resume(run: Path, *, progress: RunProgress = SILENT_RUN, part_of: ParentRun | None = None) -> Evaluation:
    """Go on with a run that was killed or interrupted, under its own settings. Nothing finished is bought again."""
    record = storage.read_run(run)
    folder = RunFolder(path=run)
    settings = recorded_settings(record.settings).values
    prepared = prepare(
        EvaluationOrder(
            skill=run / record.skill_source,
            case_file=run / record.case_source,
            repeats=record.repeats if record.design == "fixed" else None,
            baseline=len(record.arms) > 1,
            previous=None if record.previous_source is None else run / record.previous_source,
            min_lift=record.min_lift,
            only=frozenset(case.id for case in record.cases),
            known_states=record.case_states,
            sandbox=recorded_backend(record),
        ),
        replace(settings, harness=record.harness.partition("/")[0]),
    )
    require_unchanged(prepared, record, run)
    prepared = replace(prepared, plan=replace(prepared.plan, harness_version=record.harness))
    progress.evaluation_planned(prepared.plan, skill=prepared.skill, lines=prepared.lines)
    if part_of is not None:
        client = part_of.client
        return _carry_out(prepared, settings, folder, record, progress, client=client, part_of=part_of, go_on=True)
    with drawer_for(settings) as drawer:
        client = client_for(settings)
        evaluation = _carry_out(prepared, settings, folder, record, progress, client=client, go_on=True)
        return keep_report(run, evaluation, cases=prepared.plan.cases, drawer=drawer)


def _carry_out(
    prepared: PreparedEvaluation,
    settings: Settings,
    folder: RunFolder,
    record: RunRecord,
    progress: RunProgress,
    *,
    client: MeteredClient,
    part_of: ParentRun | None = None,
    go_on: bool = False,
) -> Evaluation:
    with storage.only_one_in(folder.path):
        if go_on:
            progress.step("reading what was finished", 0, None)
        before = folder.trials.load() if go_on else []
        return _put_on_trial(
            prepared, settings, folder, record, progress, before=before, client=client, part_of=part_of
        )


def _put_on_trial(
    prepared: PreparedEvaluation,
    settings: Settings,
    folder: RunFolder,
    record: RunRecord,
    progress: RunProgress,
    *,
    before: list[Trial],
    client: MeteredClient,
    part_of: ParentRun | None,
) -> Evaluation:
    folder.set_space_aside()
    record = replace(record, status="running", finished_at=None, end=None)
    folder.write_record(record)
    finished = list(before)
    spent_before = replace(client.spent)
    schedules = {student.name: _schedule(student, prepared, progress) for student in prepared.plan.students}
    for trial in before:
        progress.trial_finished(trial)
    try:
        opened = open_store if part_of is None else part_of.open_store
        with opened(prepared, settings) as store, folder.trials.open() as log:

            def write(trial: Trial) -> None:
                log.append(trial)
                # What was left is on disk; memory need not grow with it.
                finished.append(replace(trial, answer="", files={}))
                progress.trial_finished(trial)

            context, judge_client = with_judge(
                grading_context_for(prepared.sandbox, folder.engine_data), prepared.judge, client
            )
            known = before if part_of is not None and part_of.is_over else _scored(before)
            reuse = Reuse(prepared, known, store=store, days=settings.store_days, note=write, context=context)
            if part_of is not None:
                reuse.also_from(part_of.recall)
            end = _run(
                prepared,
                client,
                folder,
                schedules,
                reuse,
                write,
                context,
                judge_client,
                begun=progress.evaluation_begun,
            )
        stored_notes = () if store is None else store.notes
    except BaseException:
        folder.release_space()
        with suppress(EngineError):  # what happened matters more than that it could not be noted
            folder.write_record(replace(record, status="failed", finished_at=now()))
        clean_logs(folder)
        raise
    folder.release_space()
    unread = clean_logs(folder)
    clean = redactor_from(os.environ).clean_own
    end = _of_students(end, prepared, clean)
    notes = tuple(map(clean, (*prepared.notes, *_end_notes(end, prepared), *stored_notes, *unread)))
    evaluation = summarise(
        prepared.plan,
        finished,
        skill=prepared.skill,
        run=relative(folder.path, Path.cwd()),
        schedules=schedules,
        cut_short=lambda student: _cut_short(student, end, schedules[student.name]),
        min_lift=prepared.min_lift,
        case_states=prepared.qualifications,
        bought=_bought(client.spent, spent_before, reuse),
        notes=notes,
        end=end,
        sandbox=None if prepared.sandbox is None else prepared.sandbox.backend,
    )
    evaluation = replace(evaluation, judge=judge_report(identity(prepared.judge), finished, client))
    folder.write_record(
        replace(
            record,
            status="interrupted" if end.interrupted else "finished",
            finished_at=now(),
            notes=evaluation.notes,
            end=end,
            results=reporting.evaluation_json(evaluation),
        )
    )
    return evaluation


def _scored(finished: list[Trial]) -> list[Trial]:
    """What errored is worth another try."""
    return [trial for trial in finished if isinstance(trial.outcome, Scored)]


def _bought(spent: Spending, before: Spending, reuse: Reuse) -> Purchase:
    return Purchase(
        calls=spent.calls - before.calls,
        failed_calls=spent.failed_calls - before.failed_calls,
        tokens=spent.tokens - before.tokens,
        # Once a price was unknown the sum is unknown; what was bought since may still be known to be nothing.
        cost=0.0 if spent.calls == before.calls else _less(spent.cost, before.cost),
        lost=spent.cost_lost - before.cost_lost,
        reused=reuse.reused,
        oldest_reused_days=reuse.oldest_days,
    )


def _less(cost: float | None, before: float | None) -> float | None:
    return None if cost is None or before is None else cost - before


def _schedule(student: Student, prepared: PreparedEvaluation, progress: RunProgress) -> Schedule:

    def after_pair(pair: measuring.Pair | measuring.Dropped, over: bool) -> None:
        progress.pair_finished(student.name, pair, over=over)

    return schedule_for(prepared.plan, min_lift=prepared.min_lift, after_pair=after_pair)


def _run(
    prepared: PreparedEvaluation,
    client: MeteredClient,
    folder: RunFolder,
    schedules: dict[str, Schedule],
    reuse: Reuse,
    write: Callable[[Trial], None],
    context: checks.GradingContext,
    judge_client: JudgeClient | None,
    *,
    begun: Callable[[MeteredClient], None],
) -> RunEnd:
    def bought(trial: Trial) -> None:
        write(trial)
        reuse.keep(trial)

    with storage.collector_paused():
        resumed = {
            student.name: ResumedSchedule(schedules[student.name], partial(reuse.of_this_run, student))
            for student in prepared.plan.students
        }
    if all(schedule.is_over for schedule in resumed.values()):
        return RunEnd()
    begun(client)
    return run_prepared(
        prepared,
        client=client,
        folder=folder,
        schedules=resumed,
        context=context,
        judge_client=judge_client,
        record=bought,
        recall=reuse.recall,
    )


def _cut_short(student: Student, end: RunEnd, schedule: Schedule) -> CutShort | None:
    if end.interrupted:
        return "interrupted"
    # Cases that are never answered come again at the end, among themselves, and look like an endpoint that is down.
    # By then everything has been put once: what is missing are dropped pairs, and those have a rule of their own.
    if end.has_outage(student.model) and not schedule.has_begun_all:
        return "down"
    return "budget" if end.cap is not None else None


def _end_notes(end: RunEnd, prepared: PreparedEvaluation) -> tuple[str, ...]:
    names = {endpoint.model: endpoint.name for endpoint in prepared.endpoints.values()}
    return (
        *cap_notes(end),
        *(
            f"{names[outage.model]}: the endpoint went down and nothing more was sent to it ({outage.said})"
            for outage in end.outages
        ),
    )


def cap_notes(end: RunEnd) -> tuple[str, ...]:
    """The cap that a run reached, for people; empty where it reached none."""
    return () if end.cap is None else (f"stopped at {end.cap}",)


def _of_students(end: RunEnd, prepared: PreparedEvaluation, clean: Callable[[str], str]) -> RunEnd:
    """Without outages of models that are no students: a judge that is down errs trials, and each of them says so."""
    students = {endpoint.model for endpoint in prepared.endpoints.values()}
    outages = (replace(outage, said=clean(outage.said)) for outage in end.outages if outage.model in students)
    return replace(end, outages=tuple(outages))
