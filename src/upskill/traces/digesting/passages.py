"""The passages of a text that no recorder wrote: the whole text if it fits, else the passages that tell most."""

import heapq
import re
from collections.abc import Iterable, Iterator

from upskill.domain.fences import Fence, fence_after
from upskill.domain.trace_digest import Finding, Part, Place
from upskill.traces.excerpt import Generalise, error_line, one_line, plain, shortened, signature, sounds_failed

_LONGEST = 1_600
_MOST = 2_000
_HEADING = re.compile(r"^(?:#{1,6}\s|[A-Z][\w ]{0,30}:\s*$|\*\*[^*]{1,40}\*\*:?\s*$)")
_COMMAND = re.compile(r"^\s*(?:\$|>>>|%|❯)\s+\S", re.MULTILINE)
_REASONS = re.compile(
    r"(?i)\b(?:fix(?:ed|es)?|because|instead|turns? out|root cause|solution|solved|workaround|must|never|always|don'?t"
    r"|note that|important|require[sd]?|avoid|make sure|the problem|failed because|works? now|passes?|passed"
    r"|learned|lesson|gotcha)\b"
)


class Passages:
    """Collects the passages of a text, streamed; holds at most a few thousand, the ones that tell most."""

    def __init__(self, *, trace: int, generalise: Generalise, whole_chars: int) -> None:
        self.trace = trace
        self.chars = 0
        self._generalise = generalise
        self._whole_chars = whole_chars
        self._whole: list[str] = []
        self._best: list[tuple[float, int, Finding]] = []
        self._lines = 0

    def add(self, lines: Iterable[str]) -> None:
        """Take in all lines of the text."""
        for first, rows in _passages(self._counted(lines)):
            finding = self._finding(first, rows)
            if finding is not None:
                # Where points are equal the earlier one stays, so the position is negative in the heap.
                heapq.heappush(self._best, (finding.points, -first, finding))
                if len(self._best) > _MOST:
                    heapq.heappop(self._best)

    def findings(self) -> list[Finding]:
        """The whole text as one finding where it is short enough, else the passages in their order."""
        if self.chars <= self._whole_chars and self._lines:
            text = self._generalise(plain("\n".join(self._whole))).strip("\n")
            part = Part(label="", text=text)
            return [
                Finding(
                    kind="passage",
                    title="the whole text",
                    key=signature(text[:400]),
                    places=(Place(trace=self.trace, lines=(1, self._lines)),),
                    parts=(part,),
                    brief=(part,),
                    points=500.0,
                )
            ]
        return [finding for _, _, finding in sorted(self._best, key=lambda entry: -entry[1])]

    def _counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._lines += 1
            self.chars += len(line) + 1
            if self.chars <= self._whole_chars:
                self._whole.append(line)
            yield line

    def _finding(self, first: int, rows: list[str]) -> Finding | None:
        text = self._generalise(plain("\n".join(rows))).strip("\n")
        if len(text.strip()) < 12:
            return None
        failed = sounds_failed(text)
        title = one_line(error_line(text), most=100) if failed else one_line(text.lstrip("#* "), most=80)
        return Finding(
            kind="passage",
            title=title,
            key=signature(text),
            places=(Place(trace=self.trace, lines=(first, first + len(rows) - 1)),),
            parts=(Part(label="", text=shortened(text, lines=40, chars=_LONGEST)),),
            brief=(Part(label="", text=shortened(text, lines=8, chars=400)),),
            points=_points(text, opening=first <= 3, failed=failed),
        )


def _points(text: str, *, opening: bool, failed: bool) -> float:
    """One for being there; more for the opening, for an error, for reasons and for commands."""
    reasons = _REASONS.search(text) is not None
    commands = "```" in text or _COMMAND.search(text) is not None
    return 1.0 + 5.0 * opening + 2.0 * failed + 1.5 * reasons + 1.0 * commands


def _passages(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Pieces between blank lines and before headings, with their first line; fenced blocks stay whole up to a size."""
    rows: list[str] = []
    start, size = 1, 0
    fence: Fence | None = None
    for number, line in enumerate(lines, start=1):
        line = line[:_LONGEST]
        boundary = fence is None and (not line.strip() or (_HEADING.match(line) and size > 200))
        if rows and (size > _LONGEST or (boundary and size > 120)):
            yield start, rows
            rows, size = [], 0
        fence = fence_after(line, fence, most_indent=None)
        if not rows:
            start = number
        if rows or line.strip():
            rows.append(line)
            size += len(line) + 1
    if rows:
        yield start, rows
