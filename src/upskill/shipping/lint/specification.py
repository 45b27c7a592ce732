"""The fields of the frontmatter by the Agent Skills specification. Whatever breaks it is an error."""

import unicodedata
from collections.abc import Iterator
from difflib import get_close_matches

from upskill.domain.finding import Finding
from upskill.domain.skill import MOST_CHARACTERS, NAME_RULE, SPECIFIED_FIELDS
from upskill.shipping.lint.agents import CLIENT_KEYS
from upskill.shipping.lint.head import Field, Head
from upskill.shipping.lint.rule import LintRule

_SENTENCE = NAME_RULE[0].upper() + NAME_RULE[1:] + "."


def _rule(id: str, reason: str, remedy: str) -> LintRule:
    return LintRule(id=id, family="specification", severity="error", reason=reason, remedy=remedy)


NAME_MISSING = _rule("name-missing", "The specification requires a name.", _SENTENCE)
NAME_INVALID = _rule("name-invalid", "The specification does not allow this name.", _SENTENCE)
NAME_TOO_LONG = _rule("name-too-long", f"A name has at most {MOST_CHARACTERS['name']} characters.", "Shorten it.")
NAME_NOT_FOLDER = _rule(
    "name-not-folder", "The name must equal the name of the folder.", "Rename the folder, or change the name."
)
DESCRIPTION_MISSING = _rule(
    "description-missing",
    "An agent chooses a skill by its description, and the specification requires one.",
    "Say what the skill does and when to use it.",
)
DESCRIPTION_TOO_LONG = _rule(
    "description-too-long",
    f"A description has at most {MOST_CHARACTERS['description']:,} characters; agents refuse or cut a longer one.",
    "Shorten it, and move details into the body.",
)
COMPATIBILITY_LENGTH = _rule(
    "compatibility-length",
    f"`compatibility` has 1 to {MOST_CHARACTERS['compatibility']} characters.",
    "Shorten it, or delete the field.",
)
NOT_TEXT = _rule(
    "field-not-text", "The specification requires one string here.", "Write it as one line in double quotes."
)
METADATA = _rule(
    "metadata-not-strings",
    "The specification requires a table of strings in `metadata`.",
    'Write one `key: "value"` line each.',
)
UNKNOWN_KEY = _rule(
    "unknown-key",
    "The specification has no such key, and validators refuse it.",
    "Move it into `metadata`, or delete it.",
)
RULES = (
    NAME_MISSING, NAME_INVALID, NAME_TOO_LONG, NAME_NOT_FOLDER, DESCRIPTION_MISSING, DESCRIPTION_TOO_LONG,
    COMPATIBILITY_LENGTH, NOT_TEXT, METADATA, UNKNOWN_KEY,
)  # fmt: skip


def find(head: Head, folder: str) -> Iterator[Finding]:
    """What the specification does not allow. Where no field can be read, only that is a finding."""
    if head.end == 0 or (not head.fields and head.findings):
        return
    yield from _name(head, folder)
    yield from _description(head)
    yield from _others(head)
    for key, field in head.fields.items():
        if key not in SPECIFIED_FIELDS and key not in CLIENT_KEYS:
            near = get_close_matches(key, SPECIFIED_FIELDS, n=1)
            remedy = f"Did you mean `{near[0]}`?" if near else None
            yield UNKNOWN_KEY.at(field.line, f"{key}: {field.text}", remedy=remedy)


def _name(head: Head, folder: str) -> Iterator[Finding]:
    field = head.fields.get("name")
    if field is None or (field.kind == "text" and not field.text.strip()):
        yield NAME_MISSING.at(head.line_of("name"), "no name" if field is None else "name:")
        return
    if field.kind != "text":
        yield NOT_TEXT.at(field.line, "name is not one string")
        return
    name = unicodedata.normalize("NFKC", field.text.strip())
    if len(name) > MOST_CHARACTERS["name"]:
        yield NAME_TOO_LONG.at(field.line, f"{len(name)} characters: {name}")
    if problem := _name_problem(name):
        yield NAME_INVALID.at(field.line, f"name: {name}", reason=f"The name {problem}.")
    if name != unicodedata.normalize("NFKC", folder):
        yield NAME_NOT_FOLDER.at(field.line, f"name: {name} (folder: {folder})")


def _name_problem(name: str) -> str | None:
    if name != name.lower():
        return "has capital letters"
    if name.startswith("-") or name.endswith("-"):
        return "begins or ends with a hyphen"
    if "--" in name:
        return "has two hyphens in a row"
    wrong = next((c for c in name if not (c.isalnum() or c == "-")), None)
    return None if wrong is None else f"has a character that is not allowed: {wrong!r}"


def _description(head: Head) -> Iterator[Finding]:
    field = head.fields.get("description")
    if field is None or (field.kind == "text" and not field.text.strip()):
        yield DESCRIPTION_MISSING.at(head.line_of("description"), "no description" if field is None else "description:")
    elif field.kind != "text":
        yield NOT_TEXT.at(field.line, "description is not one string")
    elif len(field.text) > MOST_CHARACTERS["description"]:
        yield DESCRIPTION_TOO_LONG.at(field.line, f"{len(field.text):,} characters: {field.text}")


def _others(head: Head) -> Iterator[Finding]:
    for key in ("license", "compatibility", "allowed-tools"):
        field = head.fields.get(key)
        if field is None:
            continue
        if field.kind != "text":
            yield NOT_TEXT.at(field.line, f"{key} is not one string")
        elif key == "compatibility" and not 0 < len(field.text) <= MOST_CHARACTERS[key]:
            yield COMPATIBILITY_LENGTH.at(field.line, f"{len(field.text):,} characters: {field.text}")
    metadata = head.fields.get("metadata")
    if metadata is not None:
        yield from _metadata(metadata)


def _metadata(field: Field) -> Iterator[Finding]:
    if field.kind != "table":
        if field.kind == "list" or field.text:
            yield METADATA.at(field.line, f"metadata: {field.text}")
        return
    for inner in field.inner:
        if inner.kind != "text":
            yield METADATA.at(inner.line, f"{inner.key} is a {inner.kind}")
