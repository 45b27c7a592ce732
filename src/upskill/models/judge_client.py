"""Single questions to a model through the metered client, asked from a worker thread of the engine's event loop."""

from typing import TYPE_CHECKING

from upskill.domain import Fault
from upskill.models.bill import Purpose, billing
from upskill.models.client import MeteredClient
from upskill.models.endpoint import Endpoint

if TYPE_CHECKING:
    from inspect_ai.model import Model

MOST_OUTPUT_TOKENS = 4_096


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
            self._model = self._client.open(self._endpoint, max_output_tokens=MOST_OUTPUT_TOKENS)
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
