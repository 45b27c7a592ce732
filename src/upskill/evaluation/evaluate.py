"""Evaluate a skill: prepare, measure and conclude, and record it all in one run folder.

A skill without cases gets them first, under the same caps.
"""

import importlib.metadata
import os
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from upskill import __version__
from upskill.core import statistics
from upskill.core.cases.files import write_case_file
from upskill.core.models import MeteredClient, Spending
from upskill.core.models.preflight import THE_SERVER
from upskill.core.nouns import Arm, Case, Evaluation, Qualification, Scored, Skill, Trial, Turn, digest_of
from upskill.core.progress import SILENT_RUN, PricedPlan, RunProgress
from upskill.core.runs.own_runs import settings_record
from upskill.core.runs.records import CaseReference, RunRecord, Status, now
from upskill.core.runs.run_folders import RunFolder, create_run, only_one_in
from upskill.core.runs.skill_copy import keep_skill_text, skill_text
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skills import read_skill
from upskill.core.trials.harness import load_harness
from upskill.core.trials.judge import identity, judge_report
from upskill.core.trials.measure import Measured, clean_run_logs, measure
from upskill.core.trials.schedule import Schedule
from upskill.core.trials.trial_run import AgentProgram
from upskill.errors import EngineError, UsageError
from upskill.evaluation.cases import has_cases, typed_cases
from upskill.evaluation.conclude import cut_short_by, end_notes, students_end, summarise
from upskill.evaluation.estimate import client_for, purchase_since
from upskill.evaluation.looks import Looks, all_answered, first_look_line, look_notes, looks_of
from upskill.evaluation.offers import WRITE_MISSING_CASES
from upskill.evaluation.order import EvaluationOrder, opened_previous
from upskill.evaluation.prepare import PreparedEvaluation, prepare
from upskill.evaluation.replay import planned_only
from upskill.redaction import redactor_from
from upskill.report.json_report import evaluation_json
from upskill.sandbox import SandboxFacts


