"""The meter inside the engine's model: extends one provider's API object, so that no request goes uncounted.

The provider's class is extended in place. A wrapper object would hide the provider's type, by which the engine
decides a dozen things; an extended class keeps every one of them.
"""

import json
import math
import platform
import random
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai.log._samples import _active_model_event
from inspect_ai.model import Model, ModelOutput
from inspect_ai.model import _assistant_internal as states
from inspect_ai.model._model import RetryDecision
from inspect_ai.util import suspend_working_limit
from pydantic import ValidationError
from tenacity import RetryCallState
from tenacity.wait import wait_base

from upskill.core.models.connections import OtherOrigin, keep_at_origin
from upskill.core.models.endpoint import Endpoint
from upskill.core.models.handoff import HandoffOpen, QuestionChanged
from upskill.core.models.prices import bytes_of_input, bytes_of_output, reported_tokens
from upskill.core.models.responses import (
    AttemptTimeout,
    BodyTooLarge,
    CallTimeout,
    EndpointDown,
    MalformedAnswer,
    OwnKeys,
    TransportFault,
    cap_bodies,
    cut_message,
    fault_of,
    fit_for_the_log,
    require_an_answer,
    was_lost,
)
from upskill.core.models.retrying import (
    LATE_SECONDS,
    Call,
    Pace,
    begin_call,
    current_call,
    honest_retry_after,
    wait_after_fault,
    wait_after_refusal,
)
from upskill.core.models.spending import Bill, BudgetReached, Ledger, Spending, current_bill
from upskill.core.nouns import Cap, Fault
from upskill.core.nouns.text import estimated_tokens

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig
    from inspect_ai.tool import ToolChoice, ToolInfo

TURN_SPREAD_SECONDS = 0.25
"""Calls that were held back together go on within this time of each other, not all at once."""

_PROVIDER_CLIENTS = {
    "_HAS_OPENAI": "inspect_ai.model._openai_responses",
    "_HAS_ANTHROPIC": "inspect_ai.model._providers.anthropic",
}
"""Flags of the engine for two providers, and the module that loads the client of each."""

Decide = Callable[[Exception], bool | RetryDecision]


@dataclass(slots=True)
class _Attempt:
    """One request that is under way, and where what comes of it is noted."""

    bill: Bill
    call: Call
    totals: tuple[Spending, Spending]
    answers_before: int
    """How often the endpoint had answered anybody when the request was sent."""
    input_bytes: Callable[[], int]
    """The size of the request, asked for where the provider does not say how many tokens it was."""
    pace: Pace | None
    reserved: float
    """Output tokens, where a pace is kept."""


