"""ShareGPT rows: one conversation each, with thoughts, calls and outputs marked by tags in the text."""

from collections.abc import Iterator, Sequence
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.conversation import Conversation, ToolUse, split_tags
from upskill.traces.fields import items, mapping, objects, parsed, string
from upskill.traces.recording import Reader, Record, Recording

RECORDER = "sharegpt"
PERSON = ("human", "user")
MODEL = ("gpt", "assistant", "chatgpt", "model", "bot")
OUTPUT = ("tool", "function", "observation", "function_response", "tool_response")
CALL = ("function_call", "tool_call")


def read(recording: Recording) -> Iterator[Trace]:
    """One trace per row: of a list, or one per line."""
    for row in recording.objects():
        conversation = Conversation(recording)
        for message in objects(row.get("conversations")):
            _add(conversation, message)
        yield conversation.trace(RECORDER, model=string(row.get("model")))


def _add(conversation: Conversation, message: dict[str, Any]) -> None:
    speaker, value = message.get("from"), string(message.get("value"))
    if speaker in PERSON:
        conversation.person(value)
    elif speaker in MODEL:
        thoughts = split_tags(value, "think", open_end=True)
        used = split_tags(thoughts.rest, "tool_call", open_end=True)
        reasoning = "\n".join(thought for _, thought in thoughts.pieces)
        conversation.agent(used.rest, reasoning=reasoning, calls=[_call(call) for _, call in used.pieces])
    elif speaker in CALL:
        conversation.agent(calls=[_call(value)])
    elif speaker in OUTPUT:
        outputs = split_tags(value, "tool_response", open_end=True).pieces
        for _, output in outputs or [("", value)]:
            conversation.output(output.strip())
    elif speaker == "system":
        conversation.harness(value)


def _call(text: str) -> ToolUse:
    call = mapping(parsed(text))
    if not call:
        return ToolUse(name="", arguments=text.strip())
    return ToolUse(name=string(call.get("name")), arguments=call.get("arguments"))


def _is_row(record: Record) -> bool:
    return "from" in mapping((items(record.get("conversations")) or [None])[0])


def _are_lines(records: Sequence[Record]) -> bool:
    # Lines that hold `messages` are chats, whatever else they hold.
    return any(map(_is_row, records)) and not any(isinstance(record.get("messages"), list) for record in records)


READER = Reader(
    name=RECORDER,
    title="ShareGPT",
    read=read,
    in_list=lambda parts, _: any("conversations" in part for part in parts),
    in_lines=_are_lines,
)
