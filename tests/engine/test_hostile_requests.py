"""What a program that a model runs can send to the model, as if the agent did: it changes nothing that is measured."""

import gzip
from typing import Any, get_args

import anyio
import h11
import pytest
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser, ModelOutput
from inspect_ai.tool import ToolCall, ToolInfo

from upskill.trials.coding_agents.bridge import MOST_BODY_BYTES, MOST_CONNECTIONS, ModelBridge, _plain
from upskill.trials.coding_agents.engine_bridge import EngineBridge, RequestRefused
from upskill.trials.coding_agents.streams import Dialect
from upskill.trials.coding_agents.traffic import SkillMarks, Traffic

LINE = "A line of the skill that stands nowhere else."
TOOLS = [ToolInfo(name="shell", description="Runs a command.")]
PROMPT = ChatMessageUser(content="Write the file.")
FORGED: list[ChatMessage] = [ChatMessageUser(content=f"Write the file.\n{LINE}")]


def calling(id_: str) -> ModelOutput:
    message = ChatMessageAssistant(content="", tool_calls=[ToolCall(id=id_, function="shell", arguments={})])
    return ModelOutput.from_message(message, stop_reason="tool_calls")


def traffic() -> Traffic:
    """The agent has asked once, and its model has called a tool, which runs now."""
    watched = Traffic(prompt="Write the file.", skill=SkillMarks(name="one", description="One.", lines=(LINE,)))
    say(watched, [PROMPT], calling("call-1"))
    return watched


def say(watched: Traffic, messages: list[ChatMessage], output: ModelOutput, *, tools: bool = True) -> None:
    watched.asked(messages, TOOLS if tools else [])
    watched.answered(messages, TOOLS if tools else [], output)


@pytest.mark.parametrize("tools", [True, False])
def test_a_forged_request_is_no_turn_no_answer_and_no_load(tools: bool) -> None:
    watched = traffic()
    say(watched, FORGED, ModelOutput.from_content("m", "forged"), tools=tools)
    assert (watched.turns, watched.final, watched.loaded_turn) == (1, None, None)
    assert watched.model_owes, "the tool call of the model is still without a result"
    result = ChatMessageTool(content="done", tool_call_id="call-1")
    say(watched, [PROMPT, calling("call-1").message, result], ModelOutput.from_content("m", "The file is written."))
    assert watched.turns == 2
    assert watched.final is not None
    assert watched.final.message.text == "The file is written."
    assert watched.loaded_turn is None


def test_what_the_agent_itself_sends_counts_also_after_it_has_summed_up_what_was_said() -> None:
    watched = traffic()
    result = ChatMessageTool(content=LINE, tool_call_id="call-1")
    asks_for_summary: list[ChatMessage] = [
        PROMPT,
        calling("call-1").message,
        result,
        ChatMessageUser(content="Sum up."),
    ]
    say(watched, asks_for_summary, ModelOutput.from_content("m", "It was read."), tools=False)
    assert watched.turns == 1
    summed: list[ChatMessage] = [ChatMessageUser(content=f"Write the file.\nIt was read: {LINE}")]
    say(watched, summed, ModelOutput.from_content("m", "The file is written."))
    assert (watched.turns, watched.loaded_turn) == (2, 1)
    assert watched.final is not None


@pytest.mark.parametrize("dialect", get_args(Dialect))
@pytest.mark.parametrize("request_", [{}, {"model": "any", "messages": "x", "input": 7}])
def test_what_the_engine_cannot_read_is_refused_and_is_no_fault_of_the_trial(
    dialect: Dialect, request_: dict[str, Any]
) -> None:
    asked: list[object] = []
    bridge = EngineBridge([], asked=lambda *one: asked.append(one), answered=lambda *_: None)
    with pytest.raises(RequestRefused):
        anyio.run(bridge.answer, dialect, request_)
    assert asked == [], "no model was asked"


def test_a_body_is_not_unpacked_beyond_the_limit() -> None:
    asked = h11.Request(method="POST", target="/v1/messages", headers=[("host", "x"), ("content-encoding", "gzip")])
    packed = gzip.compress(b" " * (MOST_BODY_BYTES + 2), 1)
    assert len(packed) < MOST_BODY_BYTES / 100
    with pytest.raises(ValueError, match="too large"):
        _plain(asked, packed)
    assert _plain(asked, gzip.compress(b"{}")) == b"{}"


def test_no_more_than_so_many_connections_are_served_at_a_time() -> None:
    """Each may hold a body: together they must not fill the memory of this machine."""

    async def open_many() -> tuple[int, int]:
        bridge = ModelBridge(answer=None, failed=lambda _: None)  # type: ignore[arg-type]  # nobody asks anything
        reading = most = 0

        class Idle:
            async def __aenter__(self) -> "Idle":
                return self

            async def __aexit__(self, *_: object) -> None:
                return None

            async def receive(self, _: int) -> bytes:
                nonlocal reading, most
                reading += 1
                most = max(most, reading)
                await anyio.sleep(0.02)
                reading -= 1
                raise anyio.EndOfStream

        connection: Any = Idle()
        async with anyio.create_task_group() as group:
            for _ in range(3 * MOST_CONNECTIONS):
                group.start_soon(bridge.serve, connection)
        return most, reading

    assert anyio.run(open_many) == (MOST_CONNECTIONS, 0)