class Meter:
    """The meter of one endpoint: counts every attempt, and decides what is tried again, and when."""

    def __init__(self, client: Ledger, endpoint: Endpoint) -> None:
        self._client = client
        self._endpoint = endpoint
        self._patient = endpoint.is_handoff
        """Whether an answer may take as long as the cap on time allows."""
        self._call_seconds = math.inf if self._patient else client.policy.call_seconds
        self._own_keys = OwnKeys(endpoint)
        self._line = anyio.Lock()
        """Calls that wait for our own pace leave in the order in which they came."""

    async def attempt(self, send: Callable[[], Awaitable[Any]], *, input_bytes: Callable[[], int]) -> Any:
        """One attempt, with its own wall deadline, counted whatever comes of it."""
        bill, call, client = current_bill(), current_call(), self._client
        await self._wait_for_turn(call, bill)
        pace = client.pace_of(self._endpoint)
        reserved = 0.0 if pace is None else await self._keep(pace, call, bill)
        self._require_permission(bill)
        call.answered = False
        bill.calls += 1
        totals = client.charge(bill.purpose)
        attempt = _Attempt(bill, call, totals, client.answers_of(self._endpoint), input_bytes, pace, reserved)
        seconds = self._seconds_for(call)
        try:
            with client.under_way(), anyio.fail_after(seconds):
                result = await send()
            output, made = result if isinstance(result, tuple) else (result, None)
            self._own_keys.remove_from_notes(_active_model_event.get(), made)
            self._own_keys.remove_from(output)
            if isinstance(output, Exception):
                self._fail(attempt, output)
                return result
            require_an_answer(output, made.response if made is not None else None)
            fit_for_the_log(output)
        except (HandoffOpen, QuestionChanged):
            raise  # no model failed: nobody waits, or nobody is asked by a file that was changed
        except TimeoutError:
            if self._patient:
                self._end_at_the_cap_on_time(bill)
            late = AttemptTimeout(f"no complete answer within {seconds:.3g} s")
            self._fail(attempt, late)
            raise late from None
        except Exception as error:
            fault = _plain_fault(error, answered=call.answered)
            self._own_keys.remove_from_notes(_active_model_event.get(), None)
            self._own_keys.remove_from(error)
            if self._fail(attempt, fault) == "crash":
                raise
            # The engine renders every traceback on the event loop, a second for one that runs through the client and
            # its pool, and calls in flight miss their deadlines meanwhile. A fault of the world needs none.
            raise fault.with_traceback(None) from None
        self._count(attempt, output)
        return result

    def _seconds_for(self, call: Call) -> float:
        """How long an answer may take. A person has until the cap on time of the run, if there is one."""
        if self._patient:
            return self._seconds_left
        return max(0.0, min(self._client.policy.attempt_seconds, self._call_seconds - call.seconds))

    def _end_at_the_cap_on_time(self, bill: Bill) -> None:
        cap = Cap(kind="minutes", amount=(self._client.budget.max_seconds or 0.0) / 60)
        bill.blame("budget", f"{cap} was reached")
        raise BudgetReached(f"{cap} was reached") from None

    async def _wait_for_turn(self, call: Call, bill: Bill) -> None:
        """While an endpoint asks to wait, every call to it waits, whichever call was told so."""
        await self._wait_while_held_back(call, bill)
        if turn := self._client.turn():
            await anyio.sleep(turn)

    async def _wait_while_held_back(self, call: Call, bill: Bill) -> None:
        while (held := self._client.held_back(self._endpoint)) > 0.0:
            self._require_permission(bill)
            left = self._call_seconds - call.seconds
            if held >= left:
                bill.blame("rate limit", f"the endpoint asks to wait for {held:.3g} s more")
                raise CallTimeout("the call would time out before the endpoint accepts requests again")
            with suspend_working_limit():
                await anyio.sleep(min(held + random.uniform(0.0, TURN_SPREAD_SECONDS), self._seconds_left))

    async def _keep(self, pace: Pace, call: Call, bill: Bill) -> float:
        """Wait until our own pace allows a request, and hand out what is reserved for it.

        That takes no time of the call's nor of the trial's. It ends at once where nothing may be sent any more.
        """
        with suspend_working_limit():
            since = time.monotonic()
            async with self._line:
                while True:
                    call.paced += time.monotonic() - since
                    await self._wait_while_held_back(call, bill)
                    self._require_permission(bill)
                    since = time.monotonic()
                    wait = pace.seconds_until_next(since)
                    if wait <= 0.0:
                        return pace.send(since)
                    # An answer may allow it earlier, and a cap or an endpoint that is down forbid it.
                    await anyio.sleep(min(wait, LATE_SECONDS, self._seconds_left))

    @property
    def _seconds_left(self) -> float:
        """Until the cap on time of the run."""
        left = self._client.seconds_left()
        return math.inf if left is None else max(0.0, left)

    def _require_permission(self, bill: Bill) -> None:
        """Raise where the endpoint is down or a cap was reached: then nothing is sent."""
        message = self._client.down.get(self._endpoint.model)
        if message is not None:
            if bill.fault is None:
                bill.blame("provider", f"the endpoint is down: {message}")
            raise EndpointDown(message)
        cap = self._client.exhausted
        if cap is not None:
            bill.blame("budget", f"{cap} was reached")
            raise BudgetReached(f"{cap} was reached")

    def _fail(self, attempt: _Attempt, error: Exception) -> Fault:
        self._own_keys.remove_from(error)
        bill, call = attempt.bill, attempt.call
        fault = fault_of(error)
        cut_message(error)
        bill.blame(fault, f"{type(error).__name__}: {error}")
        self._charge(attempt, error, fault)
        if isinstance(error, BodyTooLarge):
            call.oversized += 1
        if fault == "rate limit":
            call.refusals += 1
            self._client.refused(self._endpoint)
        else:
            call.faults += 1
            self._client.failed(self._endpoint, str(error), answers_before=attempt.answers_before)
        return fault

    def _charge(self, attempt: _Attempt, error: Exception, fault: Fault) -> None:
        bill = attempt.bill
        bill.failed_calls += 1
        if was_lost(error):
            bill.lost += 1
        else:
            bill.refused += 1
            if attempt.pace is not None:
                attempt.pace.refused(attempt.reserved)
        # Whether a provider charges for an answer that never arrived, nobody knows; a cap must assume it.
        tokens = estimated_tokens(attempt.input_bytes()) if fault in ("timeout", "transport") else 0
        price = self._endpoint.price
        cost = price.of(input_tokens=tokens, output_tokens=0) if price is not None else 0.0
        for total in attempt.totals:
            total.failed_calls += 1
            total.cost = None if price is None else total.cost
            total.tokens += tokens
            total.tokens_lost += tokens
            total.tokens_estimated += tokens
            total.cost_known += cost
            total.cost_lost += cost

    def _count(self, attempt: _Attempt, output: ModelOutput) -> None:
        bill = attempt.bill
        self._client.answered(self._endpoint)
        bill.fault, bill.fault_message = None, ""
        bill.answers += 1
        bill.served_model = output.model or bill.served_model
        reported, price = reported_tokens(output), self._endpoint.price
        sent, written = reported or (estimated_tokens(attempt.input_bytes()), estimated_tokens(bytes_of_output(output)))
        cost = price.of(input_tokens=sent, output_tokens=written) if price is not None else None
        if attempt.pace is not None:
            attempt.pace.answered(attempt.reserved, written)
        bill.tokens += sent + written
        bill.add(*((sent, written, cost) if reported else (None, None, None)))
        for total in attempt.totals:
            total.tokens += sent + written
            total.tokens_estimated += 0 if reported else sent + written
            total.cost = None if total.cost is None or cost is None or reported is None else total.cost + cost
            total.cost_known += cost or 0.0

    def decide(self, error: Exception, provider_decides: Decide) -> bool | RetryDecision:
        """Transport faults and what the provider calls passing are sent again; never an answer we dislike."""
        call = current_call()
        if call.judged is not error:
            # Asked twice about the same failure, by the engine and by its wait, the answer is the same.
            call.judged, call.decision = error, self._judge(call, error, provider_decides)
        return call.decision  # type: ignore[no-any-return]  # `Call` does not know the engine

    def _judge(self, call: Call, error: Exception, provider_decides: Decide) -> bool | RetryDecision:
        if isinstance(error, EndpointDown | BudgetReached | CallTimeout | OtherOrigin):
            return False
        limited = fault_of(error) == "rate limit"
        lost = isinstance(error, TransportFault | json.JSONDecodeError)
        passing = RetryDecision.transient() if lost else provider_decides(error)
        if not passing or (not limited and getattr(error, "status_code", None) == 429):
            return False
        policy = self._client.policy
        sent_header, asked = honest_retry_after(error)
        if not sent_header and isinstance(passing, RetryDecision):
            asked = passing.retry_after  # other headers by which providers say when there is room again
        if limited:
            wait = wait_after_refusal(max(1, call.refusals), asked=asked, most=policy.max_wait_seconds)
            if sent_header and asked is not None:
                self._client.hold_back(self._endpoint, min(asked, policy.max_wait_seconds))
        else:
            wait = wait_after_fault(max(1, call.faults), asked=asked, most=policy.max_wait_seconds)
        if self._is_worth(call, wait, limited=limited):
            call.wait = wait
            self._client.will_retry(wait, busy=limited)
            return passing
        if limited:
            self._client.gave_up(self._endpoint, str(error), answers_before=call.answers_before)
        return False

    def _is_worth(self, call: Call, wait: float, *, limited: bool) -> bool:
        """Whether there are attempts, time and money left for another request."""
        client = self._client
        attempts_left = call.refusals <= client.policy.patience if limited else call.faults <= client.policy.max_retries
        return (
            attempts_left
            and call.oversized <= 1
            and call.seconds + wait < self._call_seconds
            and self._endpoint.model not in client.down
            and client.exhausted is None
            and wait < self._seconds_left
        )

    def wait(self, provider_decides: Decide) -> wait_base:
        """The waits of a call that begins now, with its own count of faults and its own deadline."""
        begin_call(answers_before=self._client.answers_of(self._endpoint))
        return _Wait(lambda error: self.decide(error, provider_decides))


