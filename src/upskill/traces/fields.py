"""Values of JSON that others wrote: each is what it should be, or empty. Nothing here raises."""

import json
from typing import Any

LARGEST = 2**31


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


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


def texts(content: Any) -> str:
    """The visible text of a message: itself, or its blocks that carry `text`, one below the other."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    found = [block if isinstance(block, str) else string(mapping(block).get("text")) for block in items(content)]
    return "\n".join(text for text in found if text)


def as_json(value: Any) -> str:
    """The value written as JSON, characters as they are; empty where it is too deep to write."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return ""
