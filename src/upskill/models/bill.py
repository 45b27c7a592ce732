"""What was bought, and on whose behalf. The meter writes a bill; the code that made the calls reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from upskill.domain import Fault
from upskill.models.question import Question


@dataclass(frozen=True, kw_only=True, slots=True)
class Purpose:
    """On whose behalf a call is made."""

    role: Literal["student", "teacher", "judge"]
    arm: str | None = None
    case_id: str | None = None
    repeat: int = 1
    question: Question | None = None
    """What a teacher is asked; `repeat` counts how often the same was asked."""


@dataclass(slots=True)
class Bill:
    """What was bought for one purpose. Token counts are `None` once a provider did not say."""

    purpose: Purpose
    calls: int = 0
    answers: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost: float | None = 0.0
    tokens: int = 0
    """In and out together, estimated where a provider did not say: for limits, never for a report."""
    fault: Fault | None = None
    """The last fault of a call that was not made good by a retry."""
    fault_message: str = ""
    failed_calls: int = 0
    """Requests that brought no answer, whether or not a retry made it good."""
    lost: int = 0
    """Those of them whose answer may have begun: which answers are lost may depend on what they say."""
    refused: int = 0
    """The others: turned away before an answer began."""
    served_model: str | None = None

    def add(self, input_tokens: int | None, output_tokens: int | None, cost: float | None) -> None:
        """Put one answer on the bill. What is unknown once stays unknown."""
        self.input_tokens = _sum(self.input_tokens, input_tokens)
        self.output_tokens = _sum(self.output_tokens, output_tokens)
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def blame(self, fault: Fault, message: str) -> None:
        """Note why nothing was measured."""
        self.fault, self.fault_message = fault, " ".join(message.split())[:500]


class UnbilledCall(RuntimeError):
    """A call that belongs to no trial, no judge and no teacher. It is a mistake of ours, and is not sent."""


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


_BILL: ContextVar[Bill | None] = ContextVar("upskill_bill", default=None)


@contextmanager
def billing(purpose: Purpose) -> Iterator[Bill]:
    """Everything called inside the block is put on the bill that is handed out."""
    bill = Bill(purpose=purpose)
    token = _BILL.set(bill)
    try:
        yield bill
    finally:
        _BILL.reset(token)


def current_bill() -> Bill:
    """The bill of the block we are in. Raises `UnbilledCall` outside of any."""
    bill = _BILL.get()
    if bill is None:
        raise UnbilledCall("a model was called outside of `billing`, so the purpose of the call is unknown")
    return bill
