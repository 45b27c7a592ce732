"""How an estimate moved while pairs came in, and why it stopped: values, and the words for the reasons."""

from dataclasses import dataclass

from upskill.domain import Interval

REASONS = {
    "decided": "the result was clear",
    "no difference": "a lift of any useful size was excluded",
    "min lift": "the required lift was shown or excluded",
    "withdrawn": "the stopping boundary was crossed, but the final test did not confirm it",
    "futile": "more repeats were unlikely to decide it",
    "copies": "repeats returned the same answers, so each case counts once",
    "regraded": "the original run stopped there",
    "judge": "the grades were clear, but the judge's errors leave it open",
    "cap": "the plan was complete",
    "budget": "the budget was reached",
    "interrupted": "the run was interrupted",
}
"""Why a sequential design stopped, after `because`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PathPoint:
    """The estimate after so many pairs."""

    pairs: int
    mean: float
    these_cases: Interval
    cases_like_these: Interval | None
    round_end: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentPath:
    """How one student's estimate moved, pair by pair, to the end."""

    student: str
    points: tuple[PathPoint, ...]
    cap: int
    """The most pairs there could have been."""
