"""What a reader takes from a result at a glance, as plain values. Says nothing about how they are drawn."""

from dataclasses import dataclass
from typing import Literal

from upskill.reporting.next_step import NextStep
from upskill.reporting.wording import USUAL

Clarity = Literal["clear", "unclear", "none"]
"""Whether there is a verdict (`clear`), an undecided one (`unclear`), or nothing to conclude from (`none`)."""

SIGNS = {"helps": "▲", "hurts": "▼", "no difference": "=", "cheaper": "◆", "undecided": "?"}
"""A sign for each verdict, so that none rests on colour alone."""
NO_SIGN = "–"
ASCII_SIGNS = {"▲": "+", "▼": "-", "=": "=", "◆": "$", "?": "?", NO_SIGN: "!"}
IN_ASCII = str.maketrans({"→": "->", "−": "-", "–": "-", "…": "~", "·": ",", "†": "^"})
"""What stands for our other signs on a terminal that cannot show them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GlanceRow:
    """One model, or one version of a skill."""

    model: str
    """The full name, as it was typed."""
    name: str
    """A short name that no other row has."""
    before: float | None
    """The pass rate without the skill, over the pairs of the lift; `None` where it says nothing."""
    after: float | None
    before_text: str
    after_text: str
    """In whole percent. The difference of the two is the lift as it is shown."""
    lift: str | None
    ends: str | None
    """Of the interval that the verdict rests on: `+35 to +100`."""
    confidence: str = USUAL
    low: float | None = None
    high: float | None = None
    """The same ends as numbers."""
    reach: str
    """Empty where the interval is for new cases of this kind; otherwise `on these 12 cases`."""
    other_interval: str | None
    """The other interval, in words."""
    verdict: str
    among: str | None = None
    """Whether the verdict stays where several models were tested; `None` where that is no question."""
    sign: str
    clarity: Clarity
    pairs: int
    cases: int
    """Those that the pairs are of."""
    tokens: str | None
    why: str | None
    """Why nothing can be concluded; `None` where something is."""

    @property
    def interval(self) -> str | None:
        """The ends, and before them the confidence where that is not the usual one."""
        return self.ends if self.ends is None or self.confidence == USUAL else f"{self.confidence} {self.ends}"

    @property
    def figures(self) -> str:
        """The lift with its interval, `+89 (+35 to +100)`; what is said instead where there is none."""
        if self.lift is None:
            return "–"
        return self.lift if self.interval is None else f"{self.lift} ({self.interval})"

    @property
    def rates(self) -> str:
        """Both pass rates: `0% → 89%`."""
        return f"{self.before_text} → {self.after_text}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Glance:
    """A whole result: the answer in words, a row for each model, and the one command to type next."""

    skill: str
    sentences: tuple[str, ...]
    """The answer first."""
    rows: tuple[GlanceRow, ...]
    before: str = "without the skill"
    after: str = "with the skill"
    """What the two dots of a row stand for."""
    scripted: bool
    """Whether scripts answered in place of models."""
    next_step: NextStep | None
    rows_are: str = "model"
    """What a row stands for."""
