"""Streams of whole answers: what the real clients cannot be asked about in the engine's tests."""

import json
from typing import Any

from upskill.agents.streams import stream


def events(body: bytes) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def test_thinking_keeps_its_signature_and_unknown_blocks_pass_whole() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "a\nb"},
    ]
    answer = {"id": "m", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn"}
    said = events(stream("messages", answer))
    deltas = [event["delta"] for event in said if event["type"] == "content_block_delta"]
    assert deltas == [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "s"},
        {"type": "text_delta", "text": "a\nb"},
    ]
    assert {"type": "redacted_thinking", "data": "x"} in [event.get("content_block") for event in said]
    assert said[-2]["delta"]["stop_reason"] == "end_turn"


def test_an_answer_that_was_cut_ends_as_incomplete() -> None:
    item = {"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": "half"}]}
    answer = {
        "id": "r",
        "status": "incomplete",
        "output": [item],
        "incomplete_details": {"reason": "max_output_tokens"},
    }
    said = events(stream("responses", answer))
    assert said[-1]["type"] == "response.incomplete"
    assert [event["sequence_number"] for event in said] == list(range(len(said)))


def test_completions_end_with_done_and_the_usage() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "length"}
    answer = {"id": "c", "created": 1, "model": "m", "choices": [choice], "usage": {"total_tokens": 3}}
    body = stream("completions", answer)
    assert body.endswith(b"data: [DONE]\n\n")
    said = events(body)
    assert said[-1] == {
        **{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"},
        **{"choices": [], "usage": {"total_tokens": 3}},
    }
    assert said[-2]["choices"][0]["finish_reason"] == "length"
