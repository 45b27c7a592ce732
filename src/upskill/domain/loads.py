"""How often a model loaded the skill that it was offered, and what may be concluded from that."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain.lift import Interval

Withheld = Literal[
    "never loaded",
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
    """Of them, those in which it was."""
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
