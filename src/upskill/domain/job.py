"""What any process can run as a job: what it may spend and set, what it has spent, why it has no evaluation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

JOB_SETTINGS = frozenset(
    {
        "aliases",
        "attempt_timeout_seconds",
        "base_url",
        "call_timeout_seconds",
        "command_seconds",
        "concurrency",
        "judge",
        "judge_is_student",
        "max_output_tokens",
        "max_retries",
        "max_retry_wait_seconds",
        "max_trial_minutes",
        "max_trial_tokens",
        "max_turns",
        "temperature",
    }
)
"""Settings that a job may name. The others have a key of their own, or are not about an evaluation."""

_STRICT = {"extra": "forbid", "allow_inf_nan": False}
"""Reading one of these from JSON refuses unknown keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """The most that may be spent. `None` is no cap; 0 allows nothing."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    max_cost: float | None = None
    """Dollars."""
    max_calls: int | None = None
    """Requests, retries included."""
    max_total_tokens: int | None = None
    """Input and output together."""
    max_time_minutes: float | None = None
    """From the first call of the job."""

    def __post_init__(self) -> None:
        for cap in (self.max_cost, self.max_calls, self.max_total_tokens, self.max_time_minutes):
            if cap is not None and not 0 <= cap < math.inf:
                raise ValueError(f"a cap must be at least 0 and finite, not {cap:g}")


@dataclass(frozen=True, kw_only=True, slots=True)
class JobError:
    """Why a job has no evaluation, in the words that a person would have read."""

    kind: str
    """The name of the error's class, for example `UsageError`."""
    message: str
    hint: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpending:
    """What was spent on a job."""

    calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    """Dollars; `None` where a price is unknown."""

    def __post_init__(self) -> None:
        if not all(amount is None or 0 <= amount < math.inf for amount in (self.calls, self.tokens, self.cost)):
            raise ValueError("what was spent must be at least 0 and finite")

    def __add__(self, other: "JobSpending") -> "JobSpending":
        return JobSpending(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )
