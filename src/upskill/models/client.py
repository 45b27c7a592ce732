"""The one metered client: every model call of the product goes through here, whoever makes it.

It counts calls, tokens and money, holds deadlines, retries what failed in transport and nothing else, and sends
nothing more to an endpoint that is down. Budgets are enforced here. It does not know what a trial or a verdict is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upskill.errors import UsageError
from upskill.models.endpoint import Endpoint
from upskill.models.handoff import Handoff
from upskill.models.ledger import Ledger

if TYPE_CHECKING:
    from inspect_ai.model import Model

NO_KEY = "no-key-needed"
"""Sent where a server wants no key, because the client refuses an empty one."""
MOST_OPEN_QUESTIONS = 1_000
"""Of a hand-off, at a time."""


@dataclass(slots=True)
class MeteredClient(Ledger):
    """Opens models, and counts what is bought through all of them."""

    def open(
        self,
        endpoint: Endpoint,
        *,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        handoff: Handoff | None = None,
    ) -> "Model":
        """The engine's model for an endpoint, with the meter built in; `handoff` is where a hand-off asks."""
        from inspect_ai.model import GenerateConfig, get_model

        from upskill.models.metering import build_meter_into

        pace = self.set_pace(endpoint, longest_answer=max_output_tokens)
        config = GenerateConfig(
            temperature=temperature,
            max_tokens=max_output_tokens,
            max_connections=self.policy.concurrency,
            # The outer bounds of the engine's loop. The meter decides within them which request is sent again.
            max_retries=self.policy.max_retries + self.policy.patience,
            # The engine cannot know which part of a call was spent on keeping our own pace.
            timeout=self.policy.call_seconds if pace is None else None,
        )
        api_key = None
        if endpoint.is_handoff:
            return self._open_handoff(endpoint, handoff)
        if endpoint.is_scripted:
            from upskill.models import scripted_api

            scripted_api.register()
        elif endpoint.is_custom:
            api_key = endpoint.key() or NO_KEY
        with as_outside_a_notebook():
            model = get_model(endpoint.model, config=config, base_url=endpoint.base_url, api_key=api_key, memoize=False)
        build_meter_into(model, client=self, endpoint=endpoint)
        return model

    def _open_handoff(self, endpoint: Endpoint, handoff: Handoff | None) -> "Model":
        """A person has no deadline, is not asked again by a machine, and may be asked many things at once."""
        from inspect_ai.model import GenerateConfig, get_model

        from upskill.models import handoff_api
        from upskill.models.metering import build_meter_into

        if handoff is None:
            raise UsageError("a hand-off can only teach", hint="name another model")
        handoff_api.register()
        config = GenerateConfig(max_connections=MOST_OPEN_QUESTIONS, max_retries=0)
        with as_outside_a_notebook():
            model = get_model("handoff/folder", config=config, memoize=False, handoff=handoff)
        build_meter_into(model, client=self, endpoint=endpoint)
        return model


@contextmanager
def as_outside_a_notebook() -> Iterator[None]:
    """Keep the engine from noticing a notebook, where it demands widgets and changes every event loop of the process.

    It needs neither: there it runs in a thread of its own, and shows nothing.
    """
    from inspect_ai._util import platform

    in_notebook = platform.running_in_notebook
    setattr(platform, "running_in_notebook", lambda: False)  # noqa: B010 - a function of the engine
    try:
        yield
    finally:
        setattr(platform, "running_in_notebook", in_notebook)  # noqa: B010
