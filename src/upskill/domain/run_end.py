"""Why an evaluation ended, as values. Decisions look at these; the words for people are made from them."""

from dataclasses import dataclass
from typing import Literal, get_args

from upskill.domain.text import count

DesignEnd = Literal["decided", "no difference", "min lift", "withdrawn", "futile", "copies", "judge", "regraded"]
StudentEnd = DesignEnd | Literal["plan finished", "cap reached", "endpoint down", "interrupted"]
"""Why no more answers of one model were asked for. docs/reference/json.md explains each value."""

CapKind = Literal["calls", "tokens", "dollars", "minutes"]


_CAP_OPTIONS: dict[CapKind, tuple[str, str]] = {
    "calls": ("--max-calls", "N"),
    "tokens": ("--max-total-tokens", "N"),
    "dollars": ("--max-cost", "DOLLARS"),
    "minutes": ("--max-time", "MINUTES"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cap:
    """A limit that was set before the run, in the unit of `kind`."""

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
    """The engine's name for it."""
    said: str
    """The endpoint's last error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnd:
    """What ended a run before its plan was done: a person, a cap or outages."""

    interrupted: bool = False
    cap: Cap | None = None
    outages: tuple[Outage, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether a resume would only retry what errored."""
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
