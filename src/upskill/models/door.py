"""The one metered door: every model call of the product goes through here, whoever makes it.

It counts calls, tokens and money, holds deadlines, retries what failed in transport and nothing else, and stops
knocking at an endpoint that is down. Budgets bite here. It does not know what a trial or a verdict is.
"""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from upskill.models.endpoint import ENDPOINT_KEY, Endpoint

if TYPE_CHECKING:
    from inspect_ai.model import Model

NO_KEY = "no-key-needed"
"""Sent where a server wants no key, because the client refuses an empty one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What every call is held to."""

    attempt_seconds: float = 300.0
    """One request, whatever trickles in meanwhile."""
    call_seconds: int = 900
    """One call with all its retries and waits."""
    max_retries: int = 4
    max_wait_seconds: float = 60.0
    """The longest wait between attempts, whatever a server asks for."""
    concurrency: int = 8
    """Calls in flight per endpoint."""
    failures_until_down: int = 10
    """So many failures in a row, with no answer between them, mean that the endpoint is down."""


@dataclass(slots=True)
class Door:
    """Opens models and keeps the totals."""

    policy: Policy = field(default_factory=Policy)
    calls: int = 0
    down: dict[str, str] = field(default_factory=dict)
    """Endpoints that are down, by model, with the last thing they said."""
    _failures: dict[str, int] = field(default_factory=dict)
    _answers: dict[str, int] = field(default_factory=dict)

    def open(
        self, endpoint: Endpoint, *, temperature: float | None = None, max_output_tokens: int | None = None
    ) -> "Model":
        """The engine's model for an endpoint, with the meter built in."""
        from inspect_ai.model import GenerateConfig, get_model

        from upskill.models.metering import build_meter_into

        config = GenerateConfig(
            temperature=temperature,
            max_tokens=max_output_tokens,
            max_connections=self.policy.concurrency,
            max_retries=self.policy.max_retries,
            timeout=self.policy.call_seconds,
        )
        api_key = None
        if endpoint.is_scripted:
            from upskill.models import scripted_api

            scripted_api.register()
        elif endpoint.is_custom:
            api_key = os.environ.get(ENDPOINT_KEY, "").strip() or NO_KEY
        model = get_model(endpoint.model, config=config, base_url=endpoint.base_url, api_key=api_key, memoize=False)
        build_meter_into(model, door=self, endpoint=endpoint)
        return model

    def answers_of(self, endpoint: Endpoint) -> int:
        """How often an endpoint has answered so far."""
        return self._answers.get(endpoint.model, 0)

    def answered(self, endpoint: Endpoint) -> None:
        """An endpoint answered: it is not down."""
        self._answers[endpoint.model] = self.answers_of(endpoint) + 1
        self._failures[endpoint.model] = 0

    def failed(self, endpoint: Endpoint, message: str, *, answers_before: int) -> None:
        """An attempt failed; too many in a row and nobody knocks there again.

        An attempt that was sent before the endpoint's latest answer says nothing about how it is now.
        """
        if self.answers_of(endpoint) > answers_before:
            return
        count = self._failures.get(endpoint.model, 0) + 1
        self._failures[endpoint.model] = count
        if count >= self.policy.failures_until_down:
            self.down.setdefault(endpoint.model, " ".join(message.split())[:200])
