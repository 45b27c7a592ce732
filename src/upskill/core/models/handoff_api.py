"""A hand-off as one of the engine's model providers: a question is a file, and its answer is waited for."""

from functools import cache
from typing import Any

import anyio
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from upskill.core.models.handoff import Handoff, HandoffOpen, HandoffQuestion, open_line, place_question
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
                await anyio.sleep(POLL_SECONDS)
                self._handoff.report_open(tuple(self._waiting.values()))
        finally:
            del self._waiting[question.number]
        return ModelOutput.from_content("handoff", text)


@cache
def register() -> None:
    """Make `handoff/` known to the engine; once is enough."""
    modelapi(name="handoff")(HandoffAPI)
