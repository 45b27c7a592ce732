"""Values of JSON that others wrote: each is what it should be, or empty. Nothing here raises.

Knows no formats.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

LARGEST = 2**31


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The list with an object for each item, empty where the item is none."""
    return [mapping(item) for item in items(value)]


def at(value: Any, *path: str) -> Any:
    """What lies below these keys, one after the other; `None` where there is nothing."""
    for key in path:
        value = mapping(value).get(key)
    return value


def first_string(record: dict[str, Any], *names: str) -> str:
    """The first text under one of these names that is not empty."""
    return next(filter(None, (string(record.get(name)) for name in names)), "")


def distinct(records: Iterable[dict[str, Any]], *path: str) -> Iterator[dict[str, Any]]:
    """The first record of each id, and all that have none. `path` leads to the id."""
    seen: set[str] = set()
    for record in records:
        record_id = string(at(record, *path))
        if not record_id or record_id not in seen:
            seen.add(record_id)
            yield record


def string(value: Any) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """A whole number that an exit code can be, or `None`."""
    if isinstance(value, int) and not isinstance(value, bool) and -LARGEST <= value < LARGEST:
        return value
    return None


def flag(value: Any) -> bool | None:
    """True or false as recorded, or `None`."""
    return value if isinstance(value, bool) else None


def parsed(text: Any) -> Any:
    """The value of JSON inside a string; `None` where it is none: no string, broken, too deep, a number too long."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def texts(content: Any) -> str:
    """The visible text of a message: itself, or its blocks that carry `text`, one below the other."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    found = [block if isinstance(block, str) else string(mapping(block).get("text")) for block in items(content)]
    return "\n".join(text for text in found if text)


def blocks(content: Any) -> list[dict[str, Any]]:
    """The content as blocks, whichever of the two forms it has."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": block} if isinstance(block, str) else mapping(block) for block in items(content)]


def as_json(value: Any) -> str:
    """The value written as JSON, characters as they are; empty where it is too deep to write."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return ""
