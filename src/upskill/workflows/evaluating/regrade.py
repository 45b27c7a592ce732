"""Grade stored answers again, with the checks as they are now. No model is called and the run is not changed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from upskill import checks, storage
from upskill.domain import Case, Evaluation, Purchase, Qualification, RunEnd, Scored, Skill, Trial
from upskill.domain.progress import SILENT, Progress
from upskill.errors import UsageError
from upskill.measuring.verdict import CutShort
from upskill.sandbox import Backend, require_sandbox
from upskill.storage import RunFolder, RunRecord
from upskill.workflows.evaluating.check_cases import qualify_within
from upskill.workflows.evaluating.conclude import by_student, summarise
from upskill.workflows.evaluating.judge import (
    grade_without_asking,
    grading_context,
    judge_report,
    own_judge_note,
    own_judges,
)
from upskill.workflows.evaluating.prepare import unconfined_notes
from upskill.workflows.evaluating.replay import changed_families, recorded_plan, replay_trials
from upskill.workflows.evaluating.resume import recorded_backend


def regrade(
    run: Path,
    *,
    case_file: Path | None = None,
    progress: Progress = SILENT,
    graded: Callable[[Trial], None] | None = None,
) -> Evaluation:
    """Apply changed checks to every answer of a run. Cases that the run did not have cannot be graded.

    `graded` is handed every trial with its new grade and its answer.
    """
    record = storage.read_run(run)
    source = case_file if case_file is not None else run / record.case_source
    check_problems = partial(checks.check_problems, judge=record.judge is not None)
    cases = storage.read_case_file(source, check_problems=check_problems).cases
    skill = storage.read_skill(run / record.skill_source)
    known = {case.id: case for case in cases}
    asked = [reference.id for reference in record.cases]
    missing = [case_id for case_id in asked if case_id not in known]
    if missing:
        raise UsageError(
            f"{source}: holds no case {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}",
            hint="cases are matched by their id; the run knows " + ", ".join(asked[:5]),
        )
    graded_cases = tuple(known[case_id] for case_id in asked)
    plan = recorded_plan(record, graded_cases)
    backend = recorded_backend(record)
    executes = any("sandbox" in checks.needs(case) for case in plan.cases)
    sandbox = require_sandbox(backend) if executes else None
    with storage.collector_paused(), TemporaryDirectory() as scratch:
        context = grading_context(sandbox, Path(scratch))
        regraded, changed = _grade_again(
            _reported(RunFolder(path=run).trials.read(), progress), known, context, judge=record.judge, graded=graded
        )
    mine = by_student(regraded)
    return summarise(
        plan,
        regraded,
        skill=skill,
        run=run.as_posix(),
        schedules={
            student.name: replay_trials(plan, mine[student.name], min_lift=record.min_lift) for student in plan.students
        },
        cut_short=lambda _: _cut_short(record),
        min_lift=record.min_lift,
        case_states=_states(plan.cases, skill, record, backend=sandbox.backend if sandbox else None),
        bought=Purchase(calls=0, failed_calls=0, tokens=0, cost=0.0),
        notes=(
            f"graded again from stored answers, without a call: {changed} of {len(regraded)} grades changed",
            *_changed_skill(skill.digest, record),
            *changed_families(graded_cases, record),
            *map(own_judge_note, own_judges(record.judge, plan.students)),
            *(unconfined_notes(backend) if record.sandbox is not None or executes else ()),
        ),
        end=RunEnd() if record.end is None else replace(record.end, interrupted=False),
        sandbox=None if record.sandbox is None and not executes else backend,
        judge=judge_report(record.judge, regraded, None),
    )


def _cut_short(record: RunRecord) -> CutShort | None:
    if record.status != "finished":
        return "interrupted"
    return "budget" if record.end is not None and record.end.cap is not None else None


def _reported(trials: Iterable[Trial], progress: Progress) -> Iterator[Trial]:
    for number, trial in enumerate(trials):
        progress.step("answers graded again", number, None)
        yield trial


def _states(
    cases: tuple[Case, ...], skill: Skill, record: RunRecord, *, backend: Backend | None
) -> tuple[Qualification, ...]:
    """The recorded states of the cases, or new ones where the skill or the cases have changed."""
    unchanged = [case.digest for case in cases] == [case.digest for case in record.cases]
    if record.case_states and unchanged and skill.digest == record.skill_digest:
        return record.case_states
    return qualify_within(cases, skill, backend=backend)


def _changed_skill(digest: str, record: RunRecord) -> tuple[str, ...]:
    return (
        () if digest == record.skill_digest else ("the skill has changed since; the answers are those of the old one",)
    )


def _grade_again(
    trials: Iterable[Trial],
    cases: dict[str, Case],
    context: checks.GradingContext,
    *,
    judge: str | None,
    graded: Callable[[Trial], None] | None,
) -> tuple[list[Trial], int]:
    """Every scored trial with its new grade, without its answer, and how many grades differ.

    A judgement is taken from the run while the judge check and the answer are as they were. Another one would have to
    be bought, and nothing is bought here.
    """
    regraded, changed = [], 0
    unjudged: set[str] = set()
    for trial in trials:
        outcome = trial.outcome
        if isinstance(outcome, Scored):
            grade = grade_without_asking(cases[trial.case_id], trial, context, judge=judge)
            if grade is None:
                unjudged.add(trial.case_id)
                continue
            if grade != outcome.grade:
                anew = replace(outcome, grade=grade)
                changed += anew.passed != outcome.passed
                trial = replace(trial, outcome=anew)
        if graded is not None:
            graded(replace(trial))  # a copy: this one is emptied
        regraded.append(storage.emptied(trial))
    if unjudged:
        shown = ", ".join(sorted(unjudged)[:5]) + (" …" if len(unjudged) > 5 else "")
        raise UsageError(
            f"{len(unjudged)} of {len(cases)} cases would need a new judgement, and regrading calls no model: {shown}",
            hint="put the `judge` checks back as they were, or measure again with `upskill eval … --judge MODEL`",
        )
    return regraded, changed
