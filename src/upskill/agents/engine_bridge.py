"""The engine's private bridge, behind one class: an API request of an agent becomes an ordinary call of the engine.

No other module imports `inspect_ai.agent._bridge`; `test_engine_bridge.py` holds what is relied on here.
The call goes to the student's own model, through the metered client, on the bill of the task that asks. What an agent
sets about sampling is dropped: the student's settings hold in every arm.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib import import_module
from threading import Lock
from typing import Any

import anyio.to_thread
from inspect_ai.agent import AgentState
from inspect_ai.agent._bridge._errors import BridgePolicyError
from inspect_ai.agent._bridge.anthropic_api import inspect_anthropic_api_request
from inspect_ai.agent._bridge.completions import inspect_completions_api_request
from inspect_ai.agent._bridge.responses import inspect_responses_api_request
from inspect_ai.agent._bridge.types import AgentBridge
from inspect_ai.model import ChatMessage, GenerateConfig, GenerateInput, Model, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo
from inspect_ai.util import suspend_working_limit

from upskill.agents.streams import Dialect, objects_in

Asked = Callable[[Sequence[ChatMessage], Sequence[ToolInfo]], bool]
Answered = Callable[[Sequence[ChatMessage], Sequence[ToolInfo], ModelOutput, bool], None]

RequestRefused = BridgePolicyError
"""A request asks for what an agent in a sandbox must not have, or cannot be read: its own fault, and a 400."""


_MODULES: dict[Dialect, str] = {
    "responses": "inspect_ai.agent._bridge.responses_impl",
    "messages": "inspect_ai.agent._bridge.anthropic_api_impl",
    "completions": "inspect_ai.model._openai",
}
"""What the engine imports with the first request in a dialect: seconds of CPU."""
_loading = Lock()
_loaded: set[Dialect] = set()


async def _load(dialect: Dialect) -> None:
    """Import what a dialect needs, off the event loop: calls in flight would miss their deadlines meanwhile."""
    if dialect in _loaded:
        return
    with suspend_working_limit():
        await anyio.to_thread.run_sync(_import, dialect)


def _import(dialect: Dialect) -> None:
    with _loading:
        import_module(_MODULES[dialect])
        _loaded.add(dialect)


_model_was_asked: ContextVar[bool] = ContextVar("model_was_asked", default=False)
_is_main: ContextVar[bool] = ContextVar("is_main", default=False)


class EngineBridge:
    """Answers requests of one agent. `asked` hears of each before it is sent, `answered` with the model's output and
    with what `asked` returned for it."""

    def __init__(self, messages: Sequence[ChatMessage], *, asked: Asked, answered: Answered) -> None:
        async def before(
            model: Model,  # noqa: ARG001 - the engine's signature
            input: list[ChatMessage],
            tools: list[ToolInfo],
            tool_choice: ToolChoice | None,  # noqa: ARG001
            config: GenerateConfig,  # noqa: ARG001
        ) -> None:
            _model_was_asked.set(True)
            _is_main.set(asked(input, tools))

        async def after(model: Model, output: ModelOutput, request: GenerateInput) -> None:  # noqa: ARG001
            tools = [tool for tool in request.tools if isinstance(tool, ToolInfo)]
            for call in (output.message.tool_calls or ()) if output.choices else ():
                self._order[call.id] = len(self._order)
            answered(request.input, tools, output, _is_main.get())

        self._order: dict[str, int] = {}
        self._bridge = AgentBridge(
            AgentState(messages=list(messages)), filter=before, response_filter=after, allow_remote_mcp=False
        )

    async def answer(self, dialect: Dialect, request: dict[str, Any]) -> dict[str, Any]:
        """The model's answer in the same dialect, whole. Raises what the engine raises, and `RequestRefused`."""
        await _load(dialect)
        _model_was_asked.set(False)
        try:
            answer = await self._answer(dialect, request)
        except Exception as error:
            # Programs in the sandbox can send anything. What the engine cannot read must not end the trial.
            if _model_was_asked.get():
                raise
            raise RequestRefused(f"the request cannot be read: {type(error).__name__}: {error}"[:500]) from error
        dumped: dict[str, Any] = answer.model_dump(mode="json", exclude_none=True, warnings=False)
        if dialect == "messages":
            # The engine hands out parallel calls in any order; they are carried out in the model's.
            dumped["content"].sort(key=lambda block: self._order.get(block.get("id", ""), -1))
        return dumped

    async def _answer(self, dialect: Dialect, request: dict[str, Any]) -> Any:
        match dialect:
            case "responses":
                return await inspect_responses_api_request(request, None, None, None, self._bridge)
            case "messages":
                return await inspect_anthropic_api_request(request, None, None, None, self._bridge, beta=True)
            case "completions":
                for tool in objects_in(request, "tools"):
                    # A function without parameters may leave them out; the engine does not know that.
                    if isinstance(function := tool.get("function"), dict):
                        function.setdefault("parameters", {"type": "object", "properties": {}})
                return await inspect_completions_api_request(request, None, self._bridge)
