"""What a design says after a look: go on, or stop, why, and with which verdict. No words for people here."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain import Interval, Verdict

Side = Literal["helps", "hurts"]
"""The two directions a difference can have."""

Claim = Literal["cases like these", "these cases"]
"""How far a verdict reaches: to other cases of the same kind, or to the very cases that were run."""

Reason = Literal["decided", "no difference", "futile", "copies", "cap", "budget", "interrupted"]
"""Why a design stopped: a boundary was crossed; the lift is surely small; more pairs within the cap would not
decide; repeats are copies of each other; every planned pair was run; a limit set before the run was reached; a person
stopped it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What follows from the pairs seen so far."""

    reason: Reason | None
    """Why to stop; `None` while the design goes on."""
    verdict: Verdict = "undecided"
    claim: Claim | None = None
    clears: bool | None = None
    """Whether the lift a person asked for was shown, was excluded (`False`), or neither."""

    @property
    def stop(self) -> bool:
        """Nothing more needs to be bought."""
        return self.reason is not None


GO_ON = Decision(reason=None)


def side_of(interval: Interval) -> Side | None:
    """The side that an interval shows by excluding zero; `None` where it includes zero."""
    if interval.above_zero:
        return "helps"
    return "hurts" if interval.below_zero else None
