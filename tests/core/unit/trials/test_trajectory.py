"""The trajectory of an answer: every tool call of a model in its order, within limits."""

from typing import Any

import pytest

from upskill.core.nouns.answer import MOST_CALLS, MOST_CHARACTERS, MOST_TOTAL_CHARACTERS, ToolCall
from upskill.core.trials.trajectory import KNOWN_TOOLS, TOOLS, KnownTool, TrajectoryBuilder

EXEC = {"exec_command": KnownTool(kind="shell", argument="cmd", folder="workdir")}


def made(tool: str, arguments: object, known: Any = KNOWN_TOOLS) -> ToolCall:
    builder = TrajectoryBuilder(known)
    builder.add(turn=1, tool=tool, arguments=arguments)
    return builder.build().calls[0]


@pytest.mark.parametrize(
    ("call", "kind", "arguments", "folder"),
    [
        (made("shell", {"command": "ls -l"}), "shell", "ls -l", ""),
        (made("write_file", {"path": "a", "content": "x" * 99}), "write_file", "a", ""),
        (made("exec_command", {"cmd": "ls", "workdir": "/workspace/a"}, EXEC), "shell", "ls", "/workspace/a"),
        (made("exec_command", {"cmd": ["bash", "-lc", "ls -l"]}, EXEC), "shell", "bash -lc 'ls -l'", ""),
        (made("update_plan", {"a": 1, "b": [{"c": None}]}), None, 'a: 1\nb: [{"c": null}]', ""),
        (made("apply_patch", "*** Begin Patch"), None, "*** Begin Patch", ""),
        (made("shell", {"cmd": "ls"}), "shell", "ls", ""),
        (made("shell", None), "shell", "", ""),
        (made("sh\ud800ll", {"x": "\ud800"}), None, "?", ""),
    ],
)
def test_a_call_is_what_a_person_reads_of_it(call: ToolCall, kind: str | None, arguments: str, folder: str) -> None:
    assert (call.kind, call.arguments, call.folder, call.failed, call.cut) == (kind, arguments, folder, False, False)
    call.tool.encode()


def test_every_tool_of_ours_has_a_kind() -> None:
    assert set(KNOWN_TOOLS) == {tool.name for tool in TOOLS}
    assert all(KNOWN_TOOLS[tool.name].argument == tool.parameters[0][0] for tool in TOOLS)


def test_long_arguments_are_cut_and_too_many_calls_are_counted() -> None:
    builder = TrajectoryBuilder(KNOWN_TOOLS)
    for _ in range(MOST_CALLS + 5):
        number = builder.add(turn=1, tool="t" * 500, arguments="x" * (MOST_CHARACTERS + 1))
        builder.mark_failed(number)
    kept = builder.build()
    assert (len(kept.calls), kept.left_out) == (MOST_CALLS, 5)
    assert sum(len(call.arguments) for call in kept.calls) == MOST_TOTAL_CHARACTERS
    assert all(call.cut and call.failed and len(call.tool) == 80 for call in kept.calls)
