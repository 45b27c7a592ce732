"""An index of a text for fast search: its bytes, in lower case too, and its long runs of letters and digits.

Searching for a literal is a hundred times faster than matching a pattern. So anchors are searched for first, and in the
long runs only where that is possible: tokens are in them, and most of a text is not. Knows no kind of secret.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

LEAST = 20
"""A token has at least this many letters and digits on end."""
LEAD = 12
"""So many characters before a run are kept with it: `SG.` and `ya29.` are not part of the run that they begin."""
RUN_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_RUNS = bytes(97 if chr(code) in RUN_CHARACTERS else 32 for code in range(256))
NEW_LINE = r"(?:\r?\n|(?:\\{1,64}r)?\\{1,64}n)"
"""The end of a line, as it is or escaped in JSON inside JSON."""
_MARKS = bytes(65 if chr(code) in "0123456789" else 66 if chr(code).isupper() else code for code in range(256))
_MAY_LACK_DIGITS = frozenset((b"AK", b"AS", b"gh", b"hv", b"AI"))


ANCHORS = {
    "": ("pass", "secret", "auth", "cred", "net use", ":5432:", " codes", "phrase", "identif"),
    "k": ("key", "token", "psk", "hook", "cookie", "::add-mask::", "unlock", "adgangskode", "kodeord", "kata sandi"),
    "w": ("pwd", "pw", "assword:", "kennwort", "wachtwoord"),
    "b": ("bearer", "basic"),
    "g": ("login", "log in with ", "securestring "),
    "v": ("clave",),
    "q": ("mqctl ",),
    "/": ("://", "/p:"),
    "*": ("*:",),
    "<": ("<<<",),
}
"""What is searched for in each text, in lower case, by a letter that few words have: a letter is found fast."""
NAMES = ("pass", "pwd", "pw", "secret", "token", "key", "auth", "cred", "login", "psk", "phrase")
"""The anchors of which most names of secrets are made."""


def _around(letter: str, anchor: str) -> str:
    at = anchor.index(letter) + 1
    return f"(?={re.escape(anchor[at:])})(?<={re.escape(anchor[:at])})()"


_BY_LETTER = {
    letter: re.compile(f"{re.escape(letter)}(?:{'|'.join(_around(letter, anchor) for anchor in anchors)})".encode())
    for letter, anchors in ANCHORS.items()
    if letter
}


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
        self._starts, self._ends, self.runs = long_runs(self.raw)
        """Every run of letters, digits, `_` and `-` that may be a token, with its lead, a line each."""
        self._offsets: list[int] = []
        self.at = _anchored(self.low)
        """Where each of the anchors stands."""

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


def long_runs(raw: bytes) -> tuple[list[int], list[int], bytes]:
    """Where the runs that may be tokens begin and end, and all of them with their leads, a line each."""
    classes = raw.translate(_RUNS) + b" "
    wanted = b"a" * LEAST
    starts: list[int] = []
    ends: list[int] = []
    pieces: list[bytes] = []
    start = classes.find(wanted)
    while start >= 0:
        end = classes.find(b" ", start + LEAST)
        marks = raw[start:end].translate(_MARKS)
        # Words of any length, however they are joined, are no tokens.
        if b"A" in marks or (
            b"B" in marks
            and (b"-" in marks or raw[start - 1 : start] == b"." or raw[start : start + 2] in _MAY_LACK_DIGITS)
        ):
            starts.append(start)
            ends.append(end)
            pieces.append(raw[max(0, start - LEAD) : end])
        start = classes.find(wanted, end)
    return starts, ends, b"\n".join(pieces)


def _anchored(low: bytes) -> dict[str, list[int]]:
    found = {anchor: list(offsets(low, anchor.encode())) for anchor in ANCHORS[""]}
    for letter, pattern in _BY_LETTER.items():
        anchors = ANCHORS[letter]
        found |= {anchor: [] for anchor in anchors}
        for match in pattern.finditer(low):
            anchor = anchors[(match.lastindex or 1) - 1]
            found[anchor].append(match.start() - anchor.index(letter))
    return found


def offsets(text: bytes, piece: bytes) -> Iterator[int]:
    """Where a piece of text occurs, overlaps included."""
    found = text.find(piece)
    while found >= 0:
        yield found
        found = text.find(piece, found + 1)
