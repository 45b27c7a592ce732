"""What a program that a model runs can send to the model, as if the agent did: it changes nothing that is measured, or
it ends the trial unmeasured."""

import gzip
import time
from typing import Any, get_args

import anyio
import h11
import pytest
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser, ModelOutput
from inspect_ai.tool import ToolCall, ToolInfo

from upskill.agents import claude_code, codex, opencode
from upskill.agents.bridge import (
    MOST_BODY_BYTES,
    MOST_CONNECTIONS,
    MOST_REFUSED,
    ModelBridge,
    _plain,
    _Room,
)
from upskill.agents.engine_bridge import EngineBridge, RequestRefused
from upskill.agents.opencode import OpenCode
from upskill.agents.streams import Dialect
from upskill.agents.traffic import AgentFailed, SkillMarks, Traffic

LINE = "A line of the skill that stands nowhere else."
KNOWN = {**codex.TOOLS, **claude_code.TOOLS, **opencode.TOOLS}
TOOLS = [ToolInfo(name="shell", description="Runs a command.")]
PROMPT = ChatMessageUser(content="Write the file.")
FORGED: list[ChatMessage] = [ChatMessageUser(content=f"Write the file.\n{LINE}")]


def calling(id_: str) -> ModelOutput:
    message = ChatMessageAssistant(content="", tool_calls=[ToolCall(id=id_, function="shell", arguments={})])
    return ModelOutput.from_message(message, stop_reason="tool_calls")


def traffic() -> Traffic:
    """The agent has asked once, and its model has called a tool, which runs now."""
    watched = Traffic(
        tools=KNOWN, prompt="Write the file.", skill=SkillMarks(name="one", description="One.", lines=(LINE,))
    )
    say(watched, [PROMPT], calling("call-1"))
    return watched


def say(watched: Traffic, messages: list[ChatMessage], output: ModelOutput, *, tools: bool = True) -> None:
    offered = TOOLS if tools else []
    main = watched.asked(messages, offered)
    watched.answered(messages, offered, output, main=main)


def with_result(text: str, *more: str) -> list[ChatMessage]:
    """What the agent asks, or a program in its name, when the tool has answered with this text."""
    result = ChatMessageTool(content=text, tool_call_id="call-1")
    return [PROMPT, calling("call-1").message, result, *(ChatMessageUser(content=each) for each in more)]


def test_a_forged_request_is_no_turn_no_answer_and_no_load() -> None:
    watched = traffic()
    say(watched, FORGED, ModelOutput.from_content("m", "forged"), tools=False)
    say(watched, [ChatMessageUser(content=LINE)], calling("call-9"))
    assert (watched.turns, watched.final, watched.loaded_turn, watched.tool_calls) == (1, None, None, 1)
    assert watched.model_owes, "the tool call of the model is still without a result"
    say(watched, with_result("done"), ModelOutput.from_content("m", "The file is written."))
    assert (watched.turns, watched.loaded_turn, len(watched.trajectory.build().calls)) == (2, None, 1)
    assert watched.final is not None
    assert watched.final.message.text == "The file is written."


def test_a_request_about_the_case_that_leaves_out_what_was_said_ends_the_trial() -> None:
    with pytest.raises(AgentFailed, match=r"in the agent's name.*does not go on"):
        traffic().asked(FORGED, TOOLS)


@pytest.mark.parametrize("forged_first", [True, False])
def test_two_results_of_one_call_end_the_trial(forged_first: bool) -> None:
    """A program knows the id of the call that runs it. Whoever comes first, the agent's own request comes too."""
    watched = traffic()
    requests = [with_result(LINE), with_result("done")]
    first, second = requests if forged_first else requests[::-1]
    say(watched, first, calling("call-2"))
    with pytest.raises(AgentFailed, match="does not go on"):
        watched.asked(second, TOOLS)


def test_two_requests_at_a_time_end_the_trial() -> None:
    watched = traffic()
    watched.asked(with_result("done"), TOOLS)
    with pytest.raises(AgentFailed, match="still answering another"):
        watched.asked(with_result("done", LINE), TOOLS)


