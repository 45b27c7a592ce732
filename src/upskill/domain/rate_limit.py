"""What a provider accepts in a minute, and the part of it that one of several workers may use."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

USED_SHARE = 0.9
"""Of a provider's rate limit: workers that share it without talking to each other must stay below it."""


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
