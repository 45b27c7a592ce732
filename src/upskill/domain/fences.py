"""Fenced code blocks of Markdown, one line at a time: the one rule for which lines are code.

A fence is three or more backticks or tildes; backticks among the words behind backticks make it code in a sentence. A
line of at least as many of the same, and of nothing else, closes it, unless it is indented four more. The decision on
checks (docs/explanation/decisions/0009-checks.md) says why no Markdown parser does this.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>.*)")


class Fence(NamedTuple):
    """The line that opened a block."""

    mark: str
    indent: int
    info: str
    """What stands behind the mark, without white space at its end."""


def fence_after(line: str, fence: Fence | None, *, most_indent: int | None = 3) -> Fence | None:
    """The fence that is open after this line, given the one that was open before it.

    `most_indent` bounds where a block may begin; `None` lets it begin anywhere, as in an item of a list.
    """
    line = line.rstrip("\r\n")
    if fence is None:
        return _opened(line, most_indent)
    return None if _closes(line, fence) else fence


def with_fences(lines: Iterable[str]) -> Iterator[tuple[str, Fence | None]]:
    """Each line with the fence that is open after it: `None` on lines outside of blocks and on those that close one."""
    fence: Fence | None = None
    for line in lines:
        fence = fence_after(line, fence)
        yield line, fence


def _opened(line: str, most_indent: int | None) -> Fence | None:
    found = _OPENING.fullmatch(line)
    if found is None or (found["mark"][0] == "`" and "`" in found["info"]):
        return None
    indent = len(found["indent"])
    if most_indent is not None and indent > most_indent:
        return None
    return Fence(found["mark"], indent, found["info"].rstrip())


def _closes(line: str, fence: Fence) -> bool:
    stripped = line.strip()
    return (
        len(stripped) >= len(fence.mark)
        and stripped == fence.mark[0] * len(stripped)
        and len(line) - len(line.lstrip()) <= fence.indent + 3
    )
