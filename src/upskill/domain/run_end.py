"""Why an evaluation ended, as values. Decisions look at these; the words for people are made from them."""

from dataclasses import dataclass
from typing import Literal, get_args

from upskill.domain.text import count

DesignEnd = Literal["decided", "no difference", "min lift", "withdrawn", "futile", "copies", "judge", "regraded"]
StudentEnd = DesignEnd | Literal["plan finished", "cap reached", "endpoint down", "interrupted"]
"""Why no more trials of one student were run: the design decided, saw that the lift is small, showed or excluded the
lift that was asked for, crossed a boundary that does not count, saw that the rest of the plan would not decide, or that
repeats are copies of each other; it decided, and the judge's errors leave it open after all, or the grades that answers
had before did; every planned trial was run; or a cap, an outage or a person ended it before."""

CapKind = Literal["calls", "tokens", "dollars", "minutes"]


_CAP_OPTIONS: dict[CapKind, tuple[str, str]] = {
    "calls": ("--max-calls", "N"),
    "tokens": ("--max-total-tokens", "N"),
    "dollars": ("--max-cost", "DOLLARS"),
    "minutes": ("--max-time", "MINUTES"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cap:
    """A limit that was set before the run, in the unit that `kind` names."""

    kind: CapKind
    amount: float

    @property
    def option(self) -> tuple[str, str]:
        """What is typed to raise it: the flag, and what stands for its value."""
        return _CAP_OPTIONS[self.kind]

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


def reason_to_stop(reason: str | None, *, verdict: str | None, clears: bool | None) -> str | None:
    """Why a design stopped, as it is reported: what has no verdict was not decided, whatever boundary was crossed."""
    if reason != "decided" or verdict not in ("undecided", "invalid"):
        return reason
    return "withdrawn" if clears is None else "min lift"


def end_by_design(reason: str | None) -> DesignEnd | None:
    """The end of a student whose design stopped for this reason; `None` where something else ended it."""
    ends: tuple[DesignEnd, ...] = get_args(DesignEnd)
    return next((end for end in ends if end == reason), None)
