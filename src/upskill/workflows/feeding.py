"""A run gone through again: its plan as it was recorded, its courses fed with the trials that are there already."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from upskill.domain import Arm, Case, Scored, Trial, TrialPlan
from upskill.storage import RunRecord
from upskill.workflows.course import AfterPair, Course, course_of, nobody_hears


def recorded_plan(record: RunRecord, cases: tuple[Case, ...]) -> TrialPlan:
    """The plan of a run; its cases stay in their file, so they are given, in recorded order."""
    return TrialPlan(
        cases=cases,
        students=record.students,
        arms=record.arms,
        repeats=record.repeats,
        seed=record.seed,
        harness=record.harness.partition("/")[0],
        design=record.design,
    )


def feed(
    plan: TrialPlan, trials: Iterable[Trial], *, min_lift: float | None, after_pair: AfterPair = nobody_hears
) -> Course:
    """The course of one student as it goes with these trials, try after try, as far as they are there.

    Where one is missing a sequential course ends, since its later pairs were never asked for in that order. A fixed
    one passes over it: there every pair counts, whichever others are there.
    """
    tries: dict[tuple[str, int, Arm], list[Trial]] = defaultdict(list)
    for trial in trials:
        if isinstance(trial.outcome, Scored) or trial.outcome.was_run:
            tries[trial.case_id, trial.repeat, trial.arm].append(trial)
    course = course_of(plan, min_lift=min_lift, after_pair=after_pair)
    taken: Counter[tuple[str, int]] = Counter()
    while (turn := course.take()) is not None:
        # A pair that errored was put again at the end: the first time its first try counts, then the next.
        mine = {arm: tries[turn.case.id, turn.repeat, arm][: taken[turn.key] + 1] for arm in turn.arms}
        if all(mine.values()):
            taken[turn.key] += 1
            course.ended(turn, {arm: so_far[-1] for arm, so_far in mine.items()})
        elif plan.design == "sequential":
            break
    return course
