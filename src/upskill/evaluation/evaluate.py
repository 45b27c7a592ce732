"""Evaluate a skill that has cases: prepare, measure and conclude, and record it all in one run folder."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from upskill.core import statistics
from upskill.core.models import MeteredClient, Spending
from upskill.core.nouns import Case, Evaluation, Qualification, Trial
from upskill.core.nouns.progress import PricedPlan
from upskill.core.progress_words import SILENT_RUN, RunProgress
from upskill.core.runs.look_ledger import LookLedger
from upskill.core.runs.records import RunRecord, Status, now
from upskill.core.runs.run_folders import RunFolder, create_run, only_one_in
from upskill.core.runs.skill_copy import keep_skill_text, skill_text
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.trials.judge import identity, judge_report
from upskill.core.trials.measure import Measured, clean_run_logs, measure
from upskill.core.trials.schedule import Schedule, schedule_for
from upskill.errors import EngineError, UsageError
from upskill.evaluation.conclude import cut_short_by, students_end, summarise
from upskill.evaluation.estimate import client_for, purchase_since
from upskill.evaluation.looks import (
    earlier_looks,
    keep_looks,
    look_notes,
    recorded_evaluation,
    with_recorded,
)
from upskill.evaluation.notes import end_notes
from upskill.evaluation.prepare import EvaluationOrder, PreparedEvaluation, prepare
from upskill.evaluation.record import first_record, last_record, relative
from upskill.evaluation.replay import planned_only
from upskill.redaction import redactor_from


def evaluate(
    order: EvaluationOrder,
    *,
    settings: ResolvedSettings,
    progress: RunProgress = SILENT_RUN,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    client: MeteredClient | None = None,
    known: tuple[Qualification, ...] = (),
    announced: bool = False,
) -> Evaluation:
    """Evaluate a skill that has cases. Raises before any call if it could not succeed; later it returns a result.

    `client` is one through which something was bought before, so that its caps hold for both; `known` is what is known
    of the cases by then. `announced`: servers and aliases that were not typed have been named.
    """
    announce = (lambda _: None) if announced else progress.announce
    prepared = prepare(order, settings.values, known=known, progress=progress, announce=announce)
    asked = prepared.experiment.plan.students
    earlier = earlier_looks(prepared, settings.values)
    # A recorded verdict has no ceiling, or that of other passages: its answers are taken from the store instead.
    told = {} if earlier is None or order.ceiling is not None else earlier.recorded()
    recorded = recorded_evaluation(earlier, told) if earlier is not None and told else None
    if recorded is not None and earlier is not None:
        if len(told) == len(asked):
            return replace(recorded, notes=(*earlier.ledger.notes, *recorded.notes), case_changes=prepared.case_changes)
        models = tuple(student.name for student in asked if student.name not in told)
        settings = replace(settings, values=replace(settings.values, models=models))
        prepared = prepare(order, settings.values, known=prepared.qualifications, progress=progress)
        earlier = replace(earlier, prepared=prepared)
    terms = {} if earlier is None else earlier.terms()
    prepared = replace(prepared, notes=(*prepared.notes, *look_notes(terms)))
    progress.evaluation_planned(
        prepared.experiment.plan, skill=prepared.experiment.skill, lines=prepared.lines, notes=prepared.note_lines
    )
    if prepared.estimate.is_much and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    folder = create_run(settings.place("runs_dir"), skill_name=prepared.experiment.skill.name)
    keep_skill_text(folder.path, skill_text(order.skill, prepared.experiment.skill))
    evaluation = run_evaluation(
        prepared,
        settings.values,
        folder,
        folder.sealed(replace(first_record(prepared, settings, folder), looks=terms)),
        client=client or client_for(settings.values),
        ledger=None if earlier is None else earlier.ledger,
        progress=progress,
    )
    evaluation = with_page(evaluation, folder, settings.values, cases=prepared.experiment.plan.cases)
    return evaluation if recorded is None else with_recorded(evaluation, recorded, asked)


def with_page(evaluation: Evaluation, folder: RunFolder, settings: Settings, *, cases: Sequence[Case]) -> Evaluation:
    """Write the page of a run, unless the settings ask for none. What went wrong with it becomes a note."""
    if not settings.report:
        return evaluation
    from upskill.evaluation.report import keep_report  # not loaded where no page is written

    return keep_report(folder.path, evaluation, cases=cases)


def run_evaluation(
    prepared: PreparedEvaluation,
    settings: Settings,
    folder: RunFolder,
    record: RunRecord,
    *,
    client: MeteredClient,
    ledger: LookLedger | None = None,
    resumed: bool = False,
    recall_bought: Callable[[str], Trial | None] = lambda _: None,
    with_errored: bool = False,
    progress: RunProgress = SILENT_RUN,
) -> Evaluation:
    """Measure what was prepared, under the terms of the looks in its record, and keep the record and what came of it.

    The look is counted in `ledger`. With `resumed`, the trials that lie in the folder belong to this run. Asks no
    person, and makes no page.
    """
    with only_one_in(folder.path):
        if resumed:
            progress.step("reading finished answers", 0, None)
            folder.clear_engine_data()
        before = list(planned_only(folder.trials.load(), record)) if resumed else []
        folder.set_space_aside()
        record = replace(record, status="running", finished_at=None, end=None)
        folder.write_record(record)
        spent_before = replace(client.spent)
        schedules: dict[str, Schedule] = {}
        for name in (student.name for student in prepared.experiment.plan.students):
            terms = record.looks.get(name, statistics.FIRST_LOOK)
            schedules[name] = schedule_for(
                prepared.experiment.plan,
                min_lift=record.min_lift,
                after_pair=partial(_after_pair, progress, name),
                level=terms.level,
                prior=statistics.tallies_of(terms.prior),
            )
        with ended_in(folder, record):
            measured = measure(
                prepared.experiment,
                schedules,
                client=client,
                folder=folder,
                settings=settings,
                before=before,
                recall_bought=recall_bought,
                with_errored=with_errored,
                progress=progress,
            )
        folder.release_space()
        evaluation = _conclude(prepared, measured, schedules, record, folder, client, spent_before)
        if ledger is not None:
            keep_looks(ledger, prepared, settings, evaluation, measured.trials, schedules=schedules, terms=record.looks)
            evaluation = replace(evaluation, notes=(*ledger.notes, *evaluation.notes))
        folder.write_record(last_record(record, evaluation))
        return evaluation


@contextmanager
def ended_in(folder: RunFolder, record: RunRecord) -> Iterator[None]:
    """Record that a run failed or was interrupted, where an error ends the block."""
    try:
        yield
    except BaseException as error:
        folder.release_space()
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(EngineError):  # what happened matters more than that it could not be recorded
            folder.write_record(replace(record, status=status, finished_at=now()))
        clean_run_logs(folder)
        raise


def _after_pair(
    progress: RunProgress,
    student: str,
    pair: statistics.Pair | statistics.DroppedPair,
    decision: statistics.Decision | None,
) -> None:
    progress.pair_finished(student, pair, decision=decision)


def _conclude(
    prepared: PreparedEvaluation,
    measured: Measured,
    schedules: Mapping[str, Schedule],
    record: RunRecord,
    folder: RunFolder,
    client: MeteredClient,
    spent_before: Spending,
) -> Evaluation:
    experiment = prepared.experiment
    unread = clean_run_logs(folder)
    clean = redactor_from(os.environ).clean_own
    end = students_end(measured.end, experiment.endpoints.values(), clean)
    notes = (*prepared.notes, *end_notes(end, experiment.endpoints.values()), *measured.notes, *unread)
    evaluation = summarise(
        experiment.plan,
        measured.trials,
        skill=experiment.skill,
        run=relative(folder.path, Path.cwd()),
        schedules=schedules,
        cut_short=lambda student: cut_short_by(end, student, schedules[student.name]),
        min_lift=record.min_lift,
        looks=record.looks,
        case_states=prepared.qualifications,
        bought=replace(
            purchase_since(client.spent, spent_before),
            reused=measured.reused,
            oldest_reused_days=measured.oldest_reused_days,
        ),
        notes=tuple(map(clean, notes)),
        end=end,
        sandbox=None if experiment.sandbox is None else experiment.sandbox.backend,
        judge=judge_report(identity(experiment.judge), measured.trials, client),
        others=experiment.others,
    )
    return replace(evaluation, case_changes=prepared.case_changes)
