"""What a call changed, in a few lines: a small diff for an edit, the command itself for a command."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from upskill.traces.digesting.excerpt import Generalise, one_line, plain, shortened
from upskill.traces.digesting.work import NEW, OLD, PATCHED, Action, parsed


def describe(action: Action, *, generalise: Generalise, lines: int, chars: int) -> str:
    """What one call changed, cut to a size."""
    if action.sort != "edit":
        return "$ " + shortened(generalise(plain(action.call.arguments)), lines=lines, chars=chars)
    path = generalise(plain(action.path or action.call.name))
    body = generalise(plain("\n".join(_diff(action))))
    return shortened(f"{path}\n{body}".rstrip(), lines=lines + 1, chars=chars)


def named(action: Action, *, generalise: Generalise) -> str:
    """One call in a few words."""
    if action.sort == "edit":
        return generalise(plain(action.path or action.call.name))
    if action.sort in {"command", "look"} and not action.call.arguments.lstrip().startswith("{"):
        return one_line(generalise(plain(action.call.arguments)), most=120)
    return one_line(f"{action.call.name} {generalise(plain(action.call.arguments))}", most=120)


def _diff(action: Action) -> Iterator[str]:
    text = action.call.arguments
    if "*** Begin Patch" in text or PATCHED.search(text):
        yield from (row for row in text.split("\n") if row[:1] in "+-" and not row.startswith(("+++", "---")))
        return
    arguments = parsed(text)
    edits = arguments.get("edits")
    pieces = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [arguments]
    shown = False
    for piece in pieces[:20]:
        old, new = _first(piece, OLD), _first(piece, NEW)
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


def _first(piece: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = piece.get(name)
        if isinstance(value, str):
            return value
    return ""
