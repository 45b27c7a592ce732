"""Spans of OpenTelemetry and OpenInference: agents, their chats and their tools.

Knows OTLP with its typed values, spans as flat JSON lines, and the three ways in which messages are put into
attributes: as JSON, flattened over many keys, or as events. Every chat span repeats the messages before it, so the last
one of an agent holds its work. The tool spans hold what failed.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from upskill.errors import UsageError
from upskill.traces.chats import Conversation, ToolUse, add_message, function_call, output_text, reasoning_of
from upskill.traces.recording import (
    LARGEST_DOCUMENT,
    MEGABYTE,
    Reader,
    Record,
    Recording,
    at,
    first_string,
    items,
    mapping,
    objects,
    parsed,
    string,
    texts,
    time_in,
)
from upskill.traces.trace import Subtrace, Trace

DEEPEST_VALUE = 20
MOST_PARTS = 10_000
KIND = "openinference.span.kind"
OPERATION = "gen_ai.operation.name"
CHATS = ("chat", "text_completion", "generate_content", "LLM")
AGENTS = ("invoke_agent", "create_agent", "AGENT")
TOOLS = ("execute_tool", "TOOL")

Message = dict[str, Any]
"""A chat message: `role`, `content`, and perhaps `reasoning_content`, `tool_calls`, `tool_call_id`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One span, whoever exported it."""

    id: str
    parent: str
    order: tuple[str, int]
    kind: str
    """What was done: a chat, a tool, an agent; empty for anything else."""
    failed: bool | None
    attributes: dict[str, Any]
    events: list[Any]

    def text(self, *names: str) -> str:
        """The first text under one of these attributes that is not empty."""
        return first_string(self.attributes, *names)

    @property
    def call_id(self) -> str:
        """The id of the call that a tool span answers."""
        return self.text("gen_ai.tool.call.id", "tool_call.id", "tool.id")

    @property
    def tool_name(self) -> str:
        return self.text("gen_ai.tool.name", "tool.name")

    @property
    def result(self) -> str:
        """What a tool span brought."""
        return self.text("gen_ai.tool.call.result", "output.value")


def raw_spans(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The span that a record is, or the spans that an export in OTLP holds."""
    if "resourceSpans" not in record:
        yield record
    for resource in objects(record.get("resourceSpans")):
        for scope in objects(resource.get("scopeSpans")) or objects(resource.get("instrumentationLibrarySpans")):
            yield from objects(scope.get("spans"))


def span_of(raw: dict[str, Any], number: int) -> Span:
    """The span in one shape; `number` is its position in the recording."""
    context = mapping(raw.get("context"))
    attributes = _attributes(raw.get("attributes"))
    start = raw.get("startTimeUnixNano", raw.get("start_time"))
    return Span(
        id=first_string(raw, "spanId", "span_id", "id") or string(context.get("span_id")) or f"span {number}",
        parent=first_string(raw, "parentSpanId", "parent_id", "parent_span_id"),
        order=((start if isinstance(start, str) else str(start or "")[:40]).zfill(40), number),
        kind=string(attributes.get(KIND)) or string(attributes.get(OPERATION)),
        failed=_failed(raw),
        attributes=attributes,
        events=items(raw.get("events")),
    )


def _failed(raw: dict[str, Any]) -> bool | None:
    """The status, spelt in any way. Unset is no mark."""
    status = mapping(raw.get("status"))
    code = raw.get("status_code", status.get("code", status.get("status_code")))
    word = str(code)[-10:].upper()
    if code == 2 or word.endswith("ERROR"):
        return True
    return False if code == 1 or word.endswith("OK") else None


