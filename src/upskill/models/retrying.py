"""When a request that brought no answer is sent again. Knows errors and clocks, not what was asked.

| what came back | how often it is sent again | waits |
|---|---|---|
| a fault on the way, or one that the provider calls passing | `max_retries` | 0.5 s, doubling, with a share of chance |
| "slow down" (429) | three times as often | 1 s, doubling: patient, because asking harder makes it worse |
| a body over the cap | once | as a fault on the way |

No wait is shorter than an honest `Retry-After` nor longer than the policy allows, and none ends after the deadline of
the call. With the defaults a call that is told to slow down is patient for at least 317 s: twelve waits of 1, 2, 4, 8,
16, 32 and six times 60 s, each shortened by chance to no less than three quarters.
"""

import math
import random
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

FIRST_WAIT_SECONDS = 0.5
FIRST_PATIENT_WAIT_SECONDS = 1.0
SHORTEST_SHARE = 0.75
"""Chance shortens a patient wait to no less than this share, so that calls refused together do not return together."""
ABSURD_SECONDS = 3600.0
"""A server that asks for a longer wait is not believed."""


@dataclass(slots=True)
class Call:
    """One call under way: one question, and all the requests it takes to get it answered."""

    started: float = field(default_factory=time.monotonic)
    answers_before: int = 0
    """How often the endpoint had answered anybody when the call began."""
    paced: float = 0.0
    """Seconds that it waited for our own pace."""
    faults: int = 0
    """Requests of this call lost on the way or met by a passing fault."""
    refusals: int = 0
    """Requests of this call that were told to slow down."""
    oversized: int = 0
    """Requests of this call whose answer was over the byte cap."""
    answered: bool = False
    """Whether anything at all came back to the present request."""
    judged: BaseException | None = None
    """The failure about which `decision` was made."""
    decision: Any = False
    wait: float = 0.0
    """How long to wait before the next request."""

    @property
    def seconds(self) -> float:
        """How long the call has been under way, without waits for our own pace."""
        return time.monotonic() - self.started - self.paced


_CALL: ContextVar[Call | None] = ContextVar("upskill_call", default=None)


def begin_call(*, answers_before: int) -> Call:
    """A new call in this context. The engine asks for our waits once per call, before its first request."""
    call = Call(answers_before=answers_before)
    _CALL.set(call)
    return call


def current_call() -> Call:
    """The call this context is in; a request made past the engine is a call of its own."""
    return _CALL.get() or Call()


def wait_after_fault(faults: int, *, asked: float | None, most: float) -> float:
    """Seconds to wait after so many faults of a call; short at first, and calls that failed together part."""
    wait = FIRST_WAIT_SECONDS * 2.0 ** (faults - 1) * random.uniform(1.0, 2.0)
    return min(max(wait, asked or 0.0), most)


def wait_after_refusal(refusals: int, *, asked: float | None, most: float) -> float:
    """Seconds to wait after being told so often to slow down; never less than was honestly asked."""
    wait = least_patience(refusals, most=most) * random.uniform(1.0, 1.0 / SHORTEST_SHARE)
    return min(max(wait, (asked or 0.0) * random.uniform(1.0, 1.1)), most)


def least_patience(refusals: int, *, most: float) -> float:
    """The shortest wait that can follow so many refusals, whatever chance says."""
    return float(SHORTEST_SHARE * min(FIRST_PATIENT_WAIT_SECONDS * 2.0 ** (refusals - 1), most))


def honest_retry_after(error: BaseException) -> tuple[bool, float | None]:
    """Whether a server sent `Retry-After`, and the seconds it asks for if they can be believed.

    Seconds or an HTTP date. A date is measured against the server's own `Date`, because its clock need not be ours.
    What is negative, in the past, unreadable or absurd asks for nothing.
    """
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping) or "retry-after" not in headers:
        return False, None
    value = str(headers["retry-after"])
    try:
        seconds = float(value)
    except ValueError:
        wanted, now = _moment(value), _moment(str(headers.get("date", ""))) or datetime.now(UTC)
        seconds = (wanted - now).total_seconds() if wanted is not None else math.nan
    return True, seconds if 0.0 < seconds <= ABSURD_SECONDS else None


def _moment(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value.strip())
    except (TypeError, ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
