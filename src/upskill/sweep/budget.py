"""The money and the time of a sweep: what is reserved for a job before it starts, what is charged when it has ended,
and a forecast of what is left.

A job starts only while charged + reserved + its own reserve are within the caps. The client of the job holds its
reserve, so the caps hold although workers never talk to each other.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from upskill.core.models.retrying import USED_SHARE, RateLimit
from upskill.core.nouns.text import count
from upskill.report.wording import dollars
from upskill.sweep.values import Caps, JobSpending, PlannedJob

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


SECONDS_PER_CALL = 5.0
"""Assumed: how long a model takes for one answer."""
BUSY_SHARE = 2 / 3
"""The share of a worker's calls that are in flight: an evaluation ends with its slowest pair."""
CONFIRMED_SHARE = 0.12
"""How many more calls confirmations take, where one skill in ten helps (measured on simulated sweeps)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """How much of something; `None` where nobody knows."""

    expected: float | None
    at_most: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Take:
    """Calls, and dollars for the models whose price is known."""

    calls: Bounds
    price: Bounds


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How long something takes at one limit."""

    what: str
    """The limit, in words."""
    hours: float
    model: str | None = None
    """The model whose limit it is; `None` for the workers' own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Paid:
    """How many evaluations a cap pays for."""

    key: str
    """The key of the manifest."""
    cap: str
    """In words."""
    evaluations_expected: int
    evaluations_at_least: int
    """Where every one takes its worst case."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What is left of a sweep, and what it takes, as `upskill sweep plan --json` says it."""

    left: int
    calls: Bounds
    price: Bounds
    confirmation: Take | None
    """What confirmations take beyond that: expected where one skill in ten helps, at most where all do."""
    workers: int
    hours: float
    """At the limit that binds, confirmations not counted."""
    limits: tuple[Pace, ...]
    """The slowest first."""
    cap: Paid | None
    """The cap that pays for the fewest; `None` where every cap pays for all, even in the worst case."""
    binds: str
    """What decides how long it takes or how far it comes, in words."""


def forecast(
    left: Sequence[PlannedJob],
    *,
    caps: Caps,
    charged: Amount,
    limits: Mapping[str, RateLimit],
    confirm: bool,
    workers: int,
    concurrency: int,
) -> Forecast:
    """What these evaluations take. `charged` is what earlier ones used of the caps."""
    paces = sorted(_paces(left, limits, workers=workers, concurrency=concurrency), key=lambda one: -one.hours)
    hours = paces[0].hours if left else 0.0
    paid = _paid(left, caps, charged, hours=hours)
    binds = paces[0].what
    if not left:
        binds = "nothing: all evaluations are done"
    elif paid is not None and paid.evaluations_expected < len(left):
        binds = f"the cap of {paid.cap}"
    take = _total(left)
    return Forecast(
        left=len(left),
        calls=take.calls,
        price=take.price,
        confirmation=_confirmation(_total(job for job in left if job.confirms is None)) if confirm else None,
        workers=workers,
        hours=hours,
        limits=tuple(paces),
        cap=paid,
        binds=binds,
    )


def _total(jobs: Iterable[PlannedJob]) -> Take:
    jobs = tuple(jobs)
    return Take(
        calls=Bounds(expected=sum(job.calls_expected for job in jobs), at_most=sum(job.calls_at_most for job in jobs)),
        price=Bounds(expected=_sum(job.cost_expected for job in jobs), at_most=_sum(job.cost_at_most for job in jobs)),
    )


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _confirmation(take: Take) -> Take:
    calls, price = take.calls.expected or 0, take.price.expected
    return Take(
        calls=replace(take.calls, expected=round(calls * CONFIRMED_SHARE)),
        price=replace(take.price, expected=None if price is None else price * CONFIRMED_SHARE),
    )


def _paces(
    jobs: Sequence[PlannedJob], limits: Mapping[str, RateLimit], *, workers: int, concurrency: int
) -> Iterable[Pace]:
    """Every model of an evaluation is asked about as often."""
    for model, limit in limits.items():
        asked = [job for job in jobs if model in job.students]
        requests = sum(job.calls_expected / len(job.students) for job in asked)
        tokens = sum(job.output_tokens_expected / len(job.students) for job in asked)
        if (most := limit.requests_per_minute) is not None:
            yield Pace(
                what=f"{model}: {most:,.0f} requests per minute", hours=requests / (most * USED_SHARE) / 60, model=model
            )
        if (most := limit.output_tokens_per_minute) is not None:
            yield Pace(
                what=f"{model}: {most:,.0f} output tokens per minute",
                hours=tokens / (most * USED_SHARE) / 60,
                model=model,
            )
    in_flight = workers * concurrency * BUSY_SHARE
    rounds = sum(job.calls_expected / len(job.students) for job in jobs)
    yield Pace(
        what=f"{count(workers, 'worker')} with {concurrency} calls in flight per model "
        f"({SECONDS_PER_CALL:g} s per call assumed)",
        hours=rounds * SECONDS_PER_CALL / in_flight / 3600,
    )


def _paid(left: Sequence[PlannedJob], caps: Caps, charged: Amount, *, hours: float) -> Paid | None:
    """The cap that pays for the fewest evaluations, where one does not pay for all in the worst case."""
    found = []
    worst = [all_of(reserve_for(job)) for job in left]
    if caps.max_cost is not None:
        expected = [job.cost_expected or 0.0 for job in left]
        room = caps.max_cost - charged.cost
        found.append(_counted("max_cost", f"${caps.max_cost:,.2f}", room, expected, [one.cost for one in worst]))
    if caps.max_calls is not None:
        calls = [float(job.calls_expected) for job in left]
        room = caps.max_calls - charged.calls
        found.append(
            _counted("max_calls", f"{caps.max_calls:,} calls", room, calls, [float(one.calls) for one in worst])
        )
    if caps.max_total_tokens is not None:
        # What is expected of a long prompt is not kept: half of the worst case, about as two looks take.
        tokens = [(job.tokens_at_most or 0) / 2 for job in left]
        room = caps.max_total_tokens - charged.tokens
        most = [float(one.tokens) for one in worst]
        found.append(_counted("max_total_tokens", f"{caps.max_total_tokens:,} tokens", room, tokens, most))
    if caps.max_time_minutes is not None and hours * 60 > caps.max_time_minutes:
        share, cap = int(len(left) * caps.max_time_minutes / (hours * 60)), f"{caps.max_time_minutes:,.0f} minutes"
        found.append(Paid(key="max_time_minutes", cap=cap, evaluations_expected=share, evaluations_at_least=0))
    short = [one for one in found if one.evaluations_at_least < len(left)]
    return min(short, key=lambda one: (one.evaluations_expected, one.evaluations_at_least)) if short else None


def _counted(key: str, cap: str, room: float, expected: Sequence[float], worst: Sequence[float]) -> Paid:
    """An evaluation starts while its worst case fits into what is left; those before it took what was expected."""
    before = [0.0, *accumulate(expected)]
    return Paid(
        key=key,
        cap=cap,
        evaluations_expected=sum(spent + most <= room for spent, most in zip(before, worst, strict=False)),
        evaluations_at_least=sum(spent <= room for spent in accumulate(worst)),
    )
