"""The forms in which a teacher hands over a draft."""

from upskill.domain.answer_schemas import TEXT, TEXTS, Schema, list_of, object_of, one_of

_REFERENCES = list_of(object_of(("path", "text"), path=TEXT, when=TEXT, text=TEXT, sources=TEXTS))
_SCRIPTS = list_of(
    object_of(
        ("path", "text"),
        path=TEXT,
        when=TEXT,
        text=TEXT,
        sources=TEXTS,
        arguments=TEXTS,
        inputs=list_of(object_of(("path", "text"), path=TEXT, text=TEXT)),
    )
)
_CHANGE = object_of(
    ("action", "heading"),
    action=one_of("add", "replace", "remove"),
    heading=TEXT,
    text=TEXT,
    sources=TEXTS,
)


def draft_form(*, scripts: bool) -> Schema:
    """A whole new skill."""
    section = object_of(("heading", "text"), heading=TEXT, text=TEXT, sources=TEXTS)
    fields = {"name": TEXT, "description": TEXT, "sections": list_of(section), "references": _REFERENCES}
    return object_of(("name", "description", "sections"), **fields, **({"scripts": _SCRIPTS} if scripts else {}))


def improvement_form(*, scripts: bool) -> Schema:
    """Changes to a skill that exists."""
    fields = {"changes": list_of(_CHANGE), "description": TEXT, "references": _REFERENCES, "remove_files": TEXTS}
    return object_of(("changes",), **fields, **({"scripts": _SCRIPTS} if scripts else {}))
