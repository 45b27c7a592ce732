"""How an estimate moved while pairs came in, and why it stopped: values, and the words for the reasons."""

from dataclasses import dataclass

from upskill.domain import Interval

REASONS = {
    "decided": "it was decided",
    "no difference": "the lift is surely small",
    "min lift": "the lift asked for is shown or excluded",
    "withdrawn": "a boundary was crossed, but the claim did not hold",
    "futile": "more repeats were unlikely to decide it",
    "copies": "repeats were copies of the first answers",
    "regraded": "the run stopped there with its earlier grades",
    "judge": "it was decided as judged; the judge's errors leave it open",
    "cap": "the plan was complete",
    "budget": "the budget was reached",
    "interrupted": "it was interrupted",
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
