"""What may be spent, and what was. Plain values: knows neither engine nor clock.

A budget is looked at before every request. What is in flight then may finish, so a cap holds to within the calls in
flight; the cap on calls is exact.
"""

from dataclasses import dataclass

from upskill.domain.run_end import Cap


class BudgetReached(Exception):
    """A cap of the run is reached: the request was not sent, and asking again will not help."""


@dataclass(slots=True)
class Spending:
    """What was bought so far, kept for the budget and for the report."""

    calls: int = 0
    """Requests sent, retries included."""
    failed_calls: int = 0
    """Requests that brought no answer."""
    tokens: int = 0
    """Input and output together: as the provider counted them, estimated where it did not say."""
    tokens_lost: int = 0
    """The part of `tokens` that went into requests without an answer; always estimated."""
    tokens_estimated: int = 0
    """The part of `tokens` that is an estimate of ours."""
    cost: float | None = 0.0
    """Dollars; `None` once a price or a token count was unknown."""
    cost_known: float = 0.0
    """Dollars as far as prices are known, estimated tokens included. This is what a cap on cost looks at."""
    cost_lost: float = 0.0
    """The part of `cost_known` that went into requests without an answer; always estimated."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """The caps of a run. `None` is no cap; 0 allows nothing.

    Tokens that a provider does not report are estimated, so that a silent server cannot outrun a cap. A price that is
    unknown cannot be estimated: there `max_cost` does not bite, and a cap on calls, tokens or time is needed.
    """

    max_cost: float | None = None
    """Dollars."""
    max_calls: int | None = None
    """Requests, retries included."""
    max_total_tokens: int | None = None
    """Input and output together."""
    max_seconds: float | None = None
    """From the first call, on a clock that nobody can set."""

    def reached(self, spent: Spending, *, seconds: float) -> Cap | None:
        """The cap that leaves no room for another request; `None` while there is room."""
        if self.max_calls is not None and spent.calls >= self.max_calls:
            return Cap(kind="calls", amount=self.max_calls)
        if self.max_total_tokens is not None and spent.tokens >= self.max_total_tokens:
            return Cap(kind="tokens", amount=self.max_total_tokens)
        if self.max_cost is not None and spent.cost_known >= self.max_cost:
            return Cap(kind="dollars", amount=self.max_cost)
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Cap(kind="minutes", amount=self.max_seconds / 60)
        return None
