"""Meters calls: budgets, what was spent and for what purpose, before and after each call. Knows no provider."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from upskill.core.models.endpoint import Endpoint
from upskill.core.models.retrying import LONGEST_ANSWER, Pace, RateLimit
from upskill.core.nouns import Cap, Fault, digest_of
from upskill.core.progress import Waiting

MOST_OUTPUT_TOKENS = 16_384


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of the conversation."""

    role: Literal["user", "assistant"]
    text: str


Preview = Callable[[str], tuple[bool, Sequence[str]]]
"""Whether an answer could be used, and what it would come to, in lines for its writer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One call to a teacher."""

    purpose: str
    """For records and progress, in a word: lessons, cases, draft, revision, search."""
    system: str
    messages: tuple[Message, ...]
    schema: Mapping[str, object] | None = None
    """The JSON Schema of the answer: enforced where the model can, asked for in words everywhere."""
    max_output_tokens: int = MOST_OUTPUT_TOKENS
    preview: Preview | None = field(default=None, compare=False, repr=False)
    """What may be asked before an answer is given; never sent or stored."""

    @property
    def digest(self) -> str:
        """The same question has the same digest: a finished call is never bought again."""
        return digest_of(
            {
                "system": self.system,
                "messages": [[message.role, message.text] for message in self.messages],
                "schema": self.schema,
                "max_output_tokens": self.max_output_tokens,
            }
        )

    @property
    def with_form(self) -> "Question":
        """The question with the schema in its text, for models that cannot be held to it; a hand-off has a file."""
        if self.schema is None:
            return self
        first, *rest = self.messages
        form = (
            "Answer with one JSON object and nothing else: no fence, no words before or after it. "
            f"It must fit this JSON Schema:\n{json.dumps(self.schema, ensure_ascii=False, separators=(',', ':'))}"
        )
        return replace(self, messages=(replace(first, text=f"{first.text}\n\n{form}"), *rest))

    def followed_by(self, *messages: Message) -> "Question":
        """The same conversation, gone on with."""
        return replace(self, messages=(*self.messages, *messages))


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a teacher answered."""

    text: str
    cut: bool = False
    """Whether it ended because it was too long."""


class Ask(Protocol):
    """Puts questions to a teacher, side by side where there are several, and brings the replies in the same order.

    Whoever hands it over has built in the meter, the redaction of what is sent, and the memory of what was bought.
    Raises `NoAnswer` where a question brought no answer.
    """

    def __call__(self, questions: Sequence[Question], /) -> tuple[Reply, ...]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Purpose:
    """On whose behalf a call is made."""

    role: Literal["student", "teacher", "judge"]
    arm: str | None = None
    case_id: str | None = None
    repeat: int = 1
    question: Question | None = None
    """What a teacher is asked; `repeat` counts how often the same was asked."""


@dataclass(slots=True)
class Bill:
    """What was bought for one purpose. Token counts are `None` once a provider did not say."""

    purpose: Purpose
    calls: int = 0
    answers: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost: float | None = 0.0
    tokens: int = 0
    """In and out together, estimated where a provider did not say: for limits, never for a report."""
    fault: Fault | None = None
    """The last fault of a call that was not made good by a retry."""
    fault_message: str = ""
    failed_calls: int = 0
    """Requests that brought no answer, whether or not a retry made it good."""
    lost: int = 0
    """Those of them whose answer may have begun: which answers are lost may depend on what they say."""
    refused: int = 0
    """The others: turned away before an answer began."""
    served_model: str | None = None
    text_calls: int = 0
    """Tool calls that were read from text."""

    def add(self, input_tokens: int | None, output_tokens: int | None, cost: float | None) -> None:
        """Put one answer on the bill. What is unknown once stays unknown."""
        self.input_tokens = _sum(self.input_tokens, input_tokens)
        self.output_tokens = _sum(self.output_tokens, output_tokens)
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def blame(self, fault: Fault, message: str) -> None:
        """Note why nothing was measured."""
        self.fault, self.fault_message = fault, " ".join(message.split())[:500]


class UnbilledCall(RuntimeError):
    """A call that belongs to no trial, no judge and no teacher. It is a mistake of ours, and is not sent."""


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


_BILL: ContextVar[Bill | None] = ContextVar("upskill_bill", default=None)


@contextmanager
def billing(purpose: Purpose) -> Iterator[Bill]:
    """Everything called inside the block is put on the bill that is handed out."""
    bill = Bill(purpose=purpose)
    token = _BILL.set(bill)
    try:
        yield bill
    finally:
        _BILL.reset(token)


def current_bill() -> Bill:
    """The bill of the block we are in. Raises `UnbilledCall` outside of any."""
    bill = _BILL.get()
    if bill is None:
        raise UnbilledCall("a model was called outside of `billing`, so the purpose of the call is unknown")
    return bill


MEGABYTE = 2**20
SPACING_SECONDS = 0.02
"""How far apart requests leave where many may be in flight: half again as fast as the engine can handle them."""
MANY = 32
"""So many that leave together come back together, and then the event loop stands still while deadlines run."""


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
    unknown cannot be estimated: there `max_cost` is not enforced, and a cap on calls, tokens or time is needed.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class CallPolicy:
    """What every call is held to."""

    attempt_seconds: float = 300.0
    """One request, whatever trickles in meanwhile."""
    call_seconds: int = 900
    """One call with all its retries and waits. A last request is cut there too."""
    max_retries: int = 4
    """How often a request that was lost, or met a passing fault, is sent again."""
    max_rate_limit_retries: int | None = None
    """How often a request that was told to slow down is sent again; by default three times `max_retries`."""
    max_wait_seconds: float = 60.0
    """The longest wait between attempts, whatever a server asks for."""
    concurrency: int = 8
    """Calls in flight per endpoint."""
    failures_until_down: int = 10
    """So many failures in a row, with no answer between them, mean that the endpoint is down."""
    max_body_bytes: int = 8 * MEGABYTE
    """The longest answer, unpacked. Promised for OpenAI-compatible endpoints, held wherever the client allows."""
    text_calls: bool = True
    """Whether tool calls are read that a model behind a base URL writes as text."""

    @property
    def patience(self) -> int:
        """How often a request that was told to slow down is sent again."""
        return 3 * self.max_retries if self.max_rate_limit_retries is None else self.max_rate_limit_retries


@dataclass(slots=True)
class _EndpointState:
    """How one endpoint has answered so far. Failures and refusals count since its latest answer."""

    answers: int = 0
    failures: int = 0
    refusals: int = 0
    not_before: float = 0.0


@dataclass(slots=True)
class Ledger:
    """Holds the budget, keeps the totals, and knows which endpoints answer."""

    policy: CallPolicy = field(default_factory=CallPolicy)
    budget: Budget = field(default_factory=Budget)
    limits: Mapping[str, RateLimit] = field(default_factory=dict)
    """By the name of a model, as a person typed it or as the engine has it. Every request to such a model, a retry and
    a judge's too, waits until these limits allow it; that takes no time of the call's deadline nor of the trial's. The
    limits are for this client alone: whoever has several gives each its share. Others are sent as fast as they come."""
    down: dict[str, str] = field(default_factory=dict)
    """Endpoints that are down, by model, with the last thing they said."""
    spent: Spending = field(default_factory=Spending)
    """Everything that was bought."""
    spent_by: dict[tuple[str, str | None], Spending] = field(default_factory=lambda: defaultdict(Spending))
    """The same by role and arm."""
    _first_call: float | None = None
    _states: dict[str, _EndpointState] = field(default_factory=lambda: defaultdict(_EndpointState))
    _paces: dict[str, Pace] = field(default_factory=dict)
    _next_request: float = 0.0
    _under_way: dict[object, float] = field(default_factory=dict)
    """When each request that has no answer yet was sent."""
    _retries: list[tuple[float, bool]] = field(default_factory=list)
    """When requests will be sent again, and whether each was told to slow down."""

    @property
    def seconds(self) -> float:
        """Since the first call, on a clock that nobody can set; 0 before it."""
        return 0.0 if self._first_call is None else time.monotonic() - self._first_call

    @property
    def exhausted(self) -> Cap | None:
        """The cap of the budget that was reached; `None` while there is room.

        Once a cap is reached no request is sent, so whoever hands out work may stop. Requests in flight may finish.
        """
        return self.budget.reached(self.spent, seconds=self.seconds)

    def seconds_left(self) -> float | None:
        """Until the cap on time; `None` without one."""
        return None if self.budget.max_seconds is None else self.budget.max_seconds - self.seconds

    def charge(self, purpose: Purpose) -> tuple[Spending, Spending]:
        """Count one request that is about to be sent, and hand out the totals on which its price goes."""
        if self._first_call is None:
            self._first_call = time.monotonic()
        totals = self.spent, self.spent_by[purpose.role, purpose.arm]
        for total in totals:
            total.calls += 1
        return totals

    def answers_of(self, endpoint: Endpoint) -> int:
        """How often an endpoint has answered so far."""
        return self._states[endpoint.model].answers

    def answered(self, endpoint: Endpoint) -> None:
        """An endpoint answered: it is not down."""
        state = self._states[endpoint.model]
        state.answers += 1
        state.failures = state.refusals = 0

    def failed(self, endpoint: Endpoint, message: str, *, answers_before: int) -> None:
        """An attempt failed; after too many in a row nothing more is sent there.

        An attempt that was sent before the endpoint's latest answer says nothing about how it is now.
        """
        state = self._states[endpoint.model]
        if state.answers <= answers_before:
            state.failures += 1
            if state.failures >= self.policy.failures_until_down:
                self._mark_down(endpoint, message)

    def refused(self, endpoint: Endpoint) -> None:
        """An endpoint asked to slow down, which is not being down."""
        self._states[endpoint.model].refusals += 1

    def gave_up(self, endpoint: Endpoint, message: str, *, answers_before: int) -> None:
        """A call was told to slow down until it gave up; if no other call was answered meanwhile, the endpoint is down.

        `answers_before` is how often the endpoint had answered when that call began.
        """
        state = self._states[endpoint.model]
        if state.answers == answers_before and state.refusals >= self.policy.failures_until_down:
            self._mark_down(endpoint, message)

    def _mark_down(self, endpoint: Endpoint, message: str) -> None:
        self.down.setdefault(endpoint.model, " ".join(message.split())[:200])

    def hold_back(self, endpoint: Endpoint, seconds: float) -> None:
        """Send nothing to an endpoint for so long: it asked for that."""
        state = self._states[endpoint.model]
        state.not_before = max(state.not_before, time.monotonic() + seconds)

    def held_back(self, endpoint: Endpoint) -> float:
        """For how many seconds nothing may be sent to an endpoint."""
        return max(0.0, self._states[endpoint.model].not_before - time.monotonic())

    def set_pace(self, endpoint: Endpoint, *, longest_answer: int | None) -> Pace | None:
        """Hold an endpoint that is opened to its limits, if it has any: also under other names of the same model."""
        limit = self.limits.get(endpoint.name) or self.limits.get(endpoint.model)
        if limit is not None and endpoint.model not in self._paces:
            self._paces[endpoint.model] = Pace(limit, longest_answer or LONGEST_ANSWER)
        return self.pace_of(endpoint)

    def pace_of(self, endpoint: Endpoint) -> Pace | None:
        """When requests to an endpoint may leave; `None` where no limit is set."""
        return self._paces.get(endpoint.model)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A request is under way as long as this lasts."""
        request = object()
        self._under_way[request] = time.monotonic()
        try:
            yield
        finally:
            del self._under_way[request]

    def will_retry(self, seconds: float, *, busy: bool) -> None:
        """A request will be sent again after so long."""
        now = time.monotonic()
        self._retries = [*(one for one in self._retries if one[0] > now), (now + seconds, busy)]

    def waiting(self) -> Waiting:
        """What is waited for now. May be asked on another thread."""
        now = time.monotonic()
        sent, retries = list(self._under_way.values()), [one for one in self._retries if one[0] > now]
        first, busy = min(retries, default=(now, False))
        return Waiting(
            answers=len(sent),
            longest_seconds=now - min(sent, default=now),
            retries=len(retries),
            retry_seconds=first - now,
            busy=busy,
        )

    def turn(self) -> float:
        """Seconds until the next request may leave. Where many may be in flight, they leave one by one."""
        if self.policy.concurrency <= MANY:
            return 0.0
        now = time.monotonic()
        at = max(now, self._next_request)
        self._next_request = at + SPACING_SECONDS
        return at - now
