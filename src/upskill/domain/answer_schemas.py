"""Building blocks for the JSON Schemas of teachers' answers. Uses no keyword that providers refuse in a schema."""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

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
