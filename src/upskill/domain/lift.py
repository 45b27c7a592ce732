"""What is concluded from trials: an interval, a lift, a verdict."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain.case import Label
from upskill.domain.trial import Arm

Verdict = Literal["helps", "hurts", "cheaper", "no difference", "undecided", "invalid"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A closed interval, in shares of one."""

    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        """Every value in it is a gain."""
        return self.low > 0

    @property
    def below_zero(self) -> bool:
        """Every value in it is a loss."""
        return self.high < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Lift:
    """One arm minus another over paired trials."""

    arm: Arm
    against: Arm
    mean: float
    these_cases: Interval
    """On these cases: only the model's sampling is random."""
    cases_like_these: Interval | None
    """On new cases of this kind; `None` where there are too few cases to say."""
    pairs: int
    """Scored pairs, those of earlier looks included."""
    dropped: int
    rate: float | None = None
    """The pass rate of `arm` over the pairs that the lift is made of; `None` in results of earlier versions."""
    rate_against: float | None = None
    """That of `against`; the difference of the two is the mean."""
    confidence: float = 0.95
    """What both intervals promise to cover."""
    cases: int | None = None
    """How many cases those pairs are of: a sequential design may stop before it has asked all. `None` in results of
    earlier versions."""
    corrected: float | None = None
    """Where a threshold was passed: the mean without what passing it added on average (the winner's curse)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelLift:
    """The lift over the cases of one label."""

    label: Label | None
    """`None`: the cases without any label."""
    cases: int
    lift: Lift | None
    """`None` where the label was given by the very trials that the lift would be measured on."""
