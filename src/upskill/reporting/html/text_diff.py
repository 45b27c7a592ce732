"""Two versions of some texts as a unified diff, within limits: the texts may be a stranger's."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal

MOST_LINES = 1_200
"""Lines of one text that are compared: the time that it takes may grow with their square."""
MOST_SHOWN = 400
"""Lines of a diff."""
LONGEST_LINE = 600
Mark = Literal["file", "place", "added", "removed", "same"]
_MARKS: dict[str, Mark] = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffLine:
    """One line of a diff, with its sign in front."""

    mark: Mark
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDiff:
    """What changed, as far as it is shown."""

    lines: tuple[DiffLine, ...]
    left_out: int = 0
    """Further lines, of the diff or of texts that are too long to be compared."""


def text_diff(before: Mapping[str, str], after: Mapping[str, str]) -> TextDiff:
    """The changes from one set of texts to another, by name. No lines where nothing changed."""
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    too_long = 0
    lines: list[DiffLine] = []
    for name in names:
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        too_long += sum(max(0, len(one) - MOST_LINES) for one in (old, new))
        if changed := list(_changed(old[:MOST_LINES], new[:MOST_LINES])):
            lines += [DiffLine(mark="file", text=name), *changed]
    return TextDiff(lines=tuple(lines[:MOST_SHOWN]), left_out=too_long + max(0, len(lines) - MOST_SHOWN))


def _changed(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    head = 2  # the names of two files, which are said otherwise
    for line in islice(difflib.unified_diff(old, new, lineterm="", n=2), head, None):
        yield DiffLine(mark=_MARKS.get(line[:1], "same"), text=line[:LONGEST_LINE])
