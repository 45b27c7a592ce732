"""How a student's estimate moved: the pairs of a run in planned order, as the design was fed them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from upskill.domain import Arm, Errored, Trial, TrialPlan
from upskill.measuring import Z_FIXED, Z_SEQUENTIAL, Pair, Pairing, measure_lift, pair_up
from upskill.reporting.pictures import PathPoint, StudentPath
from upskill.workflows.course import FixedCourse, SequentialCourse

MOST_POINTS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """One student's course, gone through again."""

    course: FixedCourse | SequentialCourse
    path: StudentPath


def replay(plan: TrialPlan, student: str, trials: Iterable[Trial], *, min_lift: float | None) -> Replay:
    """Feed the course what was measured, try after try, until something is missing or it has decided."""
    tries: dict[tuple[str, int, Arm], list[Trial]] = defaultdict(list)
    for trial in trials:
        if not (isinstance(trial.outcome, Errored) and not trial.outcome.was_run):
            tries[trial.case_id, trial.repeat, trial.arm].append(trial)
    course: FixedCourse | SequentialCourse
    course = SequentialCourse.of(plan, min_lift=min_lift) if plan.design == "sequential" else FixedCourse(plan)
    pairs: list[Pair] = []
    round_ends: list[int] = []
    turns = 0
    taken: dict[tuple[str, int], int] = defaultdict(int)
    while (turn := course.take()) is not None:
        there = {}
        for arm in turn.arms:
            mine = tries.get((turn.case.id, turn.repeat, arm))
            if mine:
                there[arm] = mine[min(taken[turn.key], len(mine) - 1)]
        if len(there) < len(turn.arms):
            if plan.design == "fixed":
                continue
            break
        turns += taken[turn.key] == 0
        taken[turn.key] += 1
        course.ended(turn, there)
        if plan.against is not None:
            pair = pair_up(there[plan.measured], there[plan.against])
            if isinstance(pair, Pair):
                pairs.append(pair)
        if turns % len(plan.cases) == 0 and pairs and (not round_ends or round_ends[-1] != len(pairs)):
            round_ends.append(len(pairs))
    return Replay(course=course, path=_path(plan, student, pairs, round_ends))


def _path(plan: TrialPlan, student: str, pairs: list[Pair], round_ends: list[int]) -> StudentPath:
    z = Z_SEQUENTIAL if plan.design == "sequential" else Z_FIXED
    points = []
    for count in _looked_at(len(pairs), round_ends):
        pairing = Pairing(arm=plan.measured, against=plan.against or "baseline", pairs=tuple(pairs[:count]))
        lift = measure_lift(pairing, z=z)
        if lift is not None:
            points.append(
                PathPoint(
                    pairs=count,
                    mean=lift.mean,
                    these_cases=lift.these_cases,
                    cases_like_these=lift.cases_like_these,
                    round_end=count in round_ends,
                )
            )
    return StudentPath(student=student, points=tuple(points), cap=len(plan.cases) * plan.repeats)


def _looked_at(pairs: int, round_ends: list[int]) -> list[int]:
    """Every pair, or as many as an eye can tell apart; the ends of rounds and the last are always among them."""
    step = max(1, -(-pairs // MOST_POINTS))
    ends = round_ends if len(round_ends) <= MOST_POINTS else [pairs]
    return sorted({*range(1, pairs + 1, step), *ends, *([pairs] if pairs else [])})