def evaluate_opened(
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
    prepared = prepare(
        order, settings.values, known=known, unchosen=settings.unchosen, progress=progress, announce=announce
    )
    settings = settings.following(prepared.settings, THE_SERVER)
    looks = looks_of(prepared, settings.values)
    terms = {} if looks is None else looks.terms()
    if not order.practice:
        prepared = replace(prepared, notes=(*prepared.notes, *look_notes(terms)))
        typed = typed_cases(order.skill, order.case_file)
        cost = first_look_line(terms, prepared.experiment.plan.cases, split=f"upskill cases split {typed}")
        if cost is not None and order.previous is None and not order.more_case_files:
            progress.announce(cost)
    progress.evaluation_planned(
        prepared.experiment.plan, skill=prepared.experiment.skill, lines=prepared.lines, notes=prepared.note_lines
    )
    answered = all_answered(prepared.experiment.plan, terms)
    if prepared.estimate.is_much and not answered and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    folder = create_run(settings.place("runs_dir"), skill_name=prepared.experiment.skill.name)
    keep_skill_text(folder.path, skill_text(order.skill, prepared.experiment.skill))
    if prepared.merged_cases:
        prepared = replace(prepared, case_file=folder.path / MERGED_FILE)
        write_case_file(prepared.case_file, prepared.merged_cases)
    opened = {} if looks is None else looks.opened(folder.path)
    evaluation = run_evaluation(
        prepared,
        settings.values,
        folder,
        folder.sealed(replace(first_record(prepared, settings, folder), looks=opened)),
        client=client or client_for(settings.values),
        looks=looks,
        progress=progress,
    )
    return with_page(evaluation, folder, settings.values, cases=prepared.experiment.plan.cases)


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
    looks: Looks | None = None,
    resumed: bool = False,
    recall_bought: Callable[[str], Trial | None] = lambda _: None,
    with_errored: bool = False,
    progress: RunProgress = SILENT_RUN,
) -> Evaluation:
    """Measure what was prepared, and keep the record and what came of it.

    The `looks` were opened before, under the terms in the record, and are closed at the end. With `resumed`, the trials
    that lie in the folder belong to this run. Asks no person, and makes no page.
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
        schedules = {
            student.name: Schedule(
                prepared.experiment.plan,
                terms=record.looks.get(student.name, statistics.FIRST_LOOK),
                after_pair=partial(_after_pair, progress, student.name),
            )
            for student in prepared.experiment.plan.students
        }
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
                days=None if looks is None else looks.days(record.looks),
                progress=progress,
            )
        folder.release_space()
        evaluation = _conclude(prepared, measured, schedules, record, folder, client, spent_before)
        if looks is not None:
            looks.close(evaluation, measured.trials, run=folder.path, terms=record.looks, schedules=schedules)
            evaluation = replace(evaluation, notes=(*looks.ledger.notes, *evaluation.notes))
        folder.write_record(last_record(record, evaluation))
        return evaluation


def ask_with_skill(
    prepared: PreparedEvaluation,
    turns: Sequence[tuple[str, int]],
    folder: RunFolder,
    *,
    client: MeteredClient,
    arm: Arm = "with_skill",
    texts: Mapping[str, Skill] | None = None,
    progress: RunProgress = SILENT_RUN,
) -> list[Trial]:
    """Answers of the only student with the skill, or with the version in `texts` of a case: by case id and repeat, in
    this order. What the folder holds of the same requests is not asked again; nothing is compared, and it is no look.
    Another `arm` is asked in place of the given skill.

    Raises `KeyboardInterrupt` where a person interrupts; what a cap or a server that is down left out is missing.
    """
    known = {case.id: case for case in prepared.experiment.plan.cases}
    plan = replace(prepared.experiment.plan, arms=(arm,), design="fixed")
    experiment = replace(prepared.experiment, plan=plan, texts=texts or {})
    wanted = [Turn(case=known[case_id], repeat=repeat, arms=plan.arms) for case_id, repeat in turns]
    (student,) = plan.students
    ids = {experiment.requests.trial_id(planned, student) for turn in wanted for planned in turn.trials()}
    with only_one_in(folder.path):
        folder.clear_engine_data()
        before = [trial for trial in folder.trials.load() if trial.id in ids]
        measured = measure(
            experiment,
            {student.name: Schedule(plan, turns=wanted)},
            client=client,
            folder=folder,
            settings=prepared.settings,
            before=before,
            progress=progress,
        )
        clean_run_logs(folder)
    if measured.end.interrupted:
        raise KeyboardInterrupt
    ended = {(trial.case_id, trial.repeat): trial for trial in measured.trials if isinstance(trial.outcome, Scored)}
    return [ended[turn] for turn in turns if turn in ended]


MERGED_FILE = "cases.json"
"""Where a run keeps its cases that were of several files."""


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
    progress: RunProgress, student: str, pair: statistics.Pair | statistics.DroppedPair, over: bool
) -> None:
    progress.pair_finished(student, pair, over=over)


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


def evaluate(
    order: EvaluationOrder,
    *,
    settings: ResolvedSettings,
    progress: RunProgress = SILENT_RUN,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> Evaluation:
    """Evaluate a skill. Raises before any call if it could not succeed; afterwards it always returns a result.

    The teacher writes missing cases once, and saves them with the skill.
    """
    client = client_for(settings.values)
    with opened_previous(order) as opened:
        if order.case_file is None:
            read_skill(order.skill)
            if not has_cases(order.skill):
                if order.practice:
                    raise UsageError(
                        f"{order.skill}: there are no cases to practise on", hint="name a file with -t FILE"
                    )
                WRITE_MISSING_CASES.load()(opened, settings=settings, progress=progress, confirm=confirm, client=client)
        return evaluate_opened(opened, settings=settings, progress=progress, confirm=confirm, client=client)


def versions() -> dict[str, str]:
    """The versions that the figures of a run depend on."""
    return {
        "upskill": __version__,
        "inspect-ai": importlib.metadata.version("inspect-ai"),
        "python": platform.python_version(),
    }


def first_record(prepared: PreparedEvaluation, settings: ResolvedSettings, folder: RunFolder) -> RunRecord:
    """The record of a run before its first trial."""
    order, experiment, plan = prepared.order, prepared.experiment, prepared.experiment.plan
    harness = load_harness(plan.harness)
    return RunRecord(
        started_at=now(),
        versions=versions(),
        skill_name=experiment.skill.name,
        skill_digest=experiment.skill.digest,
        skill_source=relative(order.skill, folder.path),
        # A commit by its id, a folder as seen from the run folder.
        previous_source=order.previous_revision
        or (None if order.previous is None else relative(order.previous, folder.path)),
        previous_digest=None if experiment.previous is None else experiment.previous.digest,
        case_source=relative(prepared.case_file, folder.path),
        cases=tuple(
            CaseReference(id=case.id, digest=case.digest, prompt_digest=case.prompt_digest, family=case.family)
            for case in plan.cases
        ),
        case_states=prepared.qualifications,
        students=plan.students,
        arms=plan.arms,
        passages=passages_digest(plan.cases, plan.arms),
        others=experiment.others,
        other_sources=tuple(relative(Path(path), folder.path) for path in order.among.folders),
        repeats=plan.repeats,
        design=plan.design,
        min_lift=order.min_lift,
        typed=order.typed(),
        seed=plan.seed,
        harness=harness.version,
        frame=harness.frame,
        sandbox=_sandbox_record(experiment.sandbox),
        agent=_agent_record(experiment.trial_limits.setup.program, order.agent_bin),
        judge=identity(experiment.judge),
        settings=settings_record(settings),
        notes=prepared.notes,
    )


def passages_digest(cases: Iterable[Case], arms: Collection[Arm]) -> str | None:
    """Changes with any passage that the ceiling arm shows; `None` where there is no such arm."""
    return digest_of([case.passage for case in cases]) if "ceiling" in arms else None


def last_record(record: RunRecord, evaluation: Evaluation) -> RunRecord:
    """The record of a run that ended, with its results."""
    return replace(
        record,
        status="interrupted" if evaluation.interrupted else "finished",
        finished_at=now(),
        notes=evaluation.notes,
        end=evaluation.end,
        results=evaluation_json(evaluation),
    )


def _sandbox_record(sandbox: SandboxFacts | None) -> dict[str, JsonValue] | None:
    return None if sandbox is None else {**asdict(sandbox), "probes": list(sandbox.probes)}


def _agent_record(program: AgentProgram | None, named: Path | None) -> dict[str, JsonValue] | None:
    if program is None:
        return None
    return {"version": program.version, "named": None if named is None else str(named.absolute())}


def relative(path: Path, start: Path) -> str:
    """A path as seen from a folder, with forward slashes; absolute where there is no way from one to the other."""
    try:
        seen = os.path.relpath(path.resolve(), start.resolve())
    except ValueError:
        return path.resolve().as_posix()
    return Path(seen).as_posix()
