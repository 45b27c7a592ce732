"""The arguments of a call that edits files: which file it is about, and what it changes. Knows no traces."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PATHS = ("file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path", "uri")
_OLD = ("old_string", "old_str", "oldString", "old_text", "search", "old")
_NEW = (
    *("new_string", "new_str", "newString", "new_text", "replace", "content", "file_text", "contents", "new"),
    "new_source",
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


def path_in(arguments: str) -> str | None:
    """The file that an edit is about, as recorded; the first one of a patch."""
    found = _PATCHED.search(arguments)
    if found:
        return (found.group(1) or found.group(2)).strip()
    given = _parsed(arguments)
    changes = given.get("changes")
    first = changes[0] if isinstance(changes, list) and changes else None
    named = [*(given.get(name) for name in _PATHS), first.get("path") if isinstance(first, dict) else None]
    return next((path for path in named if isinstance(path, str) and path), None)


def changed_lines(arguments: str) -> Iterator[str]:
    """The lines of a small diff; the arguments themselves where they name no old or new text."""
    if "*** Begin Patch" in arguments or _PATCHED.search(arguments):
        yield from (row for row in arguments.split("\n") if row[:1] in "+-" and not row.startswith(("+++", "---")))
        return
    given = _parsed(arguments)
    edits = given.get("edits")
    pieces = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [given]
    pairs = [(_first_text(piece, _OLD), _first_text(piece, _NEW)) for piece in pieces[:20]]
    if not any(old or new for old, new in pairs):
        yield arguments
    for old, new in pairs:
        # Both sides are bounded, since a diff is quadratic.
        before, after = (text.split("\n")[:400] if text else [] for text in (old, new))
        rows = difflib.unified_diff(before, after, n=0, lineterm="")
        yield from (row for row in rows if not row.startswith(("---", "+++", "@@")))


def _first_text(piece: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := piece.get(name), str)), "")


def _parsed(arguments: str) -> Mapping[str, Any]:
    """The object; where it was cut, what can still be seen of it."""
    if not arguments.lstrip().startswith("{"):
        return {}
    try:
        whole = json.loads(arguments)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return whole
    found = {}
    for name in (*_PATHS, *_OLD, *_NEW):
        seen = re.search(rf'"{name}":\s*"((?:[^"\\]|\\.){{0,6000}})', arguments)
        if seen:
            found[name] = re.sub(r"\\(.)", _unescaped, seen.group(1))
    return found


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1))
