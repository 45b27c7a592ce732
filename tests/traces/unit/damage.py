"""Recordings as they should not be: samples cut, shuffled, flipped, and with values of every wrong kind in them."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

Draw = random.Random

WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    "",
    "x",
    "\ud800",
    "\x00\x1b[31m\u202e",
    "a" * 5_000,
    [],
    {},
    [[]],
    [None, 1, "x", {}],
    {"type": "text"},
    {"": {"": [None]}},
)
DEEP = 20_000
IDS = ("uuid", "parentUuid", "id", "parentId", "call_id", "tool_use_id", "tool_call_id", "message_id", "leafUuid")


def damaged(sample: bytes, seed: int) -> bytes:
    """The sample after one to three accidents, always the same for the same seed."""
    draw = Draw(seed)
    content = sample
    for _ in range(draw.randint(1, 3)):
        content = draw.choice(ACCIDENTS)(content, draw)
    return content


def _cut_off(content: bytes, draw: Draw) -> bytes:
    return content[: draw.randint(0, len(content))]


def _flip(content: bytes, draw: Draw) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 30)):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _lines(content: bytes, draw: Draw) -> bytes:
    """Lines lost, written twice, or in another order."""
    lines = content.splitlines(keepends=True)
    for _ in range(draw.randint(1, 4)):
        if lines:
            place = draw.randrange(len(lines))
            match draw.randrange(4):
                case 0:
                    del lines[place]
                case 1:
                    lines.insert(place, draw.choice(lines))
                case 2:
                    draw.shuffle(lines)
                case _:
                    lines[place] = lines[place][: draw.randint(0, len(lines[place]))] + b"\n"
    return b"".join(lines)


def _insert(content: bytes, draw: Draw) -> bytes:
    """Bytes that belong nowhere, between lines or inside one."""
    strange = draw.choice(
        (
            b"\x00" * draw.randint(1, 50),
            b"\xff\xfe\x80",
            b"[" * DEEP,
            b'{"a":' * DEEP,
            b"\n" * 500,
            b"\r\n\r\n",
            b'{"type": ' + b"9" * 6_000 + b"}\n",
            b'"\\ud800"',
            b"NaN",
            b"\xef\xbb\xbf",
            b"{}\n[]\n1\nnull\n",
        )
    )
    at = draw.randint(0, len(content))
    if draw.random() < 0.7:
        at = content.find(b"\n", at) + 1
    return content[:at] + strange + content[at:]


def _wrong_values(content: bytes, draw: Draw) -> bytes:
    """Values of the wrong kind, keys lost or renamed, in any line or anywhere in a document."""
    return _in_json(content, draw, lambda value: _spoil(value, draw))


def _tangle(content: bytes, draw: Draw) -> bytes:
    """Ids that name other records, or themselves: circles, doubles, parents that are nowhere."""
    found: list[str] = []
    _in_json(content, draw, lambda value: found.extend(_strings(value)), every=True)
    names = [*dict.fromkeys(found), "nowhere", ""]
    return _in_json(content, draw, lambda value: _rename(value, draw, names), every=True)


def _in_json(content: bytes, draw: Draw, change: Callable[[Any], Any], *, every: bool = False) -> bytes:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        lines = content.splitlines()
        places = range(len(lines)) if every else [draw.randrange(len(lines)) for _ in range(3)] if lines else []
        for place in places:
            try:
                record = json.loads(lines[place])
            except (ValueError, RecursionError):
                continue
            change(record)
            lines[place] = json.dumps(record).encode()
        return b"\n".join(lines) + b"\n"
    change(document)
    return json.dumps(document).encode()


def _containers(value: Any) -> list[Any]:
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list) and one:
            found.append(one)
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return found


def _strings(value: Any) -> list[str]:
    parts = [part for part in _containers(value) if isinstance(part, dict)]
    return [part[name] for part in parts for name in IDS if isinstance(part.get(name), str)]


def _rename(value: Any, draw: Draw, names: list[str]) -> None:
    for part in _containers(value):
        if isinstance(part, dict):
            for name in IDS:
                if name in part and draw.random() < 0.3:
                    part[name] = draw.choice(names)


def _spoil(value: Any, draw: Draw) -> None:
    for _ in range(draw.randint(1, 4)):
        found = _containers(value)
        if not found:
            return
        part = draw.choice(found)
        key = draw.choice(list(part)) if isinstance(part, dict) else draw.randrange(len(part))
        match draw.randrange(4):
            case 0:
                del part[key]
            case 1 if isinstance(part, dict):
                part[draw.choice(("type", "content", "x", "\ud800"))] = part.pop(key)
            case _:
                part[key] = copy.deepcopy(draw.choice(WRONG))


ACCIDENTS: tuple[Callable[[bytes, Draw], bytes], ...] = (
    _cut_off,
    _flip,
    _lines,
    _insert,
    _wrong_values,
    _wrong_values,
    _tangle,
)
