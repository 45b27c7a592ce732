"""A whole answer as the stream of events that an agent expects: the same content, in as few pieces as are valid."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, assert_never

from upskill import disk
from upskill.errors import UsageError


def event_lines(stdout: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects that an agent printed, one on each line. Other lines are skipped."""
    for line in stdout.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def object_in(value: Any, name: str) -> Mapping[str, Any]:
    """A field that is an object; empty where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def objects_in(value: Any, name: str) -> list[Mapping[str, Any]]:
    """The objects of a field that is a list."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def texts_in(messages: list[Mapping[str, Any]]) -> Iterator[str]:
    """Every text of these messages, in order."""
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield content
        for part in objects_in(message, "content"):
            if isinstance(part.get("text"), str):
                yield part["text"]


def listed_skills(texts: Iterable[str]) -> str:
    """The first list of skills in each text, as opencode and Qwen Code write it. Not by a pattern: on a text of a
    program that consists of beginnings only, one takes hours."""
    found = []
    for text in texts:
        begin = text.find(_LIST_BEGINS)
        end = text.find(_LIST_ENDS, begin)
        if begin >= 0 and end >= 0:
            found.append(text[begin : end + len(_LIST_ENDS)])
    return "\n".join(found)


_LIST_BEGINS, _LIST_ENDS = "<available_skills>", "</available_skills>"


def skills_used(stdout: bytes, *, tool: str) -> tuple[str, ...]:
    """The skills that were loaded by a tool, from events in the form of Claude Code."""
    loaded: dict[str, None] = {}
    for event in event_lines(stdout):
        if event.get("type") == "assistant":
            for part in objects_in(object_in(event, "message"), "content"):
                named = object_in(part, "input").get("skill")
                if part.get("name") == tool and isinstance(named, str):
                    loaded[named.strip("/ ")] = None
    return tuple(loaded)


Dialect = Literal["responses", "messages", "completions"]
"""OpenAI Responses, Anthropic Messages, OpenAI Chat Completions."""
Event = dict[str, Any]


def stream(dialect: Dialect, answer: Event) -> bytes:
    """The body of a `text/event-stream` response."""
    match dialect:
        case "responses":
            return b"".join(_named(event) for event in _responses(answer))
        case "messages":
            return b"".join(_named(event) for event in _messages(answer))
        case "completions":
            return b"".join(_data(event) for event in _completions(answer)) + b"data: [DONE]\n\n"
        case _:
            assert_never(dialect)


def pulse(dialect: Dialect) -> bytes:
    """What may come before an answer and says nothing."""
    return _named({"type": "ping"}) if dialect == "messages" else b": the model is at work\n\n"


def failure(dialect: Dialect, message: str) -> bytes:
    """The body of an error, as JSON of that API."""
    error = {"type": "invalid_request_error", "message": message}
    whole = {"type": "error", "error": error} if dialect == "messages" else {"error": {**error, "code": "bad_request"}}
    return json.dumps(whole).encode()


def _data(event: Event) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def _named(event: Event) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)


def _responses(answer: Event) -> Iterator[Event]:
    begun = {**answer, "status": "in_progress", "output": []}
    begun.pop("usage", None)
    events: list[Event] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(answer["output"]):
        place = {"output_index": index}
        events.append({"type": "response.output_item.added", **place, "item": _empty(item)})
        for at, part in enumerate(item.get("content") or ()):
            if item["type"] == "message" and part["type"] == "output_text":
                here = {"item_id": item.get("id", ""), **place, "content_index": at}
                events += [
                    {"type": "response.content_part.added", **here, "part": {**part, "text": ""}},
                    {"type": "response.output_text.delta", **here, "delta": part["text"]},
                    {"type": "response.output_text.done", **here, "text": part["text"]},
                    {"type": "response.content_part.done", **here, "part": part},
                ]
        events.append({"type": "response.output_item.done", **place, "item": item})
    end = "incomplete" if answer.get("status") == "incomplete" else "completed"
    events.append({"type": f"response.{end}", "response": answer})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _empty(item: Event) -> Event:
    """An item as it stands when it begins."""
    gone = {"content": [], "arguments": "", "summary": []}
    return {**item, **{key: value for key, value in gone.items() if key in item}, "status": "in_progress"}


def _messages(answer: Event) -> Iterator[Event]:
    usage = answer.get("usage") or {"input_tokens": 0, "output_tokens": 0}
    begun = {
        **answer,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 0},
    }
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(answer["content"]):
        first, deltas = _block(block)
        yield {"type": "content_block_start", "index": index, "content_block": first}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": answer.get("stop_reason"), "stop_sequence": answer.get("stop_sequence")}
    yield {"type": "message_delta", "delta": ended, "usage": usage}
    yield {"type": "message_stop"}


def _block(block: Event) -> tuple[Event, list[Event]]:
    """How a block of content begins, and what is added to it."""
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            if signature := block.get("signature"):
                deltas.append({"type": "signature_delta", "signature": signature})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case "tool_use":
            arguments = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            return {**block, "input": {}}, [arguments]
        case _:
            return block, []


def _completions(answer: Event) -> Iterator[Event]:
    common = {"id": answer["id"], "object": "chat.completion.chunk", "created": answer["created"]}
    common["model"] = answer.get("model", "")
    for choice in answer["choices"]:
        message = {key: value for key, value in choice["message"].items() if value is not None}
        calls = [{"index": at, **call} for at, call in enumerate(message.pop("tool_calls", None) or ())]
        index = choice.get("index", 0)
        delta = {**message, **({"tool_calls": calls} if calls else {})}
        yield {**common, "choices": [{"index": index, "delta": delta, "finish_reason": None}]}
        yield {**common, "choices": [{"index": index, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if usage := answer.get("usage"):
        yield {**common, "choices": [], "usage": usage}


_ELF = b"\x7fELF"


def native_program(found: Path, *, beside: Sequence[str], install: str) -> Path:
    """The program itself, every link followed. Where a script starts it, it is looked for `beside` that script's
    package: paths below a `node_modules` folder. Raises `UsageError` where this machine cannot run it."""
    real = found.resolve()
    if _is_native(real):
        return real
    for folder in real.parents:
        for path in beside:
            for candidate in (folder / path, folder / "node_modules" / path):
                if _is_native(candidate):
                    return candidate.resolve()
    raise UsageError(f"{found}: there is no program for this machine behind it", hint=f"install it again: `{install}`")


def _is_native(path: Path) -> bool:
    try:
        return disk.beginning(disk.named(path), len(_ELF)) == _ELF
    except OSError:
        return False


def is_printed(stdout: bytes, forms: Iterable[Iterable[str]]) -> bool:
    """Whether the agent printed the model's last answer, in one of the forms that it may have: its parts, each in one
    string of an event. An answer that a program asked for in the agent's name never comes to the agent."""
    printed = "\n".join(_written(event) for event in event_lines(stdout))
    return any(all(_written(part.strip())[1:-1] in printed for part in form) for form in forms)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def disagreements(reported: tuple[str, ...], *, skill: str | None, loaded: bool, forced: bool) -> Iterator[str]:
    """Where the agent reports another load than its model traffic shows: a sign that one of them is read wrongly.

    A forced load is not reported.
    """
    if skill is not None and not forced and (skill in reported) != loaded:
        reports = "reports" if skill in reported else "does not report"
        seen = "shows one" if loaded else "shows none"
        yield f"the agent {reports} a load of the skill {skill}, and its model traffic {seen}"
