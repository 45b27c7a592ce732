"""A recording in which planted secrets stand wherever a person, an agent and its tools could leave them."""

import json
from collections.abc import Sequence
from typing import Any

from secret_corpus.made_up import Planted


def chat_with(group: Sequence[Planted]) -> str:
    """A chat with tools, each secret in a command, in its output and in the agent's words; one message per line."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Begin with\n{group[0].text}"}]
    for number, planted in enumerate(group):
        function = {"name": "bash", "arguments": json.dumps({"command": f"make t{number} # \n{planted.text}"})}
        calls = [{"id": f"c{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": planted.text, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"error: x\n{planted.text}"})
    return "".join(json.dumps(message) + "\n" for message in messages)
