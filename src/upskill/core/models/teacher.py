"""A teacher: questions to one model, side by side, on an event loop of its own.

Knows nothing of what is asked: whoever asks reads the replies, and whoever hands out `ask` cleans and remembers.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from upskill.core.models.client import MeteredClient, NoAnswer
from upskill.core.models.endpoint import Endpoint
from upskill.core.models.handoff import Handoff, HandoffOpen
from upskill.core.models.spending import Bill, Purpose, Question, Reply, billing
from upskill.core.nouns.text import estimated_tokens, whole_characters
from upskill.interruption import run_interruptibly

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig, Model, ModelOutput

REFUSES_THE_REQUEST = (400, 404, 415, 422, 501)
"""What servers answer that do not know how to hold an answer to a schema."""
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
            # The words of the question ask for the same form, and are all that such a server understands.
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
