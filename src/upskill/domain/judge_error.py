"""How often a judge errs, measured against the checks that need none, and what that leaves of a lift."""

from dataclasses import dataclass

from upskill.domain.lift import Interval
from upskill.domain.trial import Arm


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeRates:
    """A judge on the answers of one arm that other checks decided too. What they found is taken as the truth."""

    arm: Arm
    compared: int
    sensitivity: float
    """The share of right answers that the judge passes."""
    specificity: float
    """The share of wrong answers that the judge fails."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeError:
    """The error of a judge in the two arms of a lift; nothing but `compared` is known where there was too little."""

    compared: int
    """Answers that the judge and other checks both looked at."""
    arms: tuple[JudgeRates, ...] = ()
    """The arm that is measured, then the arm it is measured against."""
    lift: float | None = None
    """The lift, corrected for the judge's errors."""
    interval: Interval | None = None
    """The interval of the corrected lift, as far reaching as the verdict. It includes what is unknown of the judge."""

    def allows(self, verdict: str | None, *, least: float = 0.0) -> bool:
        """Whether a verdict on a side also holds for the corrected lift, beyond `least`; what was not measured allows
        everything."""
        if self.interval is None:
            return True
        if verdict == "helps":
            return self.interval.low > least
        return verdict != "hurts" or self.interval.below_zero
