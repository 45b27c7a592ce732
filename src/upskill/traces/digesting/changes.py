"""What a call changed, in a few lines: a small diff for an edit, the command itself for a command."""

import difflib
import json
import re
from collections.abc import Iterator
from typing import Any

from upskill.traces.digesting.excerpt import Generalise, one_line, plain, shortened
from upskill.traces.digesting.work import Action

_PATHS = ("file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path", "uri")
_OLD = ("old_string", "old_str", "oldString", "old_text", "search", "old")
_NEW = (
    "new_string",
    "new_str",
    "newString",
    "new_text",
    "replace",
    "content",
    "file_text",
    "contents",
    "new",
    "new_source",
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


def path_of(action: Action) -> str | None:
    """The file that an edit is about, as recorded; the first one of a patch."""
    found = _PATCHED.search(action.call.arguments)
    if found:
        return (found.group(1) or found.group(2)).strip()
    arguments = _arguments(action)
    for name in _PATHS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    changes = arguments.get("changes")
    if (
        isinstance(changes, list)
        and changes
        and isinstance(changes[0], dict)
        and isinstance(changes[0].get("path"), str)
    ):
        return str(changes[0]["path"])
    return None


def describe(action: Action, *, generalise: Generalise, lines: int, chars: int) -> str:
    """What one call changed, cut to a size."""
    if action.sort != "edit":
        return "$ " + shortened(generalise(plain(action.call.arguments)), lines=lines, chars=chars)
    path = generalise(plain(path_of(action) or action.call.name))
    body = generalise(plain("\n".join(_diff(action))))
    return shortened(f"{path}\n{body}".rstrip(), lines=lines + 1, chars=chars)


def named(action: Action, *, generalise: Generalise) -> str:
    """One call in a few words."""
    if action.sort == "edit":
        return generalise(plain(path_of(action) or action.call.name))
    if action.sort in {"command", "look"} and not action.call.arguments.lstrip().startswith("{"):
        return one_line(generalise(plain(action.call.arguments)), most=120)
    return one_line(f"{action.call.name} {generalise(plain(action.call.arguments))}", most=120)


def _diff(action: Action) -> Iterator[str]:
    text = action.call.arguments
    if "*** Begin Patch" in text or _PATCHED.search(text):
        yield from (row for row in text.split("\n") if row[:1] in "+-" and not row.startswith(("+++", "---")))
        return
    arguments = _arguments(action)
    edits = arguments.get("edits")
    pieces = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [arguments]
    shown = False
    for piece in pieces[:20]:
        old, new = _first(piece, _OLD), _first(piece, _NEW)
        if old or new:
            shown = True
            yield from _changed_lines(old, new)
    if not shown:
        yield text


def _changed_lines(old: str, new: str) -> Iterator[str]:
    """Only what differs; both sides are bounded, since a diff is quadratic."""
    before, after = old.split("\n")[:400] if old else [], new.split("\n")[:400] if new else []
    for row in difflib.unified_diff(before, after, n=0, lineterm=""):
        if not row.startswith(("---", "+++", "@@")):
            yield row


def _first(piece: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = piece.get(name)
        if isinstance(value, str):
            return value
    return ""


def _arguments(action: Action) -> dict[str, Any]:
    """The arguments as an object. Where they were cut and are no JSON any more, what can still be seen of them."""
    text = action.call.arguments
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    if not text.lstrip().startswith("{"):
        return {}
    found = {}
    for name in (*_PATHS, *_OLD, *_NEW):
        seen = re.search(rf'"{name}":\s*"((?:[^"\\]|\\.){{0,6000}})', text)
        if seen:
            found[name] = _unescaped(seen.group(1))
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text)
