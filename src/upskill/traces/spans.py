"""Spans of OpenTelemetry and OpenInference: agents, their chats and their tools.

Every chat span repeats the messages before it, so the last one of an agent holds its work. The tool spans hold what
failed.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from upskill.domain.trace import Subtrace, Trace
from upskill.errors import UsageError
from upskill.traces.chat_messages import add_message, function_call, reasoning_of
from upskill.traces.conversation import Conversation, ToolUse
from upskill.traces.fields import items, mapping, objects, string, texts
from upskill.traces.recording import LARGEST_DOCUMENT, Reader, Record, Recording
from upskill.traces.span_values import AGENTS, CHATS, KIND, TOOLS, Message, Span, asked_and_answered, raw_spans, span_of
from upskill.traces.unpacking import MEGABYTE

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
