"""Recordings made to take long: each is read in time that grows with its size, or refused."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from upskill.traces.readers import read_traces

MANY = 12_000
LONGEST_SECONDS = 10
"""Processor time. Each takes a second or less; a square of what is in it would take minutes."""

ASK = {"role": "user", "content": "Go on."}


def _call(number: int) -> dict[str, Any]:
    return {"id": f"c{number}", "function": {"name": "ls", "arguments": ""}}


def _one_message_with_many_calls() -> Iterator[Any]:
    yield ASK
    yield {"role": "assistant", "tool_calls": [_call(number) for number in range(MANY)]}
    for number in range(MANY):
        yield {"role": "tool", "tool_call_id": f"c{number}", "content": "x"}


def _one_id_for_all_calls() -> Iterator[Any]:
    yield ASK
    yield {"role": "assistant", "tool_calls": [_call(0)] * MANY}
    for _ in range(MANY):
        yield {"role": "tool", "tool_call_id": "c0", "content": "x"}


def _calls_without_outputs_and_outputs_without_calls() -> Iterator[Any]:
    for number in range(MANY):
        yield {"role": "assistant", "tool_calls": [_call(number)]}
        yield {"role": "function", "name": "rm", "content": "x"}


def _agents_below_agents() -> Iterator[Any]:
    operation = {"gen_ai.operation.name": "invoke_agent"}
    for number in range(MANY):
        yield {"span_id": f"s{number}", "parent_id": f"s{number + 1}", "attributes": operation}
    messages = [{"role": "user", "parts": [{"type": "text", "content": "Go on."}]}]
    said = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages}
    yield {"span_id": "c", "parent_id": f"s{MANY - 1}", "attributes": said}


def _tools_below_a_long_chain() -> Iterator[Any]:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ls"}
    for number in range(MANY):
        yield {"span_id": f"t{number}", "parent_id": "s0", "attributes": tool}
    for number in range(MANY):
        yield {"span_id": f"s{number}", "parent_id": f"s{number + 1}", "attributes": {}}


LINES = {
    "one message with many calls": _one_message_with_many_calls,
    "one id for all calls": _one_id_for_all_calls,
    "nothing fits": _calls_without_outputs_and_outputs_without_calls,
    "agents below agents": _agents_below_agents,
    "tools below a long chain": _tools_below_a_long_chain,
}


@pytest.mark.once
@pytest.mark.parametrize("name", LINES)
def test_many_of_everything_is_read_in_time(name: str, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES[name]())))
    assert _seconds(path) < LONGEST_SECONDS


UNCLOSED = 100_000
TEXTS = {
    "reminders that never close": "<system-reminder>" * UNCLOSED,
    "commands that never close": "<command-name>" * UNCLOSED,
    "notifications that never close": "<task-notification><result>" * UNCLOSED,
    "fences that never close": "```bash\n" * UNCLOSED,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("form", ["claude-code", "chat"])
def test_marks_that_never_close_are_read_in_time(form: str, text: str, tmp_path: Path) -> None:
    messages = [ASK, {"role": "assistant", "content": text}, {"role": "user", "content": text}]
    wrapped = [
        {"type": said["role"], "uuid": str(number), "parentUuid": str(number - 1), "sessionId": "s", "message": said}
        for number, said in enumerate(messages)
    ]
    path = tmp_path / "recording.jsonl"
    path.write_text("\n".join(map(json.dumps, wrapped if form == "claude-code" else messages)))
    assert _seconds(path) < LONGEST_SECONDS


def _seconds(path: Path) -> float:
    started = time.process_time()
    read_traces(path)
    return time.process_time() - started
