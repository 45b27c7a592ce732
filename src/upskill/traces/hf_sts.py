"""Session traces as the Hugging Face Hub shows them: a session line, then one message per line."""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.chat_messages import HARNESS_ROLES, function_call, reasoning_of, visible
from upskill.traces.conversation import Conversation
from upskill.traces.fields import items, mapping, string
from upskill.traces.source import Reader, Record, Recording

RECORDER = "hf-sts"


def read(recording: Recording) -> Iterator[Trace]:
    """One trace per session line."""
    conversation, model = Conversation(recording), ""
    for _, record in recording.records():
        if record.get("type") == "session":
            yield from _trace(conversation, model)
            conversation, model = Conversation(recording), ""
        elif record.get("type") == "message":
            message = mapping(record.get("message"))
            _tell(conversation, message)
            model = string(message.get("model")) or model
    yield from _trace(conversation, model)


def _trace(conversation: Conversation, model: str) -> Iterator[Trace]:
    if not conversation.empty:
        yield conversation.trace(RECORDER, model=model)


def _tell(conversation: Conversation, message: dict[str, Any]) -> None:
    role, text = message.get("role"), visible(message.get("content"))
    if role == "user":
        conversation.person(text)
    elif role in HARNESS_ROLES:
        conversation.harness(text)
    elif role == "assistant":
        calls = [function_call(call) for call in items(message.get("toolCalls"))]
        conversation.agent(text, reasoning=reasoning_of(message), calls=calls)
    elif role == "tool":
        conversation.output(text, call_id=string(message.get("toolCallId")))


def _is_session(record: Record) -> bool:
    return record.get("type") == "session" and "harness" in record


READER = Reader(
    name=RECORDER,
    title="Hugging Face session trace",
    read=read,
    in_lines=lambda records: any(map(_is_session, records)),
)