def _attributes(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else _pairs(value, DEEPEST_VALUE)


def _pairs(value: Any, depth: int) -> dict[str, Any]:
    return {string(pair.get("key")): _typed(pair.get("value"), depth) for pair in objects(value)}


def _typed(value: Any, depth: int) -> Any:
    """What a typed value of OTLP holds."""
    typed = mapping(value)
    if depth == 0 or not typed:
        return None
    if "arrayValue" in typed:
        return [_typed(part, depth - 1) for part in items(mapping(typed["arrayValue"]).get("values"))]
    if "kvlistValue" in typed:
        return _pairs(mapping(typed["kvlistValue"]).get("values"), depth - 1)
    return next(iter(typed.values()))


def asked_and_answered(span: Span) -> tuple[list[Message], list[Message]]:
    """The messages that went into a chat span, and those that came out."""
    attributes = span.attributes
    asked = _parted(attributes.get("gen_ai.input.messages"))
    answered = _parted(attributes.get("gen_ai.output.messages"))
    if not asked and not answered:
        asked = _flattened(attributes, "llm.input_messages.") or _flattened(attributes, "gen_ai.prompt.")
        answered = _flattened(attributes, "llm.output_messages.") or _flattened(attributes, "gen_ai.completion.")
    if not asked and not answered:
        asked, answered = _in_events(span.events)
    instructions = _parted([{"role": "system", "parts": _json(attributes.get("gen_ai.system_instructions"))}])
    return [*instructions, *asked], answered


def _json(value: Any) -> Any:
    return parsed(value) if isinstance(value, str) else value


def _parted(value: Any) -> list[Message]:
    """Messages with parts, each split where it holds outputs: those are messages of their own."""
    found: list[Message] = []
    for message in objects(_json(value)):
        if "parts" in message:
            found.extend(_from_parts(message))
        else:
            found.append(message)
    return found


def _from_parts(message: Message) -> Iterator[Message]:
    contents: dict[str, list[str]] = {"text": [], "reasoning": []}
    calls = []
    for part in objects(message.get("parts")):
        kind = string(part.get("type"))
        if kind == "tool_call":
            calls.append({"id": part.get("id"), "function": part})
        elif kind == "tool_call_response":
            response = part.get("response", part.get("result"))
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": output_text(response)}
        elif kind in contents:
            contents[kind].append(string(part.get("content")))
    text, reasoning = ("\n".join(contents[kind]) for kind in ("text", "reasoning"))
    if text or reasoning or calls:
        yield {"role": message.get("role"), "content": text, "reasoning_content": reasoning, "tool_calls": calls}


def _flattened(attributes: dict[str, Any], prefix: str) -> list[Message]:
    found = []
    for part in _tree(attributes, prefix):
        message = mapping(part.get("message")) or part
        calls = []
        for entry in map(mapping, _in_order(message.get("tool_calls"))):
            call = mapping(entry.get("tool_call")) or entry
            calls.append({"id": call.get("id"), "function": mapping(call.get("function")) or call})
        contents = [string(at(each, "message_content", "text")) for each in _in_order(message.get("contents"))]
        content = string(message.get("content")) or "\n".join(filter(None, contents))
        found.append({**message, "content": content, "tool_calls": calls})
    return found


def _tree(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Keys such as `prefix0.message.role`, put back into the shape that they were made of."""
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        *path, last = key[len(prefix) :].split(".")[:DEEPEST_VALUE]
        branch = root
        for name in path:
            below = branch.setdefault(name, {})
            if not isinstance(below, dict):
                break
            branch = below
        else:
            branch[last] = value
    return [mapping(part) for part in _in_order(root)]


def _in_order(value: Any) -> list[Any]:
    """A list, or what a list became when it was flattened: an object with numbers for names."""
    if isinstance(value, list):
        return value
    numbered = [(int(name), part) for name, part in mapping(value).items() if name.isdecimal() and len(name) < 8]
    return [part for _, part in sorted(numbered, key=lambda pair: pair[0])[:MOST_PARTS]]


def _in_events(events: list[Any]) -> tuple[list[Message], list[Message]]:
    asked: list[Message] = []
    answered: list[Message] = []
    for event in objects(events):
        name = string(event.get("name"))
        body = {**_attributes(event.get("attributes")), **mapping(_json(event.get("body")))}
        if name == "gen_ai.choice":
            message = mapping(_json(body.get("message"))) or body
            answered.append({**message, "role": "assistant", "tool_calls": items(_json(message.get("tool_calls")))})
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            role = name.removeprefix("gen_ai.").removesuffix(".message")
            calls = items(_json(body.get("tool_calls")))
            asked.append({**body, "role": role, "tool_calls": calls, "tool_call_id": body.get("id")})
    return asked, answered


MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")

NOBODY = ""
"""Stands for the agent of spans that have none above them."""
DEEPEST = 100
"""Agents below agents; values nested deeper cannot be compared or written without trouble."""

Above = tuple[str | None, str | None]
"""An agent, and the id of the call between it and what lies below."""


@dataclass(slots=True)
class _Work:
    """What belongs to one agent, or to no agent."""

    agent: Span | None = None
    chats: list[Span] = field(default_factory=list)
    tools: list[Span] = field(default_factory=list)
    below: list[Subtrace] = field(default_factory=list)


@dataclass(slots=True)
class _SpanIndex:
    parents: dict[str, str] = field(default_factory=dict)
    kept: dict[str, Span] = field(default_factory=dict)
    last_chat: dict[str, Span] = field(default_factory=dict)
    reasoning: dict[str, str] = field(default_factory=dict)
    model: dict[str, str] = field(default_factory=dict)
    owners: dict[str, Above] = field(default_factory=dict)
    openinference: bool = False


def read(recording: Recording) -> Iterator[Trace]:
    """One trace per agent that no other agent began; the others are below it."""
    index = _index(recording)
    recorder = "openinference" if index.openinference else "otel-genai"
    works = _by_agent(index)
    silent = bool(index.last_chat) and not any(any(asked_and_answered(chat)) for chat in index.last_chat.values())
    if silent:
        recording.note("these spans do not contain the messages: state the task yourself")
    # For each agent the agent that began it, and the call it did so with; neither where a person did.
    begun = {owner: _owner(index.parents.get(owner, ""), index) for owner in works}
    traces: dict[str, Trace] = {}
    for owner, depth in sorted(_depths(begun).items(), key=lambda pair: -pair[1]):
        if depth > DEEPEST:
            recording.note(f"agents more than {DEEPEST} deep, skipped")
            continue
        traces[owner] = _trace(recording, works[owner], index, recorder)
        above, call_id = begun[owner]
        if above is not None and traces[owner].steps:
            kept_id = recording.clean(call_id) if call_id else None
            works[above].below.append(Subtrace(call_id=kept_id, trace=traces[owner]))
    roots = [owner for owner in traces if begun[owner][0] is None]
    for owner in sorted(roots, key=lambda owner: _start(works[owner])):
        if traces[owner].steps:
            yield traces[owner]


def _index(recording: Recording) -> _SpanIndex:
    """Keep what is needed of each span; of the chats below one span, the last."""
    found = _SpanIndex()
    size = 0
    for span in _spans(recording):
        found.parents.setdefault(span.id, span.parent)
        found.openinference = found.openinference or KIND in span.attributes
        if span.kind in CHATS:
            found.reasoning.update(_thoughts(span))
            found.model[span.parent] = span.text(*MODEL) or found.model.get(span.parent, "")
            before = found.last_chat.get(span.parent)
            if before is None or before.order <= span.order:
                size += _length(span) - (_length(before) if before else 0)
                found.last_chat[span.parent] = span
        elif span.kind in AGENTS or span.kind in TOOLS:
            size += _length(span)
            found.kept.setdefault(span.id, span)
        if size > LARGEST_DOCUMENT:
            raise UsageError(
                f"{recording.path}: has spans of more than {LARGEST_DOCUMENT // MEGABYTE} million characters",
                hint="export the spans of one session",
            )
    return found


def _spans(recording: Recording) -> Iterator[Span]:
    raw_records = (raw for record in recording.objects() for raw in raw_spans(record))
    return (span_of(raw, number) for number, raw in enumerate(raw_records))


def _length(span: Span) -> int:
    return 200 + sum(len(value) for value in span.attributes.values() if isinstance(value, str))


def _thoughts(span: Span) -> Iterator[tuple[str, str]]:
    """Reasoning by the first call that followed it: the history that later spans repeat leaves it out."""
    for message in asked_and_answered(span)[1]:
        calls = [function_call(call) for call in items(message.get("tool_calls"))]
        if calls and calls[0].id and (thought := reasoning_of(message)):
            yield calls[0].id, thought


def _by_agent(index: _SpanIndex) -> dict[str, _Work]:
    works: dict[str, _Work] = defaultdict(_Work)
    for span in index.kept.values():
        if span.kind in AGENTS:
            works[span.id].agent = span
        else:
            works[_owner(span.parent, index)[0] or NOBODY].tools.append(span)
    for chat in index.last_chat.values():
        works[_owner(chat.parent, index)[0] or NOBODY].chats.append(chat)
    return dict(works)


def _owner(span_id: str, index: _SpanIndex) -> Above:
    """The nearest agent at or above a span, and the call between them. Climbs every way once, and no circle."""
    path: list[str] = []
    found: Above = (None, None)
    climbing: set[str] = set()
    while span_id and span_id not in climbing:
        if span_id in index.owners:
            found = index.owners[span_id]
            break
        span = index.kept.get(span_id)
        if span is not None and span.kind in AGENTS:
            found = (span_id, None)
            break
        climbing.add(span_id)
        path.append(span_id)
        span_id = index.parents.get(span_id, "")
    for below in reversed(path):
        span = index.kept.get(below)
        if found[1] is None and span is not None:
            found = (found[0], string(span.attributes.get("gen_ai.tool.call.id")) or None)
        index.owners[below] = found
    return found


def _depths(begun: dict[str, Above]) -> dict[str, int]:
    """How many agents are above each. Where they began each other in a circle, it is opened."""
    depths: dict[str, int] = {}
    for owner in begun:
        path: list[str] = []
        climbing: set[str] = set()
        at: str | None = owner
        while at is not None and at not in depths and at not in climbing:
            climbing.add(at)
            path.append(at)
            at = begun[at][0]
        if at in climbing:
            begun[path[-1]] = (None, None)
            at = None
        depth = 0 if at is None else depths[at] + 1
        for above in reversed(path):
            depths[above] = depth
            depth += 1
    return depths


def _start(work: _Work) -> tuple[str, int]:
    spans = [*([work.agent] if work.agent else []), *work.chats, *work.tools]
    return min(span.order for span in spans)


def _seconds(order: tuple[str, int]) -> float | None:
    """When a span began, in seconds since the epoch."""
    start = order[0].lstrip("0")
    return int(start) / 1e9 if start.isdecimal() and len(start) < 22 else time_in({"timestamp": start})


@dataclass(slots=True)
class _ToolSpans:
    """What the tool spans say about outputs, by the id of the call or by the name of the tool."""

    by_id: dict[str, Span] = field(default_factory=dict)
    by_name: dict[str, deque[Span]] = field(default_factory=lambda: defaultdict(deque))

    def take(self, call_id: str, name: str) -> Span | None:
        """The span of a call, once."""
        if call_id in self.by_id:
            return self.by_id.pop(call_id)
        return self.by_name[name].popleft() if self.by_name.get(name) else None

    def rest(self) -> list[Span]:
        """The spans that nothing asked for, in the order of time."""
        left = [*self.by_id.values(), *(span for spans in self.by_name.values() for span in spans)]
        return sorted(left, key=lambda span: span.order)


def _trace(recording: Recording, work: _Work, index: _SpanIndex, recorder: str) -> Trace:
    conversation = Conversation(recording)
    recording.written_at = _seconds(_start(work))
    tool_spans = _tool_spans(work.tools)
    model = last_text = ""
    for chat in sorted(work.chats, key=lambda chat: chat.order):
        asked, answered = asked_and_answered(chat)
        model = index.model.get(chat.parent, "") or model
        names: dict[str, str] = {}
        for message in (*asked, *answered):
            _add(conversation, message, names, tool_spans, index.reasoning)
            last_text = texts(message.get("content")) or last_text
    agent = work.agent
    if agent is not None and not conversation.has_person:
        conversation.person(agent.text("input.value"))
    for span in tool_spans.rest():
        _add_tool(conversation, span)
    if agent is not None and (answer := agent.text("output.value")) and answer.strip() != last_text.strip():
        conversation.agent(answer)
    return conversation.trace(recorder, model=model, subtraces=tuple(work.below))


def _tool_spans(tools: list[Span]) -> _ToolSpans:
    tool_spans = _ToolSpans()
    for span in sorted(tools, key=lambda span: span.order):
        call_id = span.call_id
        if call_id and call_id not in tool_spans.by_id:
            tool_spans.by_id[call_id] = span
        elif not call_id:
            tool_spans.by_name[span.tool_name].append(span)
    return tool_spans


def _add(
    conversation: Conversation,
    message: Message,
    names: dict[str, str],
    tool_spans: _ToolSpans,
    reasoning: dict[str, str],
) -> None:
    if message.get("role") == "tool":
        call_id = string(message.get("tool_call_id"))
        span = tool_spans.take(call_id, names.get(call_id, ""))
        content = texts(message.get("content")) or (span.result if span else "")
        conversation.output(content, call_id=call_id, failed=span.failed if span else None)
        if span is not None:
            conversation.recording.written_at = _seconds(span.order) or conversation.recording.written_at
        return
    calls = [function_call(call) for call in items(message.get("tool_calls"))]
    names.update((call.id, call.name) for call in calls)
    if calls and not reasoning_of(message) and calls[0].id in reasoning:
        message = {**message, "reasoning_content": reasoning[calls[0].id]}
    add_message(conversation, message)


def _add_tool(conversation: Conversation, span: Span) -> None:
    """A tool that ran, but whose output no chat repeats; perhaps not even the call."""
    call_id, name = span.call_id, span.tool_name
    if not conversation.waits(call_id=call_id, name=name):
        arguments = span.text("gen_ai.tool.call.arguments", "input.value", "tool.parameters")
        conversation.agent(calls=[ToolUse(id=call_id, name=name, arguments=arguments)])
    conversation.output(span.result, call_id=call_id, name=name, failed=span.failed)


def _is_export(record: Record) -> bool:
    return "resourceSpans" in record


def _has(record: Record, attribute: str) -> bool:
    attributes = record.get("attributes")
    if isinstance(attributes, list):
        return any(part.get("key") == attribute for part in objects(attributes))
    return attribute in mapping(attributes)


OPENINFERENCE = Reader(
    name="openinference",
    title="OpenInference",
    read=read,
    in_lines=lambda records: (
        any(_has(record, "openinference.span.kind") for record in records) and not any(map(_is_export, records))
    ),
)
OTEL = Reader(
    name="otel-genai",
    title="OpenTelemetry",
    read=read,
    in_document=_is_export,
    in_lines=lambda records: any(_is_export(record) or _has(record, "gen_ai.operation.name") for record in records),
)
