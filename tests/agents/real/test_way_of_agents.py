"""What a real agent did, as checks of the way see it: its own tools under the names of kinds, and what did not work.

Claude Code, because it marks a command that exits with an error as it marks a tool that does not exist. What all agents
record is in test_agents_end_to_end.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.real import zebra
from agents.real.router import SHELLS
from provider import Behaviour, ReceivedRequest
from upskill.evaluation.report import read_report

PROMPT = "Copy the names that are in names.txt, each once, to greeting.txt."
CHECKS: dict[str, Any] = {
    "tools": {"used": "shell", "forbidden": ["web", "subagent"], "order": ["shell", "shell"], "at_most": 3},
    "commands": {"ran": ["cat", "sort -u"], "not_ran": "^pytest"},
    "files_read": {"read": "names.txt", "not_read": "greeting.txt"},
    "turns": 4,
    "tokens": 1_000_000,
}


def act(request: ReceivedRequest) -> Behaviour:
    """A command that exits with an error, a tool that does not exist, a command that does the work, the end."""
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in request.body.get("tools") or ()}
    if not tools:
        return Behaviour(text="A title")
    shell = next(name for name in SHELLS if name in tools)
    command = "cmd" if "cmd" in tools[shell]["properties"] else "command"
    more = {"description": "Works"} if "description" in tools[shell].get("required", ()) else {}
    steps = [
        (shell, {command: "cat names.txt; exit 3", **more}),
        ("pytest", {"path": "names.txt"}),
        (shell, {command: "sort -u names.txt > greeting.txt", **more}),
    ]
    done = sum(message["role"] == "assistant" for message in request.body["messages"])
    if done >= len(steps):
        return Behaviour(text="done")
    name, arguments = steps[done]
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{request.number}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return Behaviour(
        body={"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage}
    )


def test_the_way_of_an_agent_is_checked_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = "claude-code"
    zebra.settle(monkeypatch, tmp_path)
    case = {"id": "names", "input": PROMPT, "expected": CHECKS, "files": {"names.txt": "Ada\nAda\n"}}
    run = zebra.run_once(agent, case, act, tmp_path)
    (one,) = read_report(run).logged()
    assert one.trial.outcome.kind == "scored", one.trial.outcome
    assert one.trial.outcome.passed, one.trial.outcome.grade
    assert one.trial.trajectory is not None
    calls = [(call.kind, call.arguments, call.failed, call.subagent) for call in one.trial.trajectory.calls]
    assert calls == [
        ("shell", "cat names.txt; exit 3", False, False),
        (None, "names.txt", True, False),
        ("shell", "sort -u names.txt > greeting.txt", False, False),
    ]
    assert one.steps is not None
    shown = [step for step in one.steps.first if step.kind == "tool"]
    assert [step.tool for step in shown] == [call.tool for call in one.trial.trajectory.calls]
    assert "Ada" in shown[0].output
