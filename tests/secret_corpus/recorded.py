"""Ten recordings with the planted secrets in them, each written in another manner."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from secret_corpus.made_up import Planted
from secret_corpus.planted import all_planted


class Recorded(NamedTuple):
    """One recording: what is on the disk, and what must not come out of it."""

    name: str
    text: str
    planted: tuple[Planted, ...]


def _lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def _claude_code(said: list[str]) -> str:
    return _lines(
        [{"type": "user", "uuid": "u0", "message": {"role": "user", "content": "Deploy the service."}}]
        + [
            {
                "type": "user",
                "uuid": f"u{n}",
                "message": {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}],
                },
                "toolUseResult": {"stdout": text, "stderr": "", "interrupted": False},
            }
            for n, text in enumerate(said, 1)
        ]
    )


def _codex(said: list[str]) -> str:
    return _lines(
        [
            {
                "type": "response_item",
                "payload": {
                    "type": "function_call_output",
                    "call_id": "call_1",
                    "output": json.dumps({"output": text}),
                },
            }
            for text in said
        ]
    )


def _openai(said: list[str]) -> str:
    calls = [
        {
            "role": "assistant",
            "tool_calls": [{"id": "call_1", "function": {"name": "bash", "arguments": json.dumps({"command": text})}}],
        }
        for text in said
    ]
    return json.dumps({"messages": calls}, indent=1)


def _gemini(said: list[str]) -> str:
    return json.dumps({"sessionId": "s", "messages": [{"type": "gemini", "content": text} for text in said]})


def _plain(said: list[str]) -> str:
    return "\n\n".join(said)


def _quoted(said: list[str]) -> str:
    return "# Chat started\n\n" + "\n".join(
        f"#### /run something\n\n> {line}" for text in said for line in text.split("\n")
    )


def _trajectory(said: list[str]) -> str:
    return json.dumps({"trajectory": [{"action": "cat f", "observation": text, "thought": ""} for text in said]})


def _events(said: list[str]) -> str:
    return json.dumps(
        [{"id": n, "action": "run", "args": {"command": text}} for n, text in enumerate(said)], ensure_ascii=False
    )


def _spans(said: list[str]) -> str:
    return _lines(
        [
            {"name": "llm", "attributes": [{"key": "input", "value": {"stringValue": json.dumps([{"content": text}])}}]}
            for text in said
        ]
    )


def _nested(said: list[str]) -> str:
    return _lines([{"event": json.dumps({"body": json.dumps({"out": text})})} for text in said])


_MANNERS: tuple[Callable[[list[str]], str], ...] = (
    _claude_code, _codex, _openai, _gemini, _plain, _quoted, _trajectory, _events, _spans, _nested,
)  # fmt: skip


def ten_recordings() -> list[Recorded]:
    """Every planted secret once, dealt over ten recordings."""
    hands: list[list[Planted]] = [[] for _ in _MANNERS]
    for number, planted in enumerate(all_planted()):
        hands[number % len(hands)].append(planted)
    return [
        Recorded(manner.__name__.strip("_"), manner([planted.text for planted in hand]), tuple(hand))
        for manner, hand in zip(_MANNERS, hands, strict=True)
    ]
