"""Grade stored answers again, with the checks as they are now. No model is called and the run is not changed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from upskill import checks, measuring, storage
from upskill.domain import Bought, Case, Evaluation, Scored, Trial, TrialPlan
from upskill.errors import UsageError
from upskill.storage import RunFolder, RunRecord
from upskill.workflows.conclude import conclude
from upskill.workflows.course import FixedCourse, SequentialCourse


def regrade(run: Path, *, case_file: Path | None = None) -> Evaluation:
    """Apply changed checks to every answer of a run. A case that was not put to a student then cannot be graded now."""
    record = storage.read_run(run)
    source = case_file if case_file is not None else run / record.case_source
    cases = storage.read_case_file(source, check_problems=checks.check_problems).cases
    skill = storage.read_skill(run / record.skill_source)
    known = {case.id: case for case in cases}
    asked = [reference.id for reference in record.cases]
    missing = [case_id for case_id in asked if case_id not in known]
    if missing:
        raise UsageError(
            f"{source}: holds no case {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}",
            hint="cases are matched by their id; the run knows " + ", ".join(asked[:5]),
        )
    plan = TrialPlan(
        cases=tuple(known[case_id] for case_id in asked),
        students=record.students,
        arms=record.arms,
        repeats=record.repeats,
        seed=record.seed,
        design=record.design,
    )
    with storage.collector_paused():
        regraded, changed = _grade_again(RunFolder(path=run).trials.read(), known)
    by_student: dict[str, list[Trial]] = defaultdict(list)
    for trial in regraded:
        by_student[trial.student].append(trial)
    return Evaluation(
        skill=skill,
        run=run.as_posix(),
        cases=len(plan.cases),
        repeats=plan.repeats,
        planned=len(plan),
        design=plan.design,
        min_lift=record.min_lift,
        students=tuple(
            conclude(
                student,
                plan,
                _replayed(plan, by_student[student.name], record),
                by_student[student.name],
                min_lift=record.min_lift,
                cut_short=None if record.status == "finished" else "interrupted",
            )
            for student in plan.students
        ),
        bought=Bought(calls=0, failed_calls=0, tokens=0, cost=0.0),
        notes=(
            f"graded again from stored answers, without a call: {changed} of {len(regraded)} grades changed",
            *_changed_skill(skill.digest, record),
        ),
    )


def _changed_skill(digest: str, record: RunRecord) -> tuple[str, ...]:
    return (
        () if digest == record.skill_digest else ("the skill has changed since; the answers are those of the old one",)
    )


def _grade_again(trials: Iterable[Trial], cases: dict[str, Case]) -> tuple[list[Trial], int]:
    """Every scored trial with its new grade, without its answer, and how many grades differ."""
    regraded, changed = [], 0
    for trial in trials:
        outcome = trial.outcome
        if isinstance(outcome, Scored):
            outcome = replace(outcome, grade=checks.grade(cases[trial.case_id], trial.left))
            changed += outcome.passed != trial.outcome.passed if isinstance(trial.outcome, Scored) else 0
        regraded.append(replace(trial, outcome=outcome, answer="", files={}))
    return regraded, changed


def _replayed(plan: TrialPlan, trials: list[Trial], record: RunRecord) -> FixedCourse | SequentialCourse:
    """The course as it would have gone with these grades, as far as answers are there."""
    if plan.design == "fixed":
        return FixedCourse(plan)
    course = SequentialCourse(
        plan,
        measuring.Sequential(
            cases=len(plan.cases), rounds=plan.repeats, min_lift=record.min_lift, against=plan.against or "baseline"
        ),
    )
    found = {(trial.case_id, trial.repeat, trial.arm): trial for trial in trials if isinstance(trial.outcome, Scored)}
    while (turn := course.take()) is not None:
        mine = {arm: found.get((turn.case.id, turn.repeat, arm)) for arm in turn.arms}
        there = {arm: trial for arm, trial in mine.items() if trial is not None}
        if len(there) < len(turn.arms):
            break
        course.ended(turn, there)
    return course
