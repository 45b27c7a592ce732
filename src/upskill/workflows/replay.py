"""How a student's estimate moved: the pairs of a run in planned order, as the design was fed them."""

from collections.abc import Iterable
from dataclasses import dataclass

from upskill.domain import Trial, TrialPlan
from upskill.measuring import Z_FIXED, Z_SEQUENTIAL, Dropped, Pair, Pairing, measure_lift
from upskill.reporting.pictures import PathPoint, StudentPath
from upskill.workflows.course import Course
from upskill.workflows.feeding import feed

MOST_POINTS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """One student's course, gone through again."""

    course: Course
    path: StudentPath


def replay(plan: TrialPlan, student: str, trials: Iterable[Trial], *, min_lift: float | None) -> Replay:
    """The course as it went, and the estimate after every pair of it."""
    pairs: list[Pair] = []
    round_ends: list[int] = []
    begun: set[tuple[str, int]] = set()

    def after_pair(pair: Pair | Dropped, _over: bool) -> None:
        begun.add((pair.case_id, pair.repeat))
        if isinstance(pair, Pair):
            pairs.append(pair)
        if len(begun) % len(plan.cases) == 0 and pairs and (not round_ends or round_ends[-1] != len(pairs)):
            round_ends.append(len(pairs))

    course = feed(plan, trials, min_lift=min_lift, after_pair=after_pair)
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
