"""The one metered client: every model call of the product goes through here, whoever makes it.

It counts calls, tokens and money, holds deadlines, retries what failed in transport and nothing else, and sends
nothing more to an endpoint that is down. Budgets are enforced here. It does not know what a trial or a verdict is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upskill.core.models.endpoint import Endpoint
from upskill.core.models.handoff import Handoff
from upskill.core.models.spending import Ledger, Purpose, billing
from upskill.core.nouns import Fault
from upskill.errors import UsageError

if TYPE_CHECKING:
    from inspect_ai.model import Model


NO_KEY = "no-key-needed"
"""Sent where a server wants no key, because the client refuses an empty one."""
MOST_OPEN_QUESTIONS = 1_000
"""Open questions of a hand-off, at a time."""


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

        from upskill.core.models.engine_apis import register
        from upskill.core.models.metering import build_meter_into

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
            register()
        elif endpoint.is_custom:
            api_key = endpoint.key() or NO_KEY
        with as_outside_a_notebook():
            model = get_model(endpoint.model, config=config, base_url=endpoint.base_url, api_key=api_key, memoize=False)
        build_meter_into(model, client=self, endpoint=endpoint)
        return model

    def _open_handoff(self, endpoint: Endpoint, handoff: Handoff | None) -> "Model":
        """A person has no deadline, is not asked again by a machine, and may be asked many things at once."""
        from inspect_ai.model import GenerateConfig, get_model

        from upskill.core.models.engine_apis import register
        from upskill.core.models.metering import build_meter_into

        if handoff is None:
            raise UsageError("a hand-off can only teach", hint="name another model")
        register()
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


MOST_JUDGE_OUTPUT_TOKENS = 4_096


class NoAnswer(Exception):
    """A question brought no answer; `fault` says whose doing that was, `budget` where a cap was reached."""

    def __init__(self, message: str, *, fault: Fault) -> None:
        super().__init__(message)
        self.fault: Fault = fault


class JudgeClient:
    """One model, asked one question at a time by each thread. Its calls are on a bill of their own, not a trial's."""

    def __init__(self, client: MeteredClient, endpoint: Endpoint) -> None:
        self._client = client
        self._endpoint = endpoint
        self._model: Model | None = None

    def ask(self, *, system: str, prompt: str, purpose: Purpose) -> str:
        """The text of the answer. Blocks. Raises `NoAnswer`."""
        import anyio.from_thread

        return anyio.from_thread.run(self._ask, system, prompt, purpose)

    async def _ask(self, system: str, prompt: str, purpose: Purpose) -> str:
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser

        if self._model is None:
            self._model = self._client.open(self._endpoint, max_output_tokens=MOST_JUDGE_OUTPUT_TOKENS)
        with billing(purpose) as bill:
            try:
                output = await self._model.generate(
                    [ChatMessageSystem(content=system), ChatMessageUser(content=prompt)]
                )
            except Exception as error:
                if bill.fault is None:
                    raise
                raise NoAnswer(f"{self._endpoint.name}: {bill.fault_message or error}", fault=bill.fault) from None
        return output.completion

    async def close(self) -> None:
        """Let go of its connections, on the event loop on which it was asked."""
        if self._model is not None:
            model, self._model = self._model, None
            await model.api.aclose()
