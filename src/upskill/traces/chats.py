"""Chats: messages in their order, and each output beside the call that it answers.

Read are lists of messages, request bodies, one message or one chat per line, and exchanges of the Responses API. The
blocks of Anthropic's messages are read too, wherever they stand in for plain text.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from upskill.traces.recording import (
    LOOKED_AT,
    Reader,
    Record,
    Recording,
    any_record,
    as_json,
    at,
    first_string,
    flag,
    items,
    mapping,
    objects,
    parsed,
    string,
    texts,
)
from upskill.traces.steps import LONGEST_ID, Draft, Drafts
from upskill.traces.trace import Subtrace, Trace


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolUse:
    """One use of a tool as recorded, not cleaned yet. An empty id is one that the recording does not give."""

    id: str = ""
    name: str
    arguments: Any


class Conversation(Drafts):
    """Drafts that find the call of each output. Many recordings give no id to a call, and some give all the same."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self._ids: set[str] = set()
        self._waiting: dict[tuple[str, str], OrderedDict[str, tuple[str, str]]] = defaultdict(OrderedDict)
        """Calls without an output, oldest first: all of them, those of an id, those of a name."""
        self._recorded_ids: set[str] = set()
        self._orphans = 0

    def say(self, draft: Draft, text: str) -> None:
        super().say(draft, text.strip())

    def think(self, draft: Draft, text: str) -> None:
        super().think(draft, text.strip())

    def agent(
        self, text: str = "", *, reasoning: str = "", calls: Iterable[ToolUse] = (), joined: bool = False
    ) -> Draft:
        """A message of the model. `joined` adds it to the message before, if that one is the model's too."""
        follows = joined and self.steps and self.steps[-1].source == "agent"
        draft = self.steps[-1] if follows else self.begin("agent")
        self.say(draft, text)
        self.think(draft, reasoning)
        for call in calls:
            own = self._own_id(call)
            self.call(draft, own, call.name or "unnamed", _unpacked(call.arguments))
            for queue in _queues(call.id, call.name):
                self._waiting[queue][own] = (call.id, call.name)
        return draft

    def output(
        self,
        content: str,
        *,
        call_id: str = "",
        name: str = "",
        failed: bool | None = None,
    ) -> None:
        """What a call brought: of the id given; else the oldest call that waits, of the name given if there is one."""
        waiting = self._waiting.get(("id", call_id) if call_id else ("name", name))
        if not waiting:
            # A second output of one call is a repetition; one of no call at all was cut off from it.
            self._orphans += not call_id or call_id not in self._recorded_ids
            return
        own, recorded = next(iter(waiting.items()))
        for queue in _queues(*recorded):
            self._waiting[queue].pop(own, None)
        self.observe(own, content, failed=failed)

    def no_call(self, call_id: str) -> None:
        """A call that only ends the work: neither it nor its output is kept."""
        self._recorded_ids.add(call_id)

    def waits(self, *, call_id: str = "", name: str = "") -> bool:
        """Whether a call of that id, else of that tool, has no output yet."""
        return bool(self._waiting.get(("id", call_id) if call_id else ("name", name)))

    def trace(
        self,
        recorder: str,
        *,
        model: str = "",
        folder: str = "",
        success: bool | None = None,
        subtraces: tuple[Subtrace, ...] = (),
    ) -> Trace:
        trace = super().trace(recorder, model=model, folder=folder, success=success, subtraces=subtraces)
        if self._orphans and trace.steps:
            outputs = "an output belongs" if self._orphans == 1 else f"{self._orphans:,} outputs belong"
            self.recording.note(f"{outputs} to no call, skipped")
        return trace

    def _own_id(self, call: ToolUse) -> str:
        """The id as recorded, with a number behind it where it was used before."""
        self._recorded_ids.add(call.id)
        recorded = self.recording.clean(call.id)[: LONGEST_ID - 20]
        number = len(self._ids) + 1
        own = recorded or f"call-{number}"
        while own in self._ids:
            own = f"{recorded or 'call'}#{number}"
            number += 1
        self._ids.add(own)
        return own


def _unpacked(arguments: Any) -> Any:
    """Arguments are an object, or that object as JSON in a string."""
    if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
        value = parsed(arguments)
        return value if isinstance(value, dict) else arguments
    return "" if arguments is None else arguments


def _queues(call_id: str, name: str) -> set[tuple[str, str]]:
    return {("name", ""), ("id", call_id), ("name", name)}


RECORDER = "chat"
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


def add_message(conversation: Conversation, message: dict[str, Any]) -> None:
    """Add one message, with the calls and outputs in it."""
    conversation.recording.dated(message)
    role, content = message.get("role"), message.get("content")
    if role in HARNESS_ROLES:
        conversation.harness(visible(content))
    elif role in PERSON_ROLES:
        _add_outputs(conversation, content)
        conversation.person(visible(content))
    elif role in AGENT_ROLES:
        calls = [*_calls(message), *_call_blocks(content)]
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


def _add_outputs(conversation: Conversation, content: Any) -> None:
    """The outputs that Anthropic's messages carry under the role of the user."""
    for block in objects(content):
        if block.get("type") == "tool_result":
            conversation.output(
                output_text(block.get("content")),
                call_id=string(block.get("tool_use_id")),
                failed=flag(block.get("is_error")),
            )


def _call_blocks(content: Any) -> Iterator[ToolUse]:
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


def _is_message(record: Record) -> bool:
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
    in_list=any_record(_is_message),
    in_lines=any_record(_is_line),
)


RESPONSES = "openai-responses"
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "mcp_call", "computer_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "computer_call_output")

TOLD_BY = ("function_call", "function_call_output")
PARTS = (*TOLD_BY, "message", "reasoning")


def read_responses(recording: Recording) -> Iterator[Trace]:
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
    yield conversation.trace(RESPONSES, model=string(body.get("model")))


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


RESPONSES_READER = Reader(name=RESPONSES, title="OpenAI Responses", read=read_responses, in_document=_is_exchange)
