"""Where an edit applies in a Markdown text: words that stand there exactly once, or a section by its heading.

Knows nothing of skills. A place that cannot be found is told in words that help to name it rightly.
"""

import difflib
import re
from collections.abc import Sequence

from upskill.domain.fences import Fence, fence_after

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_MOST_COMPARED = 200


class EditRefused:
    """Why an edit does not apply."""

    def __init__(self, why: str) -> None:
        self.why = why


def find_quote(text: str, quote: str) -> tuple[int, int] | EditRefused:
    """Where the quoted words begin and end; they must stand there exactly once."""
    for wanted in dict.fromkeys((quote, quote.strip("\n"), quote.strip())):
        count = text.count(wanted) if wanted else 0
        if count == 1:
            start = text.index(wanted)
            return start, start + len(wanted)
        if count > 1:
            return EditRefused(f"the quoted text stands there {count} times; quote more of it")
    first = next((line.strip() for line in quote.splitlines() if line.strip()), "")[:_MOST_COMPARED]
    lines = [line.strip()[:_MOST_COMPARED] for line in text.splitlines() if line.strip()]
    near = difflib.get_close_matches(first, lines, n=1, cutoff=0.6)
    return EditRefused("the quoted text is not there" + (f"; the nearest line is “{near[0][:160]}”" if near else ""))


def find_section(text: str, heading: str) -> tuple[int, int] | EditRefused:
    """Where a section begins, with its heading, and where the next of its rank does."""
    lines = text.splitlines(keepends=True)
    found = headings(lines)
    wanted = plain(heading)
    matching = [place for place in found if place[2] == wanted]
    if len(matching) != 1:
        there = ", ".join(f"“{words}”" for _, _, words in found) or "none"
        many = f"that heading stands there {len(matching)} times; quote text instead" if matching else ""
        return EditRefused(many or f"there is no such heading; there are {there}")
    row, rank, _ = matching[0]
    end = next((other for other, level, _ in found if other > row and level <= rank), len(lines))
    return sum(map(len, lines[:row])), sum(map(len, lines[:end]))


def headings(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Row, rank and words of every heading that is not inside a code block."""
    found = []
    for row, (line, inside) in enumerate(zip(lines, _inside_blocks(lines), strict=True)):
        if not inside and (match := _HEADING.match(line.rstrip("\r\n"))):
            found.append((row, len(match[1]), plain(match[2])))
    return found


def _inside_blocks(lines: Sequence[str]) -> list[bool]:
    """For every line, whether a code block is open behind it. A fence is never a heading."""
    inside = []
    fence: Fence | None = None
    for line in lines:
        fence = fence_after(line, fence)
        inside.append(fence is not None)
    return inside


def is_open(text: str) -> bool:
    """Whether a code block is never closed, or only behind the beginning of the next: it would swallow what follows."""
    fence: Fence | None = None
    for line in text.splitlines():
        begun = None if fence is None else fence_after(line, None)
        if fence is not None and begun is not None and begun.info and begun.mark.startswith(fence.mark):
            return True
        fence = fence_after(line, fence)
    return fence is not None


def plain(heading: str) -> str:
    """A heading as it is compared: its words, in whichever case."""
    return " ".join(heading.strip("# \t").split()).casefold()


def insert_between(before: str, text: str, after: str, *, inline: bool) -> str:
    """Inserted text stands on lines of its own, so that it cannot fall into the middle of a list item or a sentence."""
    if inline:
        return f"{before.rstrip()} {text.strip()} {after.strip()}".strip()
    if before and not before.endswith("\n"):
        rest_of_line, _, after = after.partition("\n")
        before = f"{before}{rest_of_line}\n"
    gap = before[len(before.rstrip("\n")) + 1 :]
    before = before[: len(before) - len(gap)]
    block = text.strip("\n") + "\n"
    if before.strip() and _HEADING.match(block.splitlines()[0]):
        before += "\n"
        gap = gap or ("" if after.startswith("\n") else "\n")
    return before + block + (gap if after.strip() else "") + after
