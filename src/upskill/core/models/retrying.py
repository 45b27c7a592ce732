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
from typing import Any, ClassVar

USED_SHARE = 0.9
"""The share of a provider's rate limit that is used: workers share it without talking to each other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimit:
    """What a provider accepts from one account. `None` is no limit."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    requests_per_minute: float | None = None
    output_tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        for limit in (self.requests_per_minute, self.output_tokens_per_minute):
            if limit is not None and not 0 < limit < math.inf:
                raise ValueError(f"a rate limit must be above 0 and finite, not {limit:g}")

    def share(self, workers: int) -> "RateLimit":
        """The part of one of so many workers."""
        part = USED_SHARE / workers
        requests, tokens = self.requests_per_minute, self.output_tokens_per_minute
        return RateLimit(
            requests_per_minute=None if requests is None else requests * part,
            output_tokens_per_minute=None if tokens is None else tokens * part,
        )


LATE_SECONDS = 0.1
"""So much of what a late timer or a busy event loop costs is made good. More would leave as a burst."""
FIRST_SHARE = 0.25
"""The share of the longest answer that is expected until the first has come."""
LONGEST_ANSWER = 2_048
"""Tokens, where nobody limits an answer."""


@dataclass(slots=True)
class Pace:
    """The pace of one endpoint. Moments are seconds on any clock that does not go back."""

    limit: RateLimit
    longest_answer: int = LONGEST_ANSWER
    _request_at: float = float("-inf")
    """When the limit on requests allows the next one."""
    _tokens_at: float = float("-inf")
    """When the limit on output tokens allows it."""
    _answers: int = 0
    _tokens: int = 0

    def seconds_until_next(self, now: float) -> float:
        """Until the next request may leave; 0 where it may."""
        return max(0.0, self._request_at - now, self._tokens_at - now)

    def send(self, now: float) -> float:
        """A request leaves now. The output tokens that are reserved for it."""
        expected = self.expected_tokens
        if requests := self.limit.requests_per_minute:
            self._request_at = max(self._request_at, now - LATE_SECONDS) + 60 / requests
        if tokens := self.limit.output_tokens_per_minute:
            needed = expected * 60 / tokens
            # Answers are longer and shorter in turn: what short ones left is kept, as much as one answer needs.
            kept = max(LATE_SECONDS, needed) if self._answers else LATE_SECONDS
            self._tokens_at = max(self._tokens_at, now - kept) + needed
        return expected

    def answered(self, reserved: float, tokens: int) -> None:
        """The answer to a request came, with so many output tokens."""
        self._answers += 1
        self._tokens += tokens
        self._correct(tokens - reserved)

    def refused(self, reserved: float) -> None:
        """A request was turned away before an answer began."""
        self._correct(-reserved)

    @property
    def expected_tokens(self) -> float:
        """Expected tokens of the next answer."""
        return self._tokens / self._answers if self._answers else self.longest_answer * FIRST_SHARE

    def _correct(self, tokens: float) -> None:
        if limit := self.limit.output_tokens_per_minute:
            self._tokens_at += tokens * 60 / limit


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
