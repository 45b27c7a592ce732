"""Students with tools for tests: scripts by turn, and a provider whose model calls tools."""

import json
from typing import Any

from provider import Behaviour, ReceivedRequest


def call(tool: str, **arguments: str) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def shell(command: str) -> dict[str, Any]:
    return call("shell", command=command)


def turns(*replies: Any) -> list[dict[str, Any]]:
    """Rules that give these replies one after the other."""
    return [{"turn": n, "replies": [reply]} for n, reply in enumerate(replies, 1)]


def tool_call(asked: ReceivedRequest, name: str, **arguments: str) -> Behaviour:
    """What a server answers when its model calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"t{asked.number}", "type": "function", "function": function}],
    }
    return Behaviour(body={"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})


def is_first(asked: ReceivedRequest) -> bool:
    """Whether nothing was said in this trial before."""
    return len(asked.body["messages"]) == 2
