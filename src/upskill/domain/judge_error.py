"""How often a judge errs, measured against the checks that need none, and what that leaves of a lift."""

from dataclasses import dataclass

from upskill.domain.lift import Interval
from upskill.domain.trial import Arm


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeRates:
    """A judge on the answers of one arm that other checks graded too. Their result counts as the truth."""

    arm: Arm
    compared: int
    sensitivity: float
    """The share of right answers that the judge passes."""
    specificity: float
    """The share of wrong answers that the judge fails."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeError:
    """The judge's error rates in the two arms of a lift. With too few answers only `compared` is known."""

    compared: int
    """Answers that the judge and other checks graded."""
    arms: tuple[JudgeRates, ...] = ()
    """The arm that is measured, then the arm it is measured against."""
    lift: float | None = None
    """The lift, corrected for the judge's errors."""
    interval: Interval | None = None
    """Its confidence interval, for the same claim as the verdict. It includes the uncertainty about the judge."""

    def allows(self, verdict: str | None, *, least: float = 0.0) -> bool:
        """Whether a verdict on a side also holds for the corrected lift, beyond `least`; what was not measured allows
        everything."""
        if self.interval is None:
            return True
        if verdict == "helps":
            return self.interval.low > least
        return verdict != "hurts" or self.interval.below_zero
