"""What pictures need beyond the result itself: how the estimate moved, and what was saved. Handed in by a workflow."""

from dataclasses import dataclass

from upskill.domain import Interval


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


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRatio:
    """Tokens of the measured arm for one token of the other, in the typical case."""

    student: str
    typical: float
    interval: Interval | None
