"""The money of a sweep: what is reserved for a job before it starts, and what is charged when it has ended.

A job starts only while charged + reserved + its own reserve are within the caps. The client of the job holds its
reserve, so the caps hold although workers never talk to each other.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from upskill.domain.job import Caps, JobSpending
from upskill.domain.sweep import PlannedJob
from upskill.reporting import dollars

RETRY_SHARE = 0.25
RETRY_CALLS = 4
"""Room for requests that fail and are sent again, beyond the worst case, which counts each once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount:
    """Requests, tokens and dollars."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(calls=self.calls + other.calls, tokens=self.tokens + other.tokens, cost=self.cost + other.cost)

    def beyond(self, caps: Caps) -> str | None:
        """The cap that does not allow this, in words; `None` where all do."""
        if caps.max_cost is not None and self.cost > caps.max_cost:
            return dollars(caps.max_cost)
        if caps.max_calls is not None and self.calls > caps.max_calls:
            return f"{caps.max_calls:,} calls"
        if caps.max_total_tokens is not None and self.tokens > caps.max_total_tokens:
            return f"{caps.max_total_tokens:,} tokens"
        return None


def total(amounts: Iterable[Amount]) -> Amount:
    """All of them together."""
    return sum(amounts, Amount())


def reserve_for(job: PlannedJob) -> Caps:
    """The most that one attempt at a job may spend, also where the plan has no cap: a killed attempt has a price."""
    room = 1 + RETRY_SHARE
    return Caps(
        max_cost=job.cost_at_most * room if job.cost_at_most else None,  # what is free needs no cap; 0 allows nothing
        max_calls=math.ceil(job.calls_at_most * room) + RETRY_CALLS,
        max_total_tokens=None if job.tokens_at_most is None else math.ceil(job.tokens_at_most * room),
    )


def all_of(caps: Caps) -> Amount:
    """What a killed attempt is charged with: all that it might have spent."""
    return Amount(calls=caps.max_calls or 0, tokens=caps.max_total_tokens or 0, cost=caps.max_cost or 0.0)


def spent(spending: JobSpending, job: PlannedJob) -> Amount:
    """What was spent on a job. Where a price is unknown the dollars of the others are charged in full."""
    cost = (reserve_for(job).max_cost or 0.0) if spending.cost is None else spending.cost
    return Amount(calls=spending.calls, tokens=spending.tokens, cost=cost)


def shard_caps(caps: Caps, charged: list[Amount], number: int) -> Caps:
    """The caps of one of several shards that never talk to each other; `charged` has what each was charged before.

    Each has an equal part. What earlier runs, divided in another way, charged to one shard beyond its part is taken
    from every other, so that all together stay within the caps.
    """
    parts = len(charged)

    def part(cap: float | None, before: list[float]) -> float | None:
        if cap is None:
            return None
        own = cap / parts
        return max(0.0, own - sum(max(0.0, one - own) for n, one in enumerate(before) if n != number))

    cost = part(caps.max_cost, [one.cost for one in charged])
    calls = part(caps.max_calls, [one.calls for one in charged])
    tokens = part(caps.max_total_tokens, [one.tokens for one in charged])
    return Caps(
        max_cost=cost,
        max_calls=None if calls is None else math.floor(calls),
        max_total_tokens=None if tokens is None else math.floor(tokens),
        max_time_minutes=caps.max_time_minutes,
    )


@dataclass(kw_only=True, slots=True)
class SweepBudget:
    """What may be spent, what was charged, and what is reserved for the jobs that run."""

    caps: Caps
    charged: Amount = field(default_factory=Amount)
    reserved: dict[str, Amount] = field(default_factory=dict)
    """By the id of the job."""

    _held: Amount = field(default_factory=Amount, init=False)
    """All reserves together."""

    def refuses(self, reserve: Caps) -> str | None:
        """The cap that leaves no room for this now, in words; `None` where there is room."""
        return (self.charged + self._held + all_of(reserve)).beyond(self.caps)

    def reserve(self, job: str, reserve: Caps) -> None:
        """Set aside what a job may spend."""
        self.reserved[job] = all_of(reserve)
        self._held = total(self.reserved.values())

    def settle(self, job: str, amount: Amount | None) -> None:
        """Charge a job that has ended with what it spent; with everything that was reserved where nobody knows."""
        held = self.reserved.pop(job)
        self.charged += held if amount is None else amount
        self._held = total(self.reserved.values())
