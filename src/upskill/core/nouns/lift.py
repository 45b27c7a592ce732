"""What is concluded from answers: an interval, a lift, a verdict; how often the skill was loaded and a judge erred."""

from dataclasses import dataclass
from typing import Literal

from upskill.core.nouns.case import Label
from upskill.core.nouns.trial import Arm

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
    cases: int | None = None
    """Cases of these pairs; a sequential design may stop early. `None` in results of earlier versions."""
    confidence: float = 0.95
    """Level of both intervals."""
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


Withheld = Literal[
    "never loaded",
    "no tool called",
    "not compared",
    "too few cases",
    "too few loads",
    "unloaded answers differ",
    "unloaded answers unclear",
    "loads with easy cases",
    "loads with hard cases",
    "loads unclear",
]
"""Why the lift if loaded is not shown. `unclear`: the answers are too few to tell whether this is so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A mean over cases, with its interval on new cases of this kind."""

    mean: float
    interval: Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class Loads:
    """The loads of the answers in which the skill was offered."""

    answers: int
    """Scored answers of which it is known whether the skill was loaded."""
    loaded: int
    """The answers in which it was."""
    cases: int
    rate: float
    """The load rate: the mean over cases of the share of answers that loaded the skill."""
    these_cases: Interval
    """Confidence interval of the load rate on these cases; only the model's sampling is random."""
    cases_like_these: Interval | None
    """Confidence interval of the load rate on new cases of this kind; `None` with fewer than 6 cases or families."""
    confidence: float = 0.95
    """Level of all intervals here."""
    turn: float | None = None
    """The median turn after which the skill had been loaded; `None` where that is not known."""
    instead: tuple[tuple[str, int], ...] = ()
    """Other skills that were loaded in answers that did not load this one, with the number of answers, most frequent
    first."""
    lift_if_loaded: Estimate | None = None
    """The lift of the offered skill divided by the load rate; `None` where it is withheld."""
    withheld: Withheld | None = None
    """Why it is; `None` where it is shown."""
    unloaded: Estimate | None = None
    """What the answers that did not load the skill add to the lift; `None` where nothing was compared."""
    easier: Estimate | None = None
    """The pass rate without the skill on the cases that loaded it, weighted by their loads, minus that on all."""
    easier_forced: Estimate | None = None
    """The same of the pass rate with the skill forced; `None` where that was not run."""

    @property
    def interval(self) -> Interval:
        """The interval of the load rate for places that show only one: on new cases of this kind where there is one."""
        return self.these_cases if self.cases_like_these is None else self.cases_like_these


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
