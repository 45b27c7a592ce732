"""The one metered client: every model call of the product goes through here: of a trial, a judge, a teacher.

It counts calls, tokens and money, holds deadlines, retries what failed in transport and nothing else, and sends
nothing more to an endpoint that is down. Budgets are enforced here. It does not know what a trial or a verdict is. A
teacher answers questions side by side, on an event loop of its own; whoever asks reads the replies.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from upskill.core.models.endpoint import Endpoint
from upskill.core.models.handoff import Handoff, HandoffOpen
from upskill.core.models.spending import Bill, Ledger, Purpose, Question, Reply, billing
from upskill.core.nouns import Fault
from upskill.core.nouns.text import estimated_tokens, whole_characters
from upskill.errors import ProviderError, UsageError
from upskill.interruption import run_interruptibly

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig, Model, ModelOutput


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


FIRST_CALL = "Call the tool `ready` once, with `word` set to `yes`."


async def first_call(model: "Model", endpoint: Endpoint) -> str | None:
    """Ask a model for one trivial tool call. Returns what it wrote where it made none, `None` where it made one.

    Raises `ProviderError` where its server refuses requests with tools. Of any other fault the trials tell.
    """
    from inspect_ai.model import ChatMessageUser
    from inspect_ai.tool import ToolInfo, ToolParam, ToolParams

    parameters = ToolParams(properties={"word": ToolParam(type="string")}, required=["word"])
    tool = ToolInfo(name="ready", description="Says that you are ready.", parameters=parameters)
    with billing(Purpose(role="student")) as bill:
        try:
            output = await model.generate([ChatMessageUser(content=FIRST_CALL)], tools=[tool])
        except Exception as error:
            if bill.fault is None:
                raise
            if getattr(error, "status_code", None) in (*REFUSES_THE_REQUEST, 500):
                raise ProviderError(
                    f"{endpoint.name}: its server refuses a request with a tool: {bill.fault_message or error}",
                    hint="start it with a chat template that knows tools (llama-server --jinja), or --harness chat",
                ) from None
            return None
    return None if output.message.tool_calls else output.completion


REFUSES_THE_REQUEST = (400, 404, 415, 422, 501)
"""What servers answer that do not know how to hold an answer to a schema, or what tools are."""
LEAST_OUTPUT_TOKENS = 512
_CUT = ("max_tokens", "model_length")


@dataclass(frozen=True, kw_only=True, slots=True)
class PaidReply:
    """One question that was answered, and what it took."""

    index: int
    """Its index among the questions that were asked together, from 0 on."""
    reply: Reply
    calls: int
    tokens: int
    """In and out together, estimated where the provider did not say."""
    cost: float | None
    """Dollars; `None` where the price or the tokens are unknown."""


class _RequestRefused(NoAnswer):
    """A server answered that it cannot do what was asked of it."""


class Teacher:
    """One model that is asked. Its calls are on a bill of their own, with the role `teacher`."""

    def __init__(
        self, client: MeteredClient, endpoint: Endpoint, *, window: int | None = None, handoff: Handoff | None = None
    ) -> None:
        self._client = client
        self._handoff = handoff
        self.endpoint = endpoint
        self.window = window if window is not None else endpoint.window
        """Tokens of question and answer together; `None` if unknown."""
        self._takes_schemas = not (endpoint.is_scripted or endpoint.is_handoff)

    def ask(
        self,
        questions: Sequence[Question],
        *,
        repeats: Sequence[int] = (),
        on_reply: Callable[[PaidReply], None] = lambda _: None,
    ) -> tuple[Reply, ...]:
        """The replies, in the order of the questions. Blocks. `on_reply` is called with each as soon as it is there.

        `repeats` counts for each question how often it was asked, from 1 on: by default all are asked for the first
        time. Raises `NoAnswer` where a question brought no answer, once the others have come to their end: what was
        bought by then has been handed over.
        """
        times = tuple(repeats) or (1,) * len(questions)
        return run_interruptibly(partial(self._ask_all, tuple(questions), times, on_reply))

    async def _ask_all(
        self, questions: tuple[Question, ...], repeats: tuple[int, ...], on_reply: Callable[[PaidReply], None]
    ) -> tuple[Reply, ...]:
        from inspect_ai.util._concurrency import init_concurrency

        init_concurrency()  # outside an evaluation the engine keeps the limits of whoever asked first
        model = self._client.open(self.endpoint, handoff=self._handoff)

        async def ask(index: int, question: Question) -> Reply:
            question = question if self.endpoint.is_handoff else question.with_form
            with billing(Purpose(role="teacher", question=question, repeat=repeats[index])) as bill:
                reply = await self._ask(model, question, bill)
            on_reply(PaidReply(index=index, reply=reply, calls=bill.calls, tokens=bill.tokens, cost=bill.cost))
            return reply

        try:
            asked = (ask(index, question) for index, question in enumerate(questions))
            ends = await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.api.aclose()
        failures = [end for end in ends if isinstance(end, BaseException)]
        # A fault of ours says more than a question that is open, and that more than an answer that did not come.
        failures.sort(key=lambda failure: (isinstance(failure, NoAnswer), isinstance(failure, HandoffOpen)))
        if failures:
            raise failures[0]
        return tuple(end for end in ends if isinstance(end, Reply))

    async def _ask(self, model: "Model", question: Question, bill: Bill) -> Reply:
        with_schema = self._takes_schemas and question.schema is not None and can_be_held(question.schema)
        try:
            output = await self._generate(model, question, bill, with_schema=with_schema)
        except _RequestRefused:
            if not with_schema:
                raise
            # The words of the question ask for the same form (`with_form`), and are all that such a server understands.
            self._takes_schemas = False
            output = await self._generate(model, question, bill, with_schema=False)
        if output.stop_reason == "model_length" and not output.usage:
            raise NoAnswer(
                f"{self.endpoint.name}: the question is longer than the model's context window", fault="provider"
            )
        # A lone surrogate cannot be stored.
        return Reply(text=whole_characters(output.completion), cut=output.stop_reason in _CUT)

    async def _generate(self, model: "Model", question: Question, bill: Bill, *, with_schema: bool) -> "ModelOutput":
        from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

        kinds = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}
        messages = [kinds[message.role](content=message.text) for message in question.messages]
        config = self._config(question, with_schema=with_schema)
        try:
            return await model.generate([ChatMessageSystem(content=question.system), *messages], config=config)
        except Exception as error:
            if bill.fault is None:
                raise
            kind = _RequestRefused if getattr(error, "status_code", None) in REFUSES_THE_REQUEST else NoAnswer
            raise kind(f"{self.endpoint.name}: {bill.fault_message or error}", fault=bill.fault) from None

    def _config(self, question: Question, *, with_schema: bool) -> "GenerateConfig":
        from inspect_ai.model import GenerateConfig, ResponseSchema
        from inspect_ai.util import JSONSchema

        schema: Any = None
        if with_schema:
            schema = ResponseSchema(name="answer", json_schema=JSONSchema.model_validate(question.schema))
        return GenerateConfig(max_tokens=self._most_output_tokens(question), response_schema=schema)

    def _most_output_tokens(self, question: Question) -> int:
        """The longest answer that fits beside the question; servers refuse to promise more than their window."""
        if self.window is None:
            return question.max_output_tokens
        texts = (question.system, *(message.text for message in question.messages))
        size = sum(len(text.encode("utf-8", "replace")) for text in texts)
        # Tokens are estimated: where a model has half again as many, the question still fits.
        left = self.window - estimated_tokens(size) * 3 // 2
        return max(LEAST_OUTPUT_TOKENS, min(question.max_output_tokens, left))


def can_be_held(schema: object) -> bool:
    """Whether providers can hold an answer to a schema: they know no table with names of its own, and no free value."""
    if not isinstance(schema, Mapping):
        return False
    if "anyOf" in schema:
        return all(map(can_be_held, schema["anyOf"]))
    kind = schema.get("type")
    if kind == "object":
        return bool(schema.get("properties")) and all(map(can_be_held, schema["properties"].values()))
    if kind == "array":
        return can_be_held(schema.get("items"))
    if isinstance(kind, list):
        return not {"object", "array"} & set(kind)
    return isinstance(kind, str) or "enum" in schema
