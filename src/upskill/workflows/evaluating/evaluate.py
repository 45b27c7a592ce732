"""Evaluate a skill that has cases: prepare, execute and conclude, and record it all in one run folder."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from upskill import measuring, storage
from upskill.domain import Evaluation, RunEnd, Student, Trial
from upskill.domain.look import LookTerms
from upskill.errors import EngineError, UsageError
from upskill.models import MeteredClient, Spending
from upskill.redaction import redactor_from
from upskill.settings import ResolvedSettings, Settings
from upskill.storage.runs import RunFolder, RunRecord, Status, now
from upskill.storage.skill_copy import keep_skill_text, skill_text
from upskill.storage.trial_log import TrialWriter
from upskill.workflows.evaluating.conclude import cut_short_by, students_end, summarise
from upskill.workflows.evaluating.execute import clean_logs, execute
from upskill.workflows.evaluating.judge import identity, judge_report
from upskill.workflows.evaluating.looks import (
    earlier_looks,
    keep_looks,
    look_notes,
    recorded_evaluation,
    with_recorded,
)
from upskill.workflows.evaluating.notes import end_notes
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation, prepare
from upskill.workflows.evaluating.record import (
    first_record,
    last_record,
    relative,
)
from upskill.workflows.evaluating.replay import planned_only
from upskill.workflows.evaluating.report import keep_report
from upskill.workflows.evaluating.reuse import Reuse, open_store
from upskill.workflows.evaluating.schedule import ResumedSchedule, Schedule, schedule_for
from upskill.workflows.evaluating.spending import PricedPlan, client_for, purchase_since
from upskill.workflows.progress import SILENT_RUN, RunProgress


@dataclass(frozen=True, kw_only=True, slots=True)
class ParentRun:
    """What an evaluation shares with the longer run that it is a part of."""

    client: MeteredClient
    """One budget for all parts."""
    folder: RunFolder
    """The run folder of this part."""
    recall: Callable[[str], Trial | None] = lambda _: None
    """Finds a trial that another part bought, by its id."""
    open_store: Callable[[PreparedEvaluation, Settings], AbstractContextManager[storage.TrialStore | None]] = open_store
    """Opens the trial store that this part reads and fills."""
    is_over: bool = False
    """Whether this part came to its end before: then errored trials stay errored, and nothing more is bought."""
    on_prepared: Callable[[PreparedEvaluation], None] = lambda _: None
    """Called before the first call. Raises where this is not what was asked for; may put trials into the folder."""
    goes_on: bool = False
    """Whether trials that lie in the folder by then belong to this part, as those of a resumed run do."""
    counts_looks: bool = False
    """Whether this part counts looks by itself, in the ledger that the settings name."""


def evaluate(
    order: EvaluationOrder,
    *,
    settings: ResolvedSettings,
    progress: RunProgress = SILENT_RUN,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    client: MeteredClient | None = None,
    parent: ParentRun | None = None,
    announced: bool = False,
) -> Evaluation:
    """Evaluate a skill that has cases. Raises before any call if it could not succeed; later it returns a result.

    `client` is one through which something was bought before, so that its caps hold for both. `announced`: servers and
    aliases that were not typed have been named.
    """
    client = parent.client if parent is not None else client or client_for(settings.values)
    announce = progress.announce if parent is None and not announced else lambda _: None
    prepared = prepare(order, settings.values, progress=progress, announce=announce)
    if parent is not None:
        parent.on_prepared(prepared)
    asked = prepared.plan.students
    counts_looks = parent is None or parent.counts_looks
    earlier = earlier_looks(prepared, settings.values) if counts_looks else None
    # A recorded verdict has no ceiling, or that of other passages: its answers are taken from the store instead.
    known = {} if earlier is None or order.ceiling is not None else earlier.recorded()
    recorded = recorded_evaluation(earlier, known) if earlier is not None and known else None
    if recorded is not None and earlier is not None:
        if len(known) == len(asked):
            return replace(recorded, notes=(*earlier.ledger.notes, *recorded.notes), case_changes=prepared.case_changes)
        models = tuple(student.name for student in asked if student.name not in known)
        settings = replace(settings, values=replace(settings.values, models=models))
        prepared = prepare(replace(order, known_states=prepared.qualifications), settings.values, progress=progress)
        earlier = replace(earlier, prepared=prepared)
    terms = {} if earlier is None else earlier.terms()
    if order.level is not None:
        terms = {student.name: LookTerms(level=order.level) for student in prepared.plan.students}
    prepared = replace(prepared, notes=(*prepared.notes, *look_notes(terms)))
    progress.evaluation_planned(prepared.plan, skill=prepared.skill, lines=prepared.lines, notes=prepared.note_lines)
    if prepared.estimate.is_much and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    if parent is None:
        folder = storage.create_run(settings.place("runs_dir", flag="--runs-dir"), skill_name=prepared.skill.name)
    else:
        folder = storage.run_folder_at(parent.folder.path)
    record = replace(first_record(prepared, settings, folder), looks=terms)
    folder.write_record(record)
    if parent is None:  # a longer run keeps its drafts itself
        keep_skill_text(folder.path, skill_text(order.skill, prepared.skill))
    ledger = None if earlier is None else earlier.ledger
    run = EvaluationRun(prepared, settings.values, folder, record, progress, client, parent, ledger)
    evaluation = run_and_report(run, resumed=parent is not None and parent.goes_on)
    return evaluation if recorded is None else with_recorded(evaluation, recorded, asked)


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """A prepared evaluation with its folder, its record and what it may spend."""

    prepared: PreparedEvaluation
    settings: Settings
    folder: RunFolder
    record: RunRecord
    progress: RunProgress
    client: MeteredClient
    parent: ParentRun | None
    ledger: storage.LookLedger | None = None
    """Where the look is counted; `None` where it is not."""


@dataclass(kw_only=True, slots=True)
class Execution:
    """The trials of a run so far, and how it ended."""

    trials: list[Trial]
    """Without answers and files, which are on disk: memory need not grow with them."""
    schedules: dict[str, Schedule]
    reused: int = 0
    oldest_reused_days: float | None = None
    end: RunEnd = RunEnd()  # noqa: RUF009 - frozen
    notes: tuple[str, ...] = ()


def run_and_report(run: EvaluationRun, *, resumed: bool) -> Evaluation:
    evaluation = _run(run, resumed=resumed)
    if run.parent is not None or not run.settings.report:  # a longer run makes the page of all its parts
        return evaluation
    return keep_report(run.folder.path, evaluation, cases=run.prepared.plan.cases)


def _run(run: EvaluationRun, *, resumed: bool) -> Evaluation:
    folder = run.folder
    with storage.only_one_in(folder.path):
        if resumed:
            run.progress.step("reading finished answers", 0, None)
            folder.clear_engine_data()
        before = list(planned_only(folder.trials.load(), run.record)) if resumed else []
        folder.set_space_aside()
        record = replace(run.record, status="running", finished_at=None, end=None)
        folder.write_record(record)
        spent_before = replace(run.client.spent)
        try:
            execution = run_missing_trials(run, before)
        except BaseException as error:
            folder.release_space()
            status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            with suppress(EngineError):  # what happened matters more than that it could not be recorded
                folder.write_record(replace(record, status=status, finished_at=now()))
            clean_logs(folder)
            raise
        folder.release_space()
        evaluation = _conclude(run, execution, spent_before)
        if run.ledger is not None:
            keep_looks(
                run.ledger,
                run.prepared,
                run.settings,
                evaluation,
                execution.trials,
                schedules=execution.schedules,
                terms=record.looks,
            )
            evaluation = replace(evaluation, notes=(*run.ledger.notes, *evaluation.notes))
        folder.write_record(last_record(record, evaluation))
        return evaluation


def run_missing_trials(run: EvaluationRun, before: list[Trial]) -> Execution:
    """Run what is missing of the plan; every trial is on disk before it counts.

    An interrupt ends it at any moment, and what there is by then is returned.
    """
    schedules = {student.name: _schedule(student, run) for student in run.prepared.plan.students}
    execution = Execution(trials=list(before), schedules=schedules)
    try:
        _run_missing(run, before, execution)
    except KeyboardInterrupt:  # before or after the engine ran, which ends in good order by itself
        execution.end = RunEnd(interrupted=True)
    return execution


def _run_missing(run: EvaluationRun, before: list[Trial], execution: Execution) -> None:
    prepared, parent = run.prepared, run.parent
    for trial in before:
        run.progress.trial_finished(trial)
    opened = open_store if parent is None else parent.open_store
    store = None
    try:
        with opened(prepared, run.settings) as store, run.folder.trials.open() as log:
            _fill(run, before, execution, store, log)
    finally:
        execution.notes = () if store is None else store.notes


def _fill(
    run: EvaluationRun, before: list[Trial], execution: Execution, store: storage.TrialStore | None, log: TrialWriter
) -> None:
    prepared, parent, schedules = run.prepared, run.parent, execution.schedules

    def write(trial: Trial) -> None:
        log.append(trial)
        execution.trials.append(trial.without_answer())
        run.progress.trial_finished(trial)

    def write_bought(trial: Trial) -> None:
        write(reuse.keep(trial))

    reuse = Reuse(
        prepared,
        before,
        store=store,
        days=run.settings.store_days,
        record=write,
        scratch=run.folder.engine_data,
        recall_bought=(lambda _: None) if parent is None else parent.recall,
        with_errored=parent is not None and parent.is_over,
        progress=run.progress,
    )
    try:
        with storage.collector_paused():
            resumed = {
                student.name: ResumedSchedule(schedules[student.name], partial(reuse.of_this_run, student))
                for student in prepared.plan.students
            }
        if not all(schedule.is_over for schedule in resumed.values()):
            run.progress.evaluation_begun(run.client)
            execution.end = execute(
                prepared,
                client=run.client,
                folder=run.folder,
                schedules=resumed,
                record=write_bought,
                recall=reuse.recall,
                claims=reuse,
            )
    finally:
        execution.reused, execution.oldest_reused_days = reuse.reused, reuse.oldest_days


def _schedule(student: Student, run: EvaluationRun) -> Schedule:

    def after_pair(pair: measuring.Pair | measuring.DroppedPair, decision: measuring.Decision | None) -> None:
        run.progress.pair_finished(student.name, pair, decision=decision)

    terms = run.record.looks.get(student.name, measuring.FIRST_LOOK)
    return schedule_for(
        run.prepared.plan,
        min_lift=run.prepared.order.min_lift,
        after_pair=after_pair,
        level=terms.level,
        prior=measuring.tallies_of(terms.prior),
    )


def _conclude(run: EvaluationRun, execution: Execution, spent_before: Spending) -> Evaluation:
    prepared, schedules = run.prepared, execution.schedules
    unread = clean_logs(run.folder)
    clean = redactor_from(os.environ).clean_own
    end = students_end(execution.end, prepared.endpoints.values(), clean)
    notes = (*prepared.notes, *end_notes(end, prepared.endpoints.values()), *execution.notes, *unread)
    evaluation = summarise(
        prepared.plan,
        execution.trials,
        skill=prepared.skill,
        run=relative(run.folder.path, Path.cwd()),
        schedules=schedules,
        cut_short=lambda student: cut_short_by(end, student, schedules[student.name]),
        min_lift=prepared.order.min_lift,
        looks=run.record.looks,
        case_states=prepared.qualifications,
        bought=replace(
            purchase_since(run.client.spent, spent_before),
            reused=execution.reused,
            oldest_reused_days=execution.oldest_reused_days,
        ),
        notes=tuple(map(clean, notes)),
        end=end,
        sandbox=None if prepared.sandbox is None else prepared.sandbox.backend,
        judge=judge_report(identity(prepared.judge), execution.trials, run.client),
        others=prepared.others,
    )
    return replace(evaluation, case_changes=prepared.case_changes)
