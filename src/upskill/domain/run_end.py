"""Why an evaluation ended, as values. Decisions look at these; the words for people are made from them."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain.text import count

StudentEnd = Literal[
    "decided",
    "no difference",
    "futile",
    "copies",
    "judge",
    "plan finished",
    "cap reached",
    "endpoint down",
    "interrupted",
]
"""Why no more trials of one student were run: the design decided, saw that the lift is small, or saw that the rest of
the plan would not decide, or that repeats are copies of each other; it decided, and the judge's errors leave it open
after all; every planned trial was run; or a cap, an outage or a person ended it before."""

CapKind = Literal["calls", "tokens", "dollars", "minutes"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cap:
    """A limit that was set before the run, in the unit that `kind` names."""

    kind: CapKind
    amount: float

    def __str__(self) -> str:
        match self.kind:
            case "calls":
                return f"the cap of {count(int(self.amount), 'call')}"
            case "tokens":
                return f"the cap of {int(self.amount):,} tokens"
            case "dollars":
                # Two decimals, and more only where they say something.
                two = round(self.amount, 2) == self.amount
                return f"the cap of ${f'{self.amount:,.2f}' if two else f'{self.amount:g}'}"
            case "minutes":
                return f"the cap of {self.amount:.3g} minutes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """An endpoint that went down."""

    model: str
    """As the engine calls it."""
    said: str
    """The last thing that the endpoint said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnd:
    """What ended a run from outside; nothing where every student's schedule ended by itself."""

    interrupted: bool = False
    cap: Cap | None = None
    outages: tuple[Outage, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether resuming would find nothing left to do but what errored."""
        return not self.interrupted and self.cap is None and not self.outages

    def has_outage(self, model: str) -> bool:
        """Whether the endpoint of a model went down."""
        return any(outage.model == model for outage in self.outages)
