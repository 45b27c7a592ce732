"""The meter inside the engine's model: wraps one provider's API object so that no request escapes the door.

The provider's class is extended in place. A wrapper object would hide the provider's type, by which the engine
decides a dozen things; an extended class keeps every one of them.
"""

import json
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai.model import Model, ModelOutput
from inspect_ai.model._model import RetryDecision
from tenacity import RetryCallState
from tenacity.wait import wait_base

from upskill.domain import Fault
from upskill.models.bill import Bill, current_bill
from upskill.models.door import Door
from upskill.models.endpoint import Endpoint

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig
    from inspect_ai.tool import ToolChoice, ToolInfo


class TransportFault(Exception):
    """The request was lost on the way; sending it again is no second throw of the dice."""


class AttemptTimeout(TransportFault):
    """One request took longer than it may."""


class EndpointDown(Exception):
    """Too many failures in a row: nothing more is sent to this endpoint."""


FIRST_WAIT_SECONDS = 0.5

Decide = Callable[[Exception], bool | RetryDecision]


class Meter:
    """Stands at one endpoint. Every attempt passes through `attempt`; it decides what is tried again, and when."""

    def __init__(self, door: Door, endpoint: Endpoint) -> None:
        self._door = door
        self._endpoint = endpoint

    async def attempt(self, send: Callable[[], Awaitable[Any]]) -> Any:
        """One attempt, with its own wall deadline, counted whatever comes of it."""
        bill = current_bill()
        if self._endpoint.model in self._door.down:
            message = self._door.down[self._endpoint.model]
            bill.blame("provider", f"the endpoint is down: {message}")
            raise EndpointDown(message)
        bill.calls += 1
        self._door.calls += 1
        seconds, answers_before = self._door.policy.attempt_seconds, self._door.answers_of(self._endpoint)
        try:
            with anyio.fail_after(seconds):
                result = await send()
            output, call = result if isinstance(result, tuple) else (result, None)
            if isinstance(output, Exception):
                self._fail(bill, output, answers_before)
                return result
            _require_an_end(output, call.response if call is not None else None)
        except TimeoutError as error:
            late = AttemptTimeout(f"no complete answer within {seconds:g} s")
            self._fail(bill, late, answers_before)
            raise late from error
        except Exception as error:
            self._fail(bill, error, answers_before)
            raise
        self._count(bill, output)
        return result

    def _fail(self, bill: Bill, error: Exception, answers_before: int) -> None:
        fault = fault_of(error)
        bill.blame(fault, f"{type(error).__name__}: {error}")
        bill.failures += 1
        # A provider that asks to slow down is not down; one that a patient call could not get through to is.
        if fault != "rate limit" or bill.failures > self._door.policy.max_retries:
            self._door.failed(self._endpoint, str(error), answers_before=answers_before)

    def _count(self, bill: Bill, output: ModelOutput) -> None:
        self._door.answered(self._endpoint)
        bill.fault, bill.fault_message, bill.failures = None, "", 0
        bill.answers += 1
        bill.served_model = output.model or bill.served_model
        usage = output.usage
        if usage is None or not (usage.input_tokens or usage.output_tokens):
            bill.add(None, None, None)
            return
        sent = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        price = self._endpoint.price
        cost = price.of(input_tokens=sent, output_tokens=usage.output_tokens) if price is not None else None
        bill.add(sent, usage.output_tokens, cost)

    def decide(self, error: Exception, provider_decides: Decide) -> bool | RetryDecision:
        """Transport faults and what the provider calls passing are sent again; never an answer we dislike."""
        if isinstance(error, TransportFault | json.JSONDecodeError):
            return RetryDecision.transient()
        decision = provider_decides(error)
        return decision if not isinstance(decision, RetryDecision) or decision.retry else False

    def wait(self, provider_decides: Decide) -> wait_base:
        """Short at first, never longer than the policy, never shorter than an honest server asks."""
        return _Wait(lambda error: self.decide(error, provider_decides), most=self._door.policy.max_wait_seconds)


class _Wait(wait_base):
    def __init__(self, decide: Decide, *, most: float) -> None:
        self._decide = decide
        self._most = most

    def __call__(self, retry_state: RetryCallState) -> float:
        # The share of chance keeps calls that failed together from coming back together.
        wait = FIRST_WAIT_SECONDS * 2.0 ** (retry_state.attempt_number - 1) * random.uniform(1.0, 2.0)
        error = retry_state.outcome.exception() if retry_state.outcome else None
        decision = self._decide(error) if isinstance(error, Exception) else False
        asked = decision.retry_after if isinstance(decision, RetryDecision) else None
        return min(max(wait, asked or 0.0), self._most)


def build_meter_into(model: Model, *, door: Door, endpoint: Endpoint) -> None:
    """Extend the provider's class of a model that was just made."""
    meter = Meter(door, endpoint)
    provider: Any = type(model.api)

    class Metered(provider):  # type: ignore[misc]  # which provider is known only now
        async def generate(
            self,
            input: "list[ChatMessage]",
            tools: "list[ToolInfo]",
            tool_choice: "ToolChoice",
            config: "GenerateConfig",
        ) -> Any:
            original = super().generate
            return await meter.attempt(lambda: original(input, tools, tool_choice, config))

        def should_retry(self, ex: Exception) -> bool | RetryDecision:
            return meter.decide(ex, super().should_retry)

        def retry_wait(self) -> wait_base:
            return meter.wait(super().should_retry)

    model.api.__class__ = Metered
    client: Any = getattr(model.api, "client", None)
    if hasattr(client, "max_retries"):
        # The client's own retries would be neither counted nor bounded: ours are.
        client.max_retries = 0


def _require_an_end(output: ModelOutput, response: object) -> None:
    """An answer without its end marker was cut on the way: an error, not a short answer."""
    if not output.choices:
        raise TransportFault("the answer holds no choice")
    if output.stop_reason != "unknown":
        return
    raw = None
    if isinstance(response, dict):
        choices = response.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        raw = first.get("finish_reason") if isinstance(first, dict) else None
    if not raw:
        raise TransportFault("the answer has no end marker (finish_reason)")


def fault_of(error: BaseException) -> Fault:
    """Which kind of fault an exception is, by its status where it has one."""
    if isinstance(error, AttemptTimeout):
        return "timeout"
    if isinstance(error, TransportFault | json.JSONDecodeError):
        return "transport"
    status = getattr(error, "status_code", None)
    if status == 429:
        return "rate limit"
    if isinstance(status, int):
        return "provider"
    if type(error).__module__ == "builtins" and not isinstance(error, OSError):
        return "crash"
    name = type(error).__name__
    if "Timeout" in name:
        return "timeout"
    if "Connection" in name or "Protocol" in name or "Decode" in name:
        return "transport"
    return "provider"
