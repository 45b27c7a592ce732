"""The arguments of a call as an object, also where they were cut and are no JSON any more."""

import json
import re
from collections.abc import Mapping
from typing import Any

PATHS = ("file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path", "uri")
OLD = ("old_string", "old_str", "oldString", "old_text", "search", "old")
NEW = (
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
PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


def path_in(arguments: str) -> str | None:
    """The file that an edit is about, as recorded; the first one of a patch."""
    found = PATCHED.search(arguments)
    if found:
        return (found.group(1) or found.group(2)).strip()
    given = parsed(arguments)
    for name in PATHS:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
    changes = given.get("changes")
    first = changes[0] if isinstance(changes, list) and changes else None
    path = first.get("path") if isinstance(first, dict) else None
    return path if isinstance(path, str) and path else None


def parsed(arguments: str) -> Mapping[str, Any]:
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
    for name in (*PATHS, *OLD, *NEW):
        seen = re.search(rf'"{name}":\s*"((?:[^"\\]|\\.){{0,6000}})', arguments)
        if seen:
            found[name] = _unescaped(seen.group(1))
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text)
