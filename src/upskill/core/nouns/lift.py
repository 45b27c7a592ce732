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


TWO_JUDGEMENTS = 0.9751
"""What the interval of a first look promises at most, with something for rounding."""
Claim = Literal["new cases", "these cases"]
"""What an interval and a verdict are about: other cases of the same kind, or, with too few cases for that, the very
cases that were run."""


def scope(about: str | None, cases: int | None = None) -> str:
    """What a claim about the cases that were run must carry wherever it stands: `on these 4 cases`; otherwise empty."""
    if about != "these cases":
        return ""
    return "on this 1 case" if cases == 1 else "on these cases" if cases is None else f"on these {cases} cases"


def with_scope(words: str, about: str | None, cases: int | None = None) -> str:
    """A claim and its scope: `helps on these 4 cases`."""
    return f"{words} {scope(about, cases)}".rstrip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Lift:
    """The pass rate of one arm minus that of another, over pairs."""

    arm: Arm
    against: Arm
    mean: float
    interval: Interval
    """Confidence interval of the lift on what it is `about`."""
    about: Claim
    """`new cases`, or `these cases` with fewer than 6 cases or families."""
    rate: float
    """Pass rate of `arm` over these pairs."""
    rate_against: float
    """Pass rate of `against` over these pairs; `rate - rate_against` is `mean`."""
    pairs: int
    """Pairs with both answers scored."""
    dropped: int
    cases: int
    """Cases of these pairs."""
    units: int
    """Families, and cases without one: what counts once."""
    better: int
    """Those of the units in which `arm` passed more often."""
    worse: int
    """Those in which it passed less often."""
    confidence: float = 0.95
    """Level of the interval."""
    supposes: str | None = None
    """What the interval supposes, where lost answers decide: `the 3 lost answers with the skill had failed`."""

    @property
    def is_stricter(self) -> bool:
        """Whether this is not a first look: its interval promises more than the two judgements of one need."""
        return self.confidence > TWO_JUDGEMENTS

    @property
    def in_families(self) -> bool:
        """Whether some cases belong together and count once."""
        return self.units < self.cases


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelLift:
    """The lift over the cases of one label."""

    label: Label | None
    """`None` for the cases without a label."""
    cases: int
    lift: Lift | None
    """`None` for `saturated` and `impossible`, which come from the same answers."""


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
    interval: Interval
    """Confidence interval of the load rate on what it is `about`."""
    about: Claim
    confidence: float = 0.95
    """Level of the interval."""
    turn: float | None = None
    """The median turn after which the skill had been loaded; `None` where that is not known."""
    instead: tuple[tuple[str, int], ...] = ()
    """Other skills that were loaded in answers that did not load this one, with the number of answers, most frequent
    first."""
    no_tool_called: bool = False
    """Whether no answer called any tool: such a model can load no skill."""
