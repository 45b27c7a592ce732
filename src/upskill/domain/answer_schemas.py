"""Building blocks for the JSON Schemas of teachers' answers, and how a schema from a file is held to them.

Uses no keyword that providers refuse in a schema.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

MOST_PARTS = 400
"""Four times as many as the largest schema of an answer has."""
_TYPES = ("object", "array", "string", "number", "boolean")

TEXT: Schema = {"type": "string"}


def list_of(items: Mapping[str, Any]) -> Schema:
    """A list of any number of these items."""
    return {"type": "array", "items": items}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": [*words]}


def object_of(needed: Sequence[str] | None = None, /, **properties: Mapping[str, Any]) -> Schema:
    """An object with these keys and no others; all are required, unless `needed` lists those that are."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*(properties if needed is None else needed)],
        "additionalProperties": False,
    }


TEXTS = list_of(TEXT)
FILES = list_of(object_of(path=TEXT, text=TEXT))


def is_answer_schema(schema: object) -> bool:
    """Whether a schema is small and has no other keywords than these blocks: no address, no pattern, no reference."""
    waiting, parts = [schema], 0
    while waiting:
        part = waiting.pop()
        parts += 1
        if not isinstance(part, dict) or not all(_is_keyword(key, value) for key, value in part.items()):
            return False
        parts += len(part.get("enum", ())) + len(part.get("required", ()))
        waiting += [*part.get("properties", {}).values(), *part.get("anyOf", ())]
        if "items" in part:
            waiting.append(part["items"])
        if parts + len(waiting) > MOST_PARTS:
            return False
    return True


def _is_keyword(key: str, value: object) -> bool:
    match key:
        case "type":
            return value in _TYPES
        case "properties" | "items":
            return isinstance(value, dict)
        case "anyOf":
            return isinstance(value, list)
        case "enum" | "required":
            return isinstance(value, list) and all(isinstance(word, str) for word in value)
        case "additionalProperties":
            return isinstance(value, bool)
        case "minItems" | "maxItems":
            return isinstance(value, int)
        case _:
            return key == "description" and isinstance(value, str)
