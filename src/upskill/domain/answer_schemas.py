"""Pieces of the forms in which teachers answer, as JSON Schema. No keywords that providers refuse in a schema."""

from collections.abc import Mapping, Sequence
from typing import Any

Form = dict[str, Any]

TEXT: Form = {"type": "string"}


def list_of(items: Mapping[str, Any]) -> Form:
    """Any number of them."""
    return {"type": "array", "items": items}


def one_of(*words: str) -> Form:
    """One of these words."""
    return {"type": "string", "enum": [*words]}


def object_of(needed: Sequence[str] | None = None, /, **properties: Mapping[str, Any]) -> Form:
    """These keys and no others; all of them must be there, unless some are said to be needed."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*(properties if needed is None else needed)],
        "additionalProperties": False,
    }


TEXTS = list_of(TEXT)
FILES = list_of(object_of(path=TEXT, text=TEXT))
