"""Spans as exporters write them, and the messages in their attributes, each in one plain shape.

Knows OTLP with its typed values, spans as flat JSON lines, and the three ways in which messages are put into
attributes: as JSON, flattened over many keys, or as events.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from upskill.traces.chat_messages import output_text
from upskill.traces.fields import at, first_string, items, mapping, objects, parsed, string

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