class _Wait(wait_base):
    """Hands the engine the wait that was settled when it asked whether to try again."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    def __call__(self, retry_state: RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        return current_call().wait if isinstance(error, Exception) and self._decide(error) else 0.0


def build_meter_into(model: Model, *, client: Ledger, endpoint: Endpoint) -> None:
    """Extend the provider's class of a model that was just made."""
    leave_out_clients()
    meter = Meter(client, endpoint)
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
            result = await meter.attempt(
                lambda: original(input, tools, tool_choice, config), input_bytes=lambda: bytes_of_input(input, tools)
            )
            if tools and endpoint.base_url is not None and client.policy.text_calls:
                output = result[0] if isinstance(result, tuple) else result
                current_bill().text_calls += take_text_calls(output, input, tools)
            return result

        def should_retry(self, ex: Exception) -> bool | RetryDecision:
            return meter.decide(ex, super().should_retry)

        def retry_wait(self) -> wait_base:
            return meter.wait(super().should_retry)

        def initialize(self) -> None:
            super().initialize()
            _fit_client(self, endpoint, client.policy.max_body_bytes)  # the client may be a new one

    model.api.__class__ = Metered
    _fit_client(model.api, endpoint, client.policy.max_body_bytes)


def take_text_calls(output: object, asked: "list[ChatMessage]", tools: "list[ToolInfo]") -> int:
    """Turn calls that a model wrote as text into calls, where its server found none. Returns how many can be made."""
    if not isinstance(output, ModelOutput) or not output.choices or output.message.tool_calls:
        return 0
    from inspect_ai.tool import ToolCall

    from upskill.core.models.text_calls import text_calls

    schemas = {tool.name: tool.parameters.model_dump(exclude_none=True) for tool in tools}
    before, calls = text_calls(output.message.text, schemas)
    if calls:
        output.message.content = before
        output.message.tool_calls = [
            ToolCall(
                id=f"call_text_{len(asked)}_{number}",
                function=call.name,
                arguments=call.arguments,
                parse_error=call.error,
            )
            for number, call in enumerate(calls)
        ]
        output.choices[0].stop_reason = "tool_calls"
    return sum(call.error is None for call in calls)


