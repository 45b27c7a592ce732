"""A model that says nothing, as small ones do after a failed tool call: it has failed, and the agent has not."""

import json
from itertools import count
from pathlib import Path

import pytest

from agents.real import zebra
from agents.real.router import SHELLS, shell_arguments
from provider import Behaviour, ReceivedRequest
from upskill.core.nouns import Scored
from upskill.core.trials import schedule
from upskill.evaluation.past_runs import trials_of

PROMPT = "Write the greeting for the person in names.txt into greeting.txt."


@pytest.mark.parametrize(("agent", "empty"), [("qwen-code", 1), *((agent, 100) for agent in zebra.PROGRAMS)])
def test_an_empty_answer_is_scored(agent: str, empty: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = count()

    def act(request: ReceivedRequest) -> Behaviour:
        tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in request.body.get("tools") or ()}
        if not tools:
            return Behaviour(text="A title")
        if any(message["role"] == "tool" for message in request.body["messages"]):
            return Behaviour(text="" if next(said) < empty else "honest")
        shell = next(name for name in SHELLS if name in tools)
        function = {"name": shell, "arguments": json.dumps(shell_arguments(tools[shell], "ls"))}
        call = {"id": "t1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return Behaviour(body={"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})

    zebra.settle(monkeypatch, tmp_path)
    monkeypatch.setattr(schedule, "MOST_TRIES", 1)
    case = {"id": "greet", "input": PROMPT, "expected": {"contains": "honest"}, "files": {"names.txt": "Ada\n"}}
    made = zebra.run_once(agent, case, act, tmp_path)
    (one,) = (each for each in trials_of(made) if each.arm == "offered")
    assert isinstance(one.outcome, Scored), one
    # Qwen Code asks again.
    assert (one.outcome.passed, one.outcome.end) == ((True, "answered") if empty == 1 else (False, "empty"))
