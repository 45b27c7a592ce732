"""An index of a text for fast search: its bytes, in lower case too, and its long runs of letters and digits.

Searching for a literal is a hundred times faster than matching a pattern. So anchors are searched for first, and in the
long runs only where that is possible: tokens are in them, and most of a text is not. Knows no kind of secret.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

LEAST = 20
"""A token has at least this many letters and digits on end."""
LEAD = 12
"""So many characters before a run are kept with it: `SG.` and `ya29.` are not part of the run that they begin."""
RUN_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_RUNS = bytes(97 if chr(code) in RUN_CHARACTERS else 32 for code in range(256))
_TELLING = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_MARKS = bytes(65 if chr(code) in _TELLING else 32 for code in range(256))


class Span(NamedTuple):
    """A secret in a text. Where two overlap, the more specific kind (the higher `weight`) names the whole."""

    start: int
    end: int
    kind: str
    weight: int


class TokenIndex:
    """One text. `raw` and `low` have one byte for each character, so that offsets in them are offsets in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.raw = text.encode("latin-1", "replace")
        self.low = self.raw.lower()
        classes = self.raw.translate(_RUNS) + b" "
        marks = self.raw.translate(_MARKS)
        wanted = b"a" * LEAST
        self._starts: list[int] = []
        self._ends: list[int] = []
        pieces: list[bytes] = []
        start = classes.find(wanted)
        while start >= 0:
            end = classes.find(b" ", start + LEAST)
            # snake_case and kebab-case words of any length are no tokens.
            if marks.find(b"A", start, end) >= 0:
                self._starts.append(start)
                self._ends.append(end)
                pieces.append(self.raw[max(0, start - LEAD) : end])
            start = classes.find(wanted, end)
        self.runs = b"\n".join(pieces)
        """Every run of letters, digits, `_` and `-` that is long enough to be a token, with its lead, a line each."""
        self._offsets: list[int] = []

    def offsets_in_runs(self, piece: bytes) -> Iterator[int]:
        """Where a piece of a run occurs, as offsets in the text."""
        if not self._offsets:
            offset = 0
            for start, end in zip(self._starts, self._ends, strict=True):
                self._offsets.append(offset)
                offset += end - max(0, start - LEAD) + 1
        for found in offsets(self.runs, piece):
            number = bisect_right(self._offsets, found) - 1
            yield max(0, self._starts[number] - LEAD) + found - self._offsets[number]

    def runs_of(self, least: int) -> list[int]:
        """Where the runs of at least that length begin."""
        return [start for start, end in zip(self._starts, self._ends, strict=True) if end - start >= least]


def offsets(text: bytes, piece: bytes) -> Iterator[int]:
    """Where a piece of text occurs, overlaps included."""
    found = text.find(piece)
    while found >= 0:
        yield found
        found = text.find(piece, found + 1)