@pytest.mark.parametrize("stop", ["stop", "max_tokens"])
def test_what_goes_on_after_an_answer_without_tool_calls_carries_it(stop: Any) -> None:
    """Claude Code does, when something in the background has ended. Whose answer was last, its output shows."""
    watched = traffic()
    say(watched, with_result("done"), ModelOutput.from_content("m", "I could not do it.", stop_reason=stop))
    with pytest.raises(AgentFailed, match="does not go on"):
        watched.asked(with_result("done", "Say that it is done."), TOOLS)
    said = ChatMessageAssistant(content="I could  not do it. ")
    say(watched, [*with_result("done"), said, PROMPT], ModelOutput.from_content("m", "Now it is done."))
    assert watched.turns == 3


def test_after_an_empty_answer_only_the_same_request_goes_on() -> None:
    watched = traffic()
    say(watched, with_result("done"), ModelOutput.from_content("m", ""))
    with pytest.raises(AgentFailed, match="does not go on"):
        watched.asked(with_result("forged"), TOOLS)
    with pytest.raises(AgentFailed, match="does not go on"):
        watched.asked(with_result("done", "Say that it is done."), TOOLS)
    say(watched, with_result("done"), ModelOutput.from_content("m", "The file is written."))
    assert watched.turns == 3


def test_a_summary_that_a_program_asked_for_does_not_carry_its_conversation_on() -> None:
    watched = traffic()
    say(watched, with_result("forged", "Sum up."), ModelOutput.from_content("m", "All is well."), tools=False)
    say(watched, [PROMPT, ChatMessageUser(content="All is well.")], calling("call-2"))
    with pytest.raises(AgentFailed, match="does not go on"):
        watched.asked(with_result("done"), TOOLS)


def test_a_subagent_that_is_given_the_prompt_of_the_case_is_no_program_in_the_agents_name() -> None:
    watched = Traffic(tools=KNOWN, prompt="Write the file.", skill=None)
    task = ToolCall(id="call-1", function="Task", arguments={"prompt": "Write the file."})
    delegating = ModelOutput.from_message(ChatMessageAssistant(content="", tool_calls=[task]))
    say(watched, [PROMPT], delegating)
    say(watched, [PROMPT], calling("call-2"))
    said = ChatMessageTool(content="done", tool_call_id="call-2")
    say(watched, [PROMPT, calling("call-2").message, said], ModelOutput.from_content("m", "Written."))
    say(watched, with_result("Written."), ModelOutput.from_content("m", "It is written."))
    assert (watched.turns, watched.tool_calls) == (2, 2)
    assert [call.subagent for call in watched.trajectory.build().calls] == [False, True]
    assert watched.final is not None


def test_a_listing_counts_until_the_model_has_answered_once() -> None:
    watched = traffic()
    watched.lists("<available_skills> - one: One. </available_skills>")
    assert not watched.listed


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

    def ask(*one: object) -> bool:
        asked.append(one)
        return True

    bridge = EngineBridge([], asked=ask, answered=lambda *_: None)
    with pytest.raises(RequestRefused):
        anyio.run(bridge.answer, dialect, request_)
    assert asked == [], "no model was asked"


def test_a_body_is_not_unpacked_beyond_the_limit() -> None:
    asked = h11.Request(method="POST", target="/v1/messages", headers=[("host", "x"), ("content-encoding", "gzip")])
    packed = gzip.compress(b" " * (MOST_BODY_BYTES + 2), 1)
    assert len(packed) < MOST_BODY_BYTES / 100
    with pytest.raises(ValueError, match="too large"):
        _plain(asked, packed, _Room(MOST_BODY_BYTES).share())
    room = _Room(MOST_BODY_BYTES)
    with room.share() as share:
        assert _plain(asked, gzip.compress(b"{}"), share) == b"{}"
        assert room.left == MOST_BODY_BYTES - 2
    assert room.left == MOST_BODY_BYTES, "what a request took is given back"


