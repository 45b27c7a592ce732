"""Chats as lists of messages: a list, a request body, one message per line, or one chat per line.

The blocks of Anthropic's messages are read too, wherever they stand in for plain text.
"""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.conversation import Conversation, ToolUse
from upskill.traces.fields import as_json, flag, items, mapping, string, texts
from upskill.traces.source import Reader, Record, Recording

RECORDER = "chat"
HARNESS_ROLES = ("system", "developer")
PERSON_ROLES = ("user", "human")
AGENT_ROLES = ("assistant", "ai")
REASONING_KEYS = ("reasoning_content", "reasoning", "reasoningContent")
IMAGE_TYPES = ("image", "image_url", "input_image")


def read(recording: Recording) -> Iterator[Trace]:
    """One trace per chat."""
    if not recording.is_document:
        yield from _read_lines(recording)
    else:
        document = recording.document()
        body = mapping(document)
        yield from _one_chat(recording, items(document) or items(body.get("messages")), model=body.get("model"))


def _read_lines(recording: Recording) -> Iterator[Trace]:
    """A line with `messages` is a chat; lines without are the messages of one."""
    conversation = Conversation(recording)
    for _, record in recording.records():
        if "messages" in record:
            yield from _one_chat(recording, items(record.get("messages")), model=record.get("model"))
        else:
            tell(conversation, record)
    if not conversation.empty:
        yield conversation.trace(RECORDER)


def _one_chat(recording: Recording, messages: list[Any], *, model: Any) -> Iterator[Trace]:
    conversation = Conversation(recording)
    for message in messages:
        tell(conversation, mapping(message))
    if not conversation.empty:
        yield conversation.trace(RECORDER, model=string(model))


def tell(conversation: Conversation, message: dict[str, Any]) -> None:
    """Add one message, with the calls and outputs in it."""
    role, content = message.get("role"), message.get("content")
    if role in HARNESS_ROLES:
        conversation.harness(visible(content))
    elif role in PERSON_ROLES:
        tell_outputs(conversation, content)
        conversation.person(visible(content))
    elif role in AGENT_ROLES:
        calls = [*_calls(message), *call_blocks(content)]
        conversation.agent(visible(content), reasoning=reasoning_of(message), calls=calls)
    elif role in ("tool", "function"):
        conversation.output(
            output_text(content),
            call_id=string(message.get("tool_call_id")),
            name="" if message.get("tool_call_id") else string(message.get("name")),
        )


def visible(content: Any) -> str:
    """The text of a message; an image is named, never carried."""
    blocks = items(content)
    if not blocks:
        return texts(content)
    said = [_visible_block(block) for block in blocks]
    return "\n".join(text for text in said if text)


def output_text(content: Any) -> str:
    """What a call brought: text where there is some, else the value itself."""
    return visible(content) or (as_json(content) if content else "")


def tell_outputs(conversation: Conversation, content: Any) -> None:
    """The outputs that Anthropic's messages carry under the role of the user."""
    for block in items(content):
        block = mapping(block)
        if block.get("type") == "tool_result":
            conversation.output(
                output_text(block.get("content")),
                call_id=string(block.get("tool_use_id")),
                failed=flag(block.get("is_error")),
            )


def call_blocks(content: Any) -> Iterator[ToolUse]:
    """The calls among Anthropic's blocks."""
    for block in items(content):
        block = mapping(block)
        if block.get("type") == "tool_use":
            yield ToolUse(id=string(block.get("id")), name=string(block.get("name")), arguments=block.get("input"))


def reasoning_of(message: dict[str, Any]) -> str:
    """What the model thought before it spoke, under any of its names."""
    beside = [texts(message.get(key)) for key in REASONING_KEYS]
    blocks = [mapping(block) for block in items(message.get("content"))]
    within = [string(block.get("thinking")) or string(block.get("reasoning")) for block in blocks]
    return "\n".join(text for text in (*beside, *within) if text)


def function_call(call: Any) -> ToolUse:
    """One entry of `tool_calls`."""
    function = mapping(mapping(call).get("function"))
    return ToolUse(
        id=string(mapping(call).get("id")),
        name=string(function.get("name")),
        arguments=function.get("arguments"),
    )


def _calls(message: dict[str, Any]) -> Iterator[ToolUse]:
    for call in items(message.get("tool_calls")):
        yield function_call(call)
    older = mapping(message.get("function_call"))
    if older:
        yield ToolUse(name=string(older.get("name")), arguments=older.get("arguments"))


def _visible_block(block: Any) -> str:
    if mapping(block).get("type") in IMAGE_TYPES:
        return "[an image]"
    return texts([block])


def is_message(record: Record) -> bool:
    """Whether a record is one message."""
    return "role" in record and "content" in record


def _is_chat(record: Record) -> bool:
    return isinstance(record.get("messages"), list)


def _is_line(record: Record) -> bool:
    return _is_chat(record) or ("role" in record and "type" not in record)


READER = Reader(
    name=RECORDER,
    title="chat messages",
    read=read,
    in_document=_is_chat,
    in_list=lambda parts, _: any(map(is_message, parts)),
    in_lines=lambda records: any(map(_is_line, records)),
)
