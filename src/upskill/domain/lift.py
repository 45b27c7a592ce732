"""What is concluded from answers: an interval, a lift, a verdict."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain.case import Label
from upskill.domain.trial import Arm

Verdict = Literal["helps", "hurts", "cheaper", "no difference", "undecided", "invalid"]
"""What is concluded of a skill for one model; the glossary explains each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A closed interval, in shares of one."""

    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        """Whether all of it is above zero."""
        return self.low > 0

    @property
    def below_zero(self) -> bool:
        """Whether all of it is below zero."""
        return self.high < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Lift:
    """The pass rate of one arm minus that of another, over pairs."""

    arm: Arm
    against: Arm
    mean: float
    these_cases: Interval
    """Confidence interval on these cases; only the model's sampling is random."""
    cases_like_these: Interval | None
    """Confidence interval on new cases of this kind; `None` with fewer than 6 cases or families."""
    pairs: int
    """Pairs with both answers scored, those of earlier looks included."""
    dropped: int
    rate: float | None = None
    """Pass rate of `arm` over these pairs; `None` in results of earlier versions."""
    rate_against: float | None = None
    """Pass rate of `against` over these pairs; `rate - rate_against` is `mean`."""
    confidence: float = 0.95
    """Level of both intervals."""
    cases: int | None = None
    """Cases of these pairs; a sequential design may stop early. `None` in results of earlier versions."""
    corrected: float | None = None
    """For `helps` and `hurts`: the mean, corrected for the upward bias of passing a threshold (the winner's curse)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelLift:
    """The lift over the cases of one label."""

    label: Label | None
    """`None` for the cases without a label."""
    cases: int
    lift: Lift | None
    """`None` for `saturated` and `impossible`, which come from the same answers."""