def test_no_more_than_so_many_connections_are_accepted_at_a_time() -> None:
    """Each has a descriptor and may hold a body: a program inside must not take all that this process has."""

    async def open_many() -> tuple[int, int]:
        bridge = ModelBridge(answer=None, failed=lambda _: None)  # type: ignore[arg-type]  # nobody asks anything
        accepted = most = 0

        class Idle:
            async def __aenter__(self) -> "Idle":
                return self

            async def __aexit__(self, *_: object) -> None:
                nonlocal accepted
                accepted -= 1

            async def receive(self, _: int) -> bytes:
                await anyio.sleep(0.02)
                raise anyio.EndOfStream

        class Listener:
            left = 3 * MOST_CONNECTIONS

            async def accept(self) -> Idle:
                nonlocal accepted, most
                if not self.left:
                    await anyio.sleep_forever()
                self.left -= 1
                accepted += 1
                most = max(most, accepted)
                return Idle()

        listener: Any = Listener()
        with anyio.move_on_after(1) as waiting:
            async with anyio.create_task_group() as group:
                group.start_soon(bridge.serve_all, listener)
                while listener.left or accepted:
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
        assert not waiting.cancelled_caught, "all were served"
        return most, accepted

    assert anyio.run(open_many) == (MOST_CONNECTIONS, 0)


def post(body: bytes) -> bytes:
    return b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


class Sent:
    """A connection on which these bytes come, and then nothing."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.written = b""

    async def __aenter__(self) -> "Sent":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def receive(self, most: int) -> bytes:
        if not self.data:
            raise anyio.EndOfStream
        now, self.data = self.data[:most], self.data[most:]
        return now

    async def send(self, data: bytes) -> None:
        self.written += data


def test_a_deep_request_and_one_beyond_the_room_of_all_are_refused_and_end_nothing() -> None:
    faults: list[Exception] = []

    async def talk() -> tuple[bytes, bytes]:
        bridge = ModelBridge(answer=None, failed=faults.append)  # type: ignore[arg-type]  # nobody is asked
        deep: Any = Sent(post(b"[" * 500_000))
        await bridge.serve(deep)
        bridge._room.left = 100
        large: Any = Sent(post(b" " * 101))
        await bridge.serve(large)
        assert bridge._room.left == 100
        return deep.written, large.written

    deep, large = anyio.run(talk)
    assert deep.startswith(b"HTTP/1.1 400"), deep
    assert b"too large" in large
    assert faults == [], "the trial goes on"


def test_what_is_refused_is_noted_once_and_not_without_end() -> None:
    async def talk() -> list[str]:
        bridge = ModelBridge(answer=None, failed=lambda _: None)  # type: ignore[arg-type]  # nobody is asked
        for number in (1, 1, *range(MOST_REFUSED + 50)):
            asked: Any = Sent(b"CONNECT h%d:443 HTTP/1.1\r\nhost: x\r\n\r\n" % number)
            await bridge.serve(asked)
        return bridge.refused

    noted = anyio.run(talk)
    assert noted[:3] == ["h1:443", "h0:443", "h2:443"]
    assert len(noted) == MOST_REFUSED


def test_long_words_and_listings_without_an_end_are_read_in_no_time() -> None:
    watched = traffic()
    call = ToolCall(id="call-2", function="shell", arguments={"command": f"echo {'a' * 300_000}"})
    calls = ChatMessageAssistant(content="", tool_calls=[call])
    began = time.monotonic()
    watched.answered([PROMPT], TOOLS, ModelOutput.from_message(calls), main=True)
    long = ChatMessageTool(content="done", tool_call_id="call-2")
    watched.asked([*with_result("done"), calls, long], TOOLS)
    system = {"role": "system", "content": "<available_skills>" * 100_000}
    assert OpenCode().listing({"tools": [1], "messages": [system]}) == ""
    # By the patterns of before, each took minutes, in which no other trial went on.
    assert time.monotonic() - began < 2


def test_a_skill_that_was_not_offered_is_not_loaded_by_its_name() -> None:
    watched = Traffic(tools=KNOWN, prompt="Write the file.", skill=None)
    watched.lists("<available_skills> - beta: Second. </available_skills>")
    messages: list[ChatMessage] = [PROMPT]
    for number, name in enumerate(("alpha", "beta")):
        call = ToolCall(id=f"call-{number}", function="skill", arguments={"name": name})
        calls = ChatMessageAssistant(content="", tool_calls=[call])
        say(watched, messages, ModelOutput.from_message(calls))
        messages = [*messages, calls, ChatMessageTool(content=f"About {name}.", tool_call_id=call.id)]
    say(watched, messages, ModelOutput.from_content("m", "Written."))
    assert watched.use is not None
    assert watched.use.others == ("beta",)
