"""A whole answer as the stream of events that an agent expects: the same content, in as few pieces as are valid."""

import json
from collections.abc import Iterator
from typing import Any, Literal, assert_never

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
