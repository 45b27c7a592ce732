"""The forms in which a teacher hands over a draft, as JSON Schema. No keywords that providers refuse in a schema."""

from typing import Any

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}


def _object(needed: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": needed.split(),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_REFERENCES = _list(_object("path text", path=_TEXT, when=_TEXT, text=_TEXT, sources=_TEXTS))
_SCRIPTS = _list(
    _object(
        "path text",
        path=_TEXT,
        when=_TEXT,
        text=_TEXT,
        sources=_TEXTS,
        arguments=_TEXTS,
        inputs=_list(_object("path text", path=_TEXT, text=_TEXT)),
    )
)
_CHANGE = _object(
    "action heading",
    action={"type": "string", "enum": ["add", "replace", "remove"]},
    heading=_TEXT,
    text=_TEXT,
    sources=_TEXTS,
)


def draft_form(*, scripts: bool) -> dict[str, Any]:
    """A whole new skill."""
    section = _object("heading text", heading=_TEXT, text=_TEXT, sources=_TEXTS)
    fields = {"name": _TEXT, "description": _TEXT, "sections": _list(section), "references": _REFERENCES}
    return _object("name description sections", **fields, **({"scripts": _SCRIPTS} if scripts else {}))


def improvement_form(*, scripts: bool) -> dict[str, Any]:
    """Changes to a skill that exists."""
    fields = {"changes": _list(_CHANGE), "description": _TEXT, "references": _REFERENCES, "remove_files": _TEXTS}
    return _object("changes", **fields, **({"scripts": _SCRIPTS} if scripts else {}))
