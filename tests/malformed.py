"""Answers that are none: bodies that a broken or hostile server sends with status 200."""

import json
import random
from collections.abc import Iterator
from types import NoneType
from typing import Any

WRONG: tuple[Any, ...] = (
    None,
    True,
    7413,
    7.413,
    "",
    "7413",
    [],
    ["7413"],
    {},
    {"7413": "7413"},
    [[["7413"]]],
    {"text": {"x": 7413}},
)
DEEP = 1_000_000


def _answer(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "any", "choices": choices, "usage": usage}


def malformed_bodies(text: str, *, count: int, seed: int) -> list[bytes]:
    """So many bodies, every one of which would be right if it were an answer."""
    draw = random.Random(seed)
    fixed = list(_fixed(text))
    return (fixed + [_drawn(text, draw) for _ in range(count - len(fixed))])[:count]


def _fixed(text: str) -> Iterator[bytes]:
    whole = json.dumps(_answer(text)).encode()
    yield b""
    yield b" "
    yield b"null"
    yield b"true"
    yield b"7413"
    yield json.dumps(text).encode()
    yield json.dumps([text]).encode()
    yield b"{}"
    yield b"<html>7413</html>"
    yield b"\xff\xfe" + whole
    yield b"\x1f\x8b" + whole
    yield whole + whole
    yield whole + b"}"
    yield b"data: " + whole + b"\n\ndata: [DO"
    yield b'data: {"choices":[{"index":0,"delta":{"content":"7413"}'
    yield b": still here\n\n" * 20
    yield b"[" * DEEP
    yield b'{"a":' * DEEP
    yield b"[" * DEEP + b"]" * DEEP
    yield b'{"a":' * DEEP + b"1" + b"}" * DEEP
    for depth in (100, 500, 900, 990, 2_000, 20_000, DEEP):
        yield whole.replace(b'"content": "', b'"content": ' + b"[" * depth + b'"').replace(
            b'"}, "finish', b'"' + b"]" * depth + b'}, "finish'
        )
    yield json.dumps({"error": {"message": text, "code": 500}}).encode()
    yield json.dumps({"error": text}).encode()
    yield json.dumps({"object": "error", "message": text, "code": 40001}).encode()


def _drawn(text: str, draw: random.Random) -> bytes:
    answer = _answer(text)
    whole = json.dumps(answer).encode()
    kind = draw.randrange(4)
    if kind == 0:
        return whole[: draw.randrange(1, len(whole) - 1)]
    if kind == 1:
        at = draw.randrange(len(whole) // 3, 2 * len(whole) // 3)
        return whole[:at] + bytes([draw.randrange(128, 256)]) * 3 + b'"' + whole[at:]
    choice = answer["choices"][0]
    places: list[tuple[Any, Any, tuple[type, ...]]] = [
        (answer, "choices", ()),
        (answer["choices"], 0, ()),
        (choice, "message", ()),
        (choice, "finish_reason", (str,)),
        (choice["message"], "content", (str, NoneType)),
    ]
    place, key, legal = draw.choice(places)
    if kind == 2 and key in ("choices", "message", "finish_reason"):
        del place[key]
    else:
        place[key] = draw.choice([wrong for wrong in WRONG if not isinstance(wrong, legal)])
    return json.dumps(answer).encode()
