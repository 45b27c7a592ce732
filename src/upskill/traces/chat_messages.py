"""Chats as lists of messages: a list, a request body, one message per line, one chat per line, or session traces.

Session traces are what the Hugging Face Hub shows: a session line, then one message per line. The blocks of
Anthropic's messages are read too, wherever they stand in for plain text.
"""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.conversation import Conversation, ToolUse
from upskill.traces.fields import as_json, at, first_string, flag, items, mapping, objects, string, texts
from upskill.traces.recording import Reader, Record, Recording, any_record

RECORDER = "chat"
SESSIONS = "hf-sts"
HARNESS_ROLES = ("system", "developer")
PERSON_ROLES = ("user", "human")
AGENT_ROLES = ("assistant", "ai")
REASONING_KEYS = ("reasoning_content", "reasoning", "reasoningContent")
IMAGE_TYPES = ("image", "image_url", "input_image")


def read(recording: Recording) -> Iterator[Trace]:
    """One trace per object with `messages`; those without are the messages of one chat."""
    conversation = Conversation(recording)
    for record in recording.objects():
        if "messages" in record:
            yield _chat(recording, record.get("messages"), model=record.get("model"))
        else:
            add_message(conversation, record)
    yield conversation.trace(RECORDER)


def _chat(recording: Recording, messages: Any, *, model: Any) -> Trace:
    conversation = Conversation(recording)
    for message in objects(messages):
        add_message(conversation, message)
    return conversation.trace(RECORDER, model=string(model))


def read_sessions(recording: Recording) -> Iterator[Trace]:
    """One trace per session line."""
    conversation, model = Conversation(recording), ""
    for record in recording.objects():
        if record.get("type") == "session":
            yield conversation.trace(SESSIONS, model=model)
            conversation, model = Conversation(recording), ""
        elif record.get("type") == "message":
            message = mapping(record.get("message"))
            add_message(conversation, message)
            model = string(message.get("model")) or model
    yield conversation.trace(SESSIONS, model=model)


def add_message(conversation: Conversation, message: dict[str, Any]) -> None:
    """Add one message, with the calls and outputs in it."""
    role, content = message.get("role"), message.get("content")
    if role in HARNESS_ROLES:
        conversation.harness(visible(content))
    elif role in PERSON_ROLES:
        add_outputs(conversation, content)
        conversation.person(visible(content))
    elif role in AGENT_ROLES:
        calls = [*_calls(message), *call_blocks(content)]
        conversation.agent(visible(content), reasoning=reasoning_of(message), calls=calls)
    elif role in ("tool", "function"):
        call_id = first_string(message, "tool_call_id", "toolCallId")
        conversation.output(output_text(content), call_id=call_id, name="" if call_id else string(message.get("name")))


def visible(content: Any) -> str:
    """The text of a message; an image is named, never carried."""
    blocks = items(content)
    if not blocks:
        return texts(content)
    shown = ["[an image]" if mapping(block).get("type") in IMAGE_TYPES else texts([block]) for block in blocks]
    return "\n".join(filter(None, shown))


def output_text(content: Any) -> str:
    """What a call brought: text where there is some, else the value itself."""
    return visible(content) or (as_json(content) if content else "")


def add_outputs(conversation: Conversation, content: Any) -> None:
    """The outputs that Anthropic's messages carry under the role of the user."""
    for block in objects(content):
        if block.get("type") == "tool_result":
            conversation.output(
                output_text(block.get("content")),
                call_id=string(block.get("tool_use_id")),
                failed=flag(block.get("is_error")),
            )


def call_blocks(content: Any) -> Iterator[ToolUse]:
    """The calls among Anthropic's blocks."""
    for block in objects(content):
        if block.get("type") == "tool_use":
            yield ToolUse(id=string(block.get("id")), name=string(block.get("name")), arguments=block.get("input"))


def reasoning_of(message: dict[str, Any]) -> str:
    """What the model thought before it spoke, under any of its names."""
    beside = [texts(message.get(key)) for key in REASONING_KEYS]
    within = [first_string(block, "thinking", "reasoning") for block in objects(message.get("content"))]
    return "\n".join(filter(None, (*beside, *within)))


def function_call(call: Any) -> ToolUse:
    """One entry of `tool_calls`."""
    function = mapping(at(call, "function"))
    return ToolUse(id=string(at(call, "id")), name=string(function.get("name")), arguments=function.get("arguments"))


def _calls(message: dict[str, Any]) -> Iterator[ToolUse]:
    yield from map(function_call, items(message.get("tool_calls")) or items(message.get("toolCalls")))
    older = mapping(message.get("function_call"))
    if older:
        yield ToolUse(name=string(older.get("name")), arguments=older.get("arguments"))


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
    in_lines=any_record(_is_line),
)
SESSION_READER = Reader(
    name=SESSIONS,
    title="Hugging Face session trace",
    read=read_sessions,
    in_lines=any_record(lambda record: record.get("type") == "session" and "harness" in record),
)
