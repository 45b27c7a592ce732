"""Exchanges of the Responses API: items of input and output, calls and outputs apart from messages."""

from collections.abc import Iterator
from typing import Any

from upskill.domain.trace import Trace
from upskill.traces.chat_messages import HARNESS_ROLES, output_text, visible
from upskill.traces.conversation import Conversation, ToolUse
from upskill.traces.fields import first_string, items, mapping, objects, string, texts
from upskill.traces.recording import LOOKED_AT, Reader, Record, Recording

RECORDER = "openai-responses"
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "mcp_call", "computer_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "computer_call_output")

TOLD_BY = ("function_call", "function_call_output")
PARTS = (*TOLD_BY, "message", "reasoning")


def read(recording: Recording) -> Iterator[Trace]:
    """The input, then the output, as one trace."""
    body = mapping(recording.document())
    conversation = Conversation(recording)
    conversation.harness(string(body.get("instructions")))
    asked = body.get("input")
    conversation.person(string(asked))
    exchange = _Items(conversation)
    for item in (*objects(asked), *objects(body.get("output"))):
        exchange.add(item)
    exchange.end()
    yield conversation.trace(RECORDER, model=string(body.get("model")))


class _Items:
    """Reasoning belongs to what follows it; calls that follow a message directly belong to that message."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._reasoning = ""
        self._after_agent = False

    def add(self, item: dict[str, Any]) -> None:
        kind = item.get("type") or "message"
        if kind == "reasoning":
            self._reasoning = "\n".join(filter(None, (self._reasoning, _reasoning(item))))
        elif kind == "message":
            self._message(item)
        elif kind in CALLS:
            self._agent(calls=[_call(item)], joined=self._after_agent and not self._reasoning)
            if kind == "mcp_call" and (item.get("output") or item.get("error")):
                output = output_text(item.get("output")) or output_text(item.get("error"))
                self._output(item, output, failed=True if item.get("error") else None)
        elif kind in OUTPUTS:
            self._output(item, output_text(item.get("output")))

    def end(self) -> None:
        """Thoughts that nothing followed are kept too."""
        if self._reasoning:
            self._agent()

    def _message(self, item: dict[str, Any]) -> None:
        role, text = item.get("role"), visible(item.get("content"))
        if role == "assistant":
            self._agent(text)
        elif role == "user":
            self._conversation.person(text)
            self._after_agent = False
        elif role in HARNESS_ROLES:
            self._conversation.harness(text)
            self._after_agent = False

    def _agent(self, text: str = "", *, calls: list[ToolUse] | None = None, joined: bool = False) -> None:
        self._conversation.agent(text, reasoning=self._reasoning, calls=calls or (), joined=joined)
        self._reasoning, self._after_agent = "", True

    def _output(self, item: dict[str, Any], text: str, *, failed: bool | None = None) -> None:
        self._conversation.output(text, call_id=first_string(item, "call_id", "id"), failed=failed)
        self._after_agent = False


def _call(item: dict[str, Any]) -> ToolUse:
    name = string(item.get("name")) or string(item.get("type")).removesuffix("_call")
    arguments = next((item[key] for key in ("arguments", "input", "action") if item.get(key)), None)
    return ToolUse(id=first_string(item, "call_id", "id"), name=name, arguments=arguments)


def _reasoning(item: dict[str, Any]) -> str:
    return texts(item.get("summary")) or texts(item.get("content"))


def _is_exchange(top: Record) -> bool:
    found = [mapping(part) for name in ("input", "output") for part in items(top.get(name))[:LOOKED_AT]]
    kinds = {string(part.get("type")) for part in found}
    return not kinds.isdisjoint(TOLD_BY) or (isinstance(top.get("output"), list) and not kinds.isdisjoint(PARTS))


READER = Reader(name=RECORDER, title="OpenAI Responses", read=read, in_document=_is_exchange)
