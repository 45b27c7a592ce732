"""Scripts and hand-offs as model providers of the engine. A hand-off asks by a file, and waits for its answer."""

from functools import cache
from typing import Any

import anyio
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.model._model_output import ChatCompletionChoice
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from upskill.core.models.handoff import Handoff, HandoffOpen, HandoffQuestion, open_line, place_question
from upskill.core.models.scripted import Conversation, Failure, Reply, load_script
from upskill.core.models.spending import current_bill
from upskill.errors import UsageError

POLL_SECONDS = 0.2


class HandoffAPI(ModelAPI):
    """Answers what a person, or an agent of theirs, answered. Takes as long as they take."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the engine's own signature
        *,
        handoff: Handoff,
        **_: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._handoff = handoff
        self._waiting: dict[int, HandoffQuestion] = {}

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        purpose = current_bill().purpose
        if purpose.question is None:
            raise UsageError("a hand-off can only answer questions to a teacher")
        question = place_question(self._handoff.folder, purpose.question, repeat=purpose.repeat)
        self._waiting[question.number] = question
        try:
            while (text := self._handoff.answer(question)) is None:
                if not self._handoff.wait:
                    raise HandoffOpen(open_line([question]))
                await anyio.to_thread.run_sync(self._handoff.serve_requests, question, purpose.question.preview)
                await anyio.sleep(POLL_SECONDS)
                self._handoff.report_open(tuple(self._waiting.values()))
        finally:
            del self._waiting[question.number]
        return ModelOutput.from_content("handoff", text)


class ScriptedFailure(Exception):
    """Fails as a provider does, with its status where it has one."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"the script says: {failure}")
        self.failure = failure
        self.status_code = {"rate limit": 429, "server": 500}.get(failure)


class ScriptedConnectionReset(ScriptedFailure):
    """Fails as a connection does."""


class ScriptedAPI(ModelAPI):
    """Answers from a script."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the engine's own signature
        **_: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._script = load_script(model_name)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        # The arm comes from the bill: a request does not tell, because arms must differ by the skill alone.
        bill = current_bill()
        request = [message.text for message in input]
        reply = self._script.reply(
            request,
            arm=bill.purpose.arm,
            repeat=bill.purpose.repeat,
            turn=bill.calls,
            conversation=_conversation(input),
        )
        if reply.stall_seconds:
            await anyio.sleep(reply.stall_seconds)
        if reply.fail is not None:
            kind = ScriptedFailure if reply.fail in ("rate limit", "server") else ScriptedConnectionReset
            raise kind(reply.fail)
        return _output(self.model_name, reply, request)

    def should_retry(self, ex: Exception) -> bool:
        """What a real provider would have tried again."""
        return isinstance(ex, ScriptedFailure)


def _conversation(messages: list[ChatMessage]) -> Conversation:
    at = next((place for place, message in enumerate(messages) if message.role == "user"), len(messages))
    answers = sum(message.role == "assistant" for message in messages)
    return Conversation(
        prompt=messages[at].text if at < len(messages) else "",
        last=messages[-1].text if messages else "",
        turn=answers + 1,
        given="\n".join(one.text for place, one in enumerate(messages) if place != at and one.role != "assistant"),
    )


def _output(model: str, reply: Reply, request: list[str]) -> ModelOutput:
    calls = None
    if reply.tool is not None:
        calls = [ToolCall(id=f"call-{len(request)}", function=reply.tool, arguments=dict(reply.arguments or {}))]
    stop: Any = "tool_calls" if calls else reply.stop
    sent, written = sum(len(text) for text in request) // 4 + 1, len(reply.text) // 4 + 1
    return ModelOutput(
        model=f"scripted/{model}",
        choices=[
            ChatCompletionChoice(message=ChatMessageAssistant(content=reply.text, tool_calls=calls), stop_reason=stop)
        ],
        usage=ModelUsage(input_tokens=sent, output_tokens=written, total_tokens=sent + written),
    )


@cache
def register() -> None:
    """Make `scripted/` and `handoff/` known to the engine; once is enough."""
    modelapi(name="scripted")(ScriptedAPI)
    modelapi(name="handoff")(HandoffAPI)
