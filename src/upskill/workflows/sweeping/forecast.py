"""What a sweep will take: calls, dollars, hours at the limits of the providers, and what of these binds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from upskill.domain.job import Caps
from upskill.domain.rate_limit import USED_SHARE, RateLimit
from upskill.domain.sweep import PlannedJob
from upskill.domain.text import count
from upskill.workflows.sweeping.budget import Amount, all_of, reserve_for

SECONDS_PER_CALL = 5.0
"""Assumed: how long a model takes for one answer."""
BUSY_SHARE = 2 / 3
"""Of the calls that a worker may have in flight, so many are: an evaluation ends with its slowest pair."""
CONFIRMED_SHARE = 0.12
"""How many more calls confirmations take, where one skill in ten helps (measured on simulated sweeps)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Take:
    """Calls and dollars, expected and at most."""

    calls_expected: int = 0
    calls_at_most: int = 0
    cost_expected: float | None = None
    cost_at_most: float | None = None
    """For the models whose price is known; `None` where none is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How long something takes at one limit."""

    what: str
    """The limit, in words."""
    hours: float
    model: str | None = None
    """Of whom the limit is; `None` for the workers' own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Paid:
    """How many evaluations a cap pays for."""

    key: str
    """Of the manifest."""
    cap: str
    """In words."""
    expected: int
    at_least: int
    """Where every one takes its worst case."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What is left of a sweep, and what it takes."""

    left: int
    take: Take
    confirmation: Take
    """What confirmations take beyond that: expected where one skill in ten helps, at most where all do."""
    paces: tuple[Pace, ...]
    """At the limits, the slowest first."""
    hours: float
    """At the limit that binds, confirmations not counted."""
    paid: Paid | None
    """The cap that pays for the fewest; `None` where every cap pays for all, even in the worst case."""
    workers: int

    @property
    def binds(self) -> str:
        """What decides how long it takes or how far it comes, in words."""
        if self.left == 0:
            return "nothing: all evaluations are done"
        if self.paid is not None and self.paid.expected < self.left:
            return f"the cap of {self.paid.cap}"
        return self.paces[0].what


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
    take = _total(left)
    paces = sorted(_paces(left, limits, workers=workers, concurrency=concurrency), key=lambda one: -one.hours)
    hours = paces[0].hours if left else 0.0
    firsts = [job for job in left if job.confirms is None]
    return Forecast(
        left=len(left),
        take=take,
        confirmation=_confirmation(_total(firsts)) if confirm else Take(cost_expected=0.0, cost_at_most=0.0),
        paces=tuple(paces),
        hours=hours,
        paid=_paid(left, caps, charged, hours=hours),
        workers=workers,
    )


def _total(jobs: Iterable[PlannedJob]) -> Take:
    jobs = tuple(jobs)
    return Take(
        calls_expected=sum(job.calls_expected for job in jobs),
        calls_at_most=sum(job.calls_at_most for job in jobs),
        cost_expected=_sum(job.cost_expected for job in jobs),
        cost_at_most=_sum(job.cost_at_most for job in jobs),
    )


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _confirmation(take: Take) -> Take:
    return Take(
        calls_expected=round(take.calls_expected * CONFIRMED_SHARE),
        calls_at_most=take.calls_at_most,
        cost_expected=None if take.cost_expected is None else take.cost_expected * CONFIRMED_SHARE,
        cost_at_most=take.cost_at_most,
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
        # What is expected of a long prompt is not kept: half of the worst case, as a sequential design takes.
        tokens = [(job.tokens_at_most or 0) / 2 for job in left]
        room = caps.max_total_tokens - charged.tokens
        most = [float(one.tokens) for one in worst]
        found.append(_counted("max_total_tokens", f"{caps.max_total_tokens:,} tokens", room, tokens, most))
    if caps.max_time_minutes is not None and hours * 60 > caps.max_time_minutes:
        share = int(len(left) * caps.max_time_minutes / (hours * 60))
        found.append(
            Paid(key="max_time_minutes", cap=f"{caps.max_time_minutes:,.0f} minutes", expected=share, at_least=0)
        )
    short = [one for one in found if one.at_least < len(left)]
    return min(short, key=lambda one: (one.expected, one.at_least)) if short else None


def _counted(key: str, cap: str, room: float, expected: Sequence[float], worst: Sequence[float]) -> Paid:
    """An evaluation starts while its worst case fits into what is left; those before it took what was expected."""
    before = [0.0, *accumulate(expected)]
    return Paid(
        key=key,
        cap=cap,
        expected=sum(spent + most <= room for spent, most in zip(before, worst, strict=False)),
        at_least=sum(spent <= room for spent in accumulate(worst)),
    )