def leave_out_clients() -> None:
    """Keep the engine from loading clients of providers, seconds of CPU each, that no model of this process uses.

    It would do so with its first sample, on the event loop, for each that is installed. A client whose module is there
    already is one that a model uses.
    """
    # Printed where an answer has the wrong shape, with pieces of it: it is judged by us, and may hold a key.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    # Clients of providers ask for it, and Python would start whatever `uname` comes first on the search path.
    vars(platform.uname())["processor"] = ""
    for installed, module in _PROVIDER_CLIENTS.items():
        if hasattr(states, installed):
            setattr(states, installed, module in sys.modules)
    copy_context().run(states.init_sample_assistant_internal)


def _fit_client(api: Any, endpoint: Endpoint, max_body_bytes: int) -> None:
    """The client's own retries would be neither counted nor bounded: ours are. Nor would the length of a body be."""
    client: Any = getattr(api, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0
    cap_bodies(getattr(client, "_client", None), most=max_body_bytes)
    base_url = endpoint.base_url or str(getattr(client, "base_url", ""))
    keep_at_origin(getattr(client, "_client", None), base_url=base_url)


def _plain_fault(error: Exception, *, answered: bool) -> Exception:
    """A fault of ours that a client wrapped in its own, or an answer that broke whoever tried to read it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TransportFault | OtherOrigin):
            return cause
        cause = cause.__cause__
    unreadable = isinstance(error, ValidationError) or type(error).__module__ == "builtins"
    if answered and unreadable and not isinstance(error, OSError | MemoryError):
        return MalformedAnswer(f"the answer cannot be read ({type(error).__name__}: {str(error)[:200]})")
    return error
