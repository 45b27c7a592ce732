"""Spending: the caps of every call, and what a run has bought."""

from typing import Protocol

from upskill import measuring, storage
from upskill.domain import Purchase
from upskill.errors import UpskillError
from upskill.models import Budget, CallPolicy, MeteredClient, Spending
from upskill.settings import Settings
from upskill.storage.runs import RunFolder


class PricedPlan(Protocol):
    """A plan with its price and time in words, about which a person is asked."""

    @property
    def price(self) -> str: ...

    @property
    def minutes(self) -> str: ...


def client_for(settings: Settings) -> MeteredClient:
    """The metered client, with the caps that were set."""
    minutes = settings.max_time_minutes
    return MeteredClient(
        policy=CallPolicy(
            attempt_seconds=settings.attempt_timeout_seconds,
            call_seconds=settings.call_timeout_seconds,
            max_retries=settings.max_retries,
            max_wait_seconds=settings.max_retry_wait_seconds,
            concurrency=settings.concurrency,
        ),
        budget=Budget(
            max_cost=settings.max_cost,
            max_calls=settings.max_calls,
            max_total_tokens=settings.max_total_tokens,
            max_seconds=None if minutes is None else minutes * 60,
        ),
    )


def purchase_of(spent: Spending) -> Purchase:
    """All that was spent, as it is reported."""
    return Purchase(
        calls=spent.calls,
        failed_calls=spent.failed_calls,
        tokens=spent.tokens,
        cost=spent.cost,
        lost=spent.cost_lost,
    )


def purchase_since(spent: Spending, before: Spending) -> Purchase:
    """What was spent since, as it is reported."""
    cost = None if spent.cost is None or before.cost is None else spent.cost - before.cost
    return Purchase(
        calls=spent.calls - before.calls,
        failed_calls=spent.failed_calls - before.failed_calls,
        tokens=spent.tokens - before.tokens,
        # Once a price was unknown the sum is unknown; what was bought since may still be known to be nothing.
        cost=0.0 if spent.calls == before.calls else cost,
        lost=spent.cost_lost - before.cost_lost,
    )


def spent_in(folder: RunFolder) -> Spending:
    """What the finished trials of a run cost; a cost that is unknown, or cannot be read, is `None`."""
    spent = Spending()
    bought = []
    try:
        for trial in folder.trials.read():
            if not trial.calls:
                continue
            bought.append(storage.emptied(trial))
            spent.calls += trial.calls
            spent.tokens += trial.usage.tokens or 0
            spent.cost_known += trial.usage.cost or 0.0
        spent.cost = measuring.spent_on(bought, priced=any(trial.usage.cost is not None for trial in bought))
    except UpskillError:
        spent.cost = None
    return spent
