"""What is relied on in the engine's private bridge: three dialects in, ordinary calls, and valid streams out.

The real clients of the providers read the streams: what they accept, agents accept.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import anthropic
import anyio
import httpx2 as httpx
import openai
import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.model._model import init_active_model
from inspect_ai.tool import ToolCall, ToolInfo

from upskill.agents.engine_bridge import EngineBridge, RequestRefused
from upskill.agents.streams import Dialect, failure, stream

SCHEMA = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
FUNCTION = {"name": "run", "description": "Runs.", "parameters": SCHEMA}
REQUESTS: dict[Dialect, dict[str, Any]] = {
    "responses": {
        "model": "inspect",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Run both."}]}],
        "tools": [{"type": "function", **FUNCTION, "strict": False}],
        "temperature": 0.3,
        "max_output_tokens": 99,
        "stream": True,
    },
    "messages": {
        "model": "inspect",
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Run both."}]}],
        "tools": [{"name": "run", "description": "Runs.", "input_schema": SCHEMA}],
        "temperature": 0.3,
        "max_tokens": 99,
        "stream": True,
    },
    "completions": {
        "model": "inspect",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Run both."}],
        "tools": [{"type": "function", "function": FUNCTION}],
        "temperature": 0.3,
        "max_tokens": 99,
        "stream": True,
    },
}
CALLS = [{"cmd": "ls"}, {"cmd": "id"}]


def output() -> ModelOutput:
    """Thinking, text and two calls at once."""
    message = ChatMessageAssistant(
        content=[ContentReasoning(reasoning="hm", signature="c2ln"), ContentText(text="Both:")],
        tool_calls=[ToolCall(id=f"call_{at}", function="run", arguments=call) for at, call in enumerate(CALLS)],
    )
    return ModelOutput(
        model="mock",
        choices=[ChatCompletionChoice(message=message, stop_reason="tool_calls")],
        usage=ModelUsage(input_tokens=11, output_tokens=7, total_tokens=18),
    )


def ask(dialect: Dialect, request: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The answer of a bridge, and all that it heard and sent."""
    noted: list[Any] = []

    def generate(
        messages: list[ChatMessage], tools: list[ToolInfo], choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        noted.append(("sent", [message.role for message in messages], [tool.name for tool in tools], config))
        return output()

    def asked(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> bool:
        noted.append(("asked", [message.text for message in messages], [tool.name for tool in tools]))
        return True

    def answered(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo], said: ModelOutput, main: bool) -> None:
        assert main, "what was returned when it was asked"
        noted.append(("answered", len(said.message.tool_calls or [])))

    async def work() -> dict[str, Any]:
        init_active_model(get_model("mockllm/model", custom_outputs=generate, memoize=False), GenerateConfig())
        return await EngineBridge([], asked=asked, answered=answered).answer(dialect, request)

    return anyio.run(work), noted


def transport(dialect: Dialect, answer: dict[str, Any]) -> httpx.MockTransport:
    headers = {"content-type": "text/event-stream"}
    return httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=stream(dialect, answer)))


def read_responses(answer: dict[str, Any]) -> tuple[str, list[dict[str, Any]], int]:
    http = httpx.Client(transport=transport("responses", answer))
    with openai.OpenAI(api_key="none", http_client=http).responses.stream(model="m", input="x") as events:
        done = [event.response for event in events if event.type == "response.completed"]
    (final,) = done
    calls = [json.loads(item.arguments) for item in final.output if item.type == "function_call"]
    assert final.usage is not None
    return final.output_text, calls, final.usage.output_tokens


def read_messages(answer: dict[str, Any]) -> tuple[str, list[dict[str, Any]], int]:
    http = httpx.Client(transport=transport("messages", answer))
    client = anthropic.Anthropic(api_key="none", http_client=http)
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as events:
        final = events.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    calls = [dict(block.input) for block in final.content if block.type == "tool_use"]
    assert final.stop_reason == "tool_use"
    return text, calls, final.usage.output_tokens


def read_completions(answer: dict[str, Any]) -> tuple[str, list[dict[str, Any]], int]:
    http = httpx.Client(transport=transport("completions", answer))
    chunks = openai.OpenAI(api_key="none", http_client=http).chat.completions.create(
        model="m", messages=[{"role": "user", "content": "x"}], stream=True
    )
    text, calls, used = "", dict[int, str](), 0
    for chunk in chunks:
        used = chunk.usage.completion_tokens if chunk.usage else used
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                assert call.function is not None
                calls[call.index] = calls.get(call.index, "") + (call.function.arguments or "")
    return text, [json.loads(calls[at]) for at in sorted(calls)], used


READERS: dict[Dialect, Callable[[dict[str, Any]], tuple[str, list[dict[str, Any]], int]]] = {
    "responses": read_responses,
    "messages": read_messages,
    "completions": read_completions,
}


@pytest.mark.filterwarnings("ignore:The .initial. parameter is deprecated")
@pytest.mark.parametrize("dialect", REQUESTS)
def test_a_request_becomes_an_ordinary_call_and_its_answer_a_stream_that_the_real_client_reads(
    dialect: Dialect,
) -> None:
    answer, noted = ask(dialect, REQUESTS[dialect])
    assert [entry[0] for entry in noted] == ["asked", "sent", "answered"]
    assert noted[0][1:] == (["Be brief.", "Run both."], ["run"])
    # What an agent sets about sampling is dropped: the student's own settings hold.
    config = noted[1][3]
    assert (config.temperature, config.max_tokens) == (None, None)
    text, calls, used = READERS[dialect](answer)
    assert (calls, used) == (CALLS, 7)
    assert text.endswith("Both:")


def test_what_cannot_be_read_is_refused_before_a_model_is_asked() -> None:
    with pytest.raises(RequestRefused):
        ask("responses", {"model": "inspect", "input": 7})
    with pytest.raises(RequestRefused):
        ask("completions", {"model": "inspect", "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]})  # fmt: skip
    assert json.loads(failure("messages", "no"))["type"] == "error"
    assert json.loads(failure("responses", "no"))["error"]["message"] == "no"


@pytest.mark.filterwarnings("ignore:The .initial. parameter is deprecated")
def test_a_function_may_leave_out_its_parameters() -> None:
    tools = [{"type": "function", "function": {"name": "get_goal", "description": "Tells the goal."}}]
    request = {"model": "inspect", "messages": [{"role": "user", "content": "Go on."}], "tools": tools}
    _, noted = ask("completions", request)
    assert [one[2] for one in noted if one[0] == "sent"] == [["get_goal"]]
