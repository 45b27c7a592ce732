"""How large a request and its answer are: in tokens as the provider counted them, or else in bytes."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ModelOutput
    from inspect_ai.tool import ToolInfo

MOST_TOKENS = 10**9
"""More tokens than any answer has: whoever reports so many has reported nothing."""


def reported_tokens(output: "ModelOutput") -> tuple[int, int] | None:
    """Tokens in and out as the provider counted them; `None` where it did not, or not in earnest."""
    usage = output.usage
    if usage is None:
        return None
    sent = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    written = usage.output_tokens
    return (sent, written) if sent >= 0 and written >= 0 and 0 < sent + written <= MOST_TOKENS else None


def bytes_of_input(messages: "list[ChatMessage]", tools: "list[ToolInfo]") -> int:
    """Bytes of UTF-8 that a model is given to read; pictures and the like are not in it."""
    texts = [message.text for message in messages]
    calls = [call for message in messages for call in getattr(message, "tool_calls", None) or ()]
    texts += [json.dumps(call.arguments, default=str) for call in calls]
    return sum(map(_size, texts)) + sum(len(tool.model_dump_json()) for tool in tools)


def bytes_of_output(output: "ModelOutput") -> int:
    """Bytes of UTF-8 that a model wrote, its thinking and its tool calls included."""
    size = 0
    for choice in output.choices:
        content = choice.message.content
        size += _size(choice.message.text)
        if not isinstance(content, str):
            size += sum(_size(str(getattr(part, "reasoning", ""))) for part in content)
        size += sum(_size(json.dumps(call.arguments, default=str)) for call in choice.message.tool_calls or ())
    return size


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
