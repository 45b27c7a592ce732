"""An index of a text for fast search: its bytes, in lower case too, and its long runs of letters and digits.

Searching for a literal is a hundred times faster than matching a pattern. So anchors are searched for first, and in the
long runs only where that is possible: tokens are in them, and most of a text is not. Knows no kind of secret. Runs that
are encoded text (base64, hex, dumps of bytes) are decoded, searched and removed whole.
"""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
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


_LEAST = 24
_LONGEST = 65_536
_BEGINS = re.compile(rf"(?:[A-Za-f][A-Za-z0-9+/]{{3}}){{{_LEAST // 4}}}")
"""Every group of four that stands for text begins with one of the first 32 letters: most other runs fail here."""
_BASE64 = re.compile(
    rf"[A-Za-z0-9+/]{{{_LEAST},{_LONGEST}}}={{0,2}}(?:{NEW_LINE}[A-Za-z0-9+/]{{4,{_LONGEST}}}={{0,2}}){{0,1000}}"
)
_BREAK = re.compile(NEW_LINE)
_HEX = re.compile(rf"(?:[2-7][0-9a-fA-F]|0[9aAdD]){{{_LEAST // 2},{_LONGEST}}}(?![0-9a-zA-Z])")
_DUMPED = re.compile(
    rf"0[0-9a-f]{{6,7}}:?[ ]{{1,2}}(?P<bytes>(?:[0-9a-f]{{2,4}}[ ]{{1,3}}){{1,16}})[^\n]{{0,20}}?(?:{NEW_LINE}|$)"
)
_TEXT = frozenset(b"\t\n\r") | frozenset(range(32, 127))


def encoded_secrets(index: TokenIndex, holds_secret: Callable[[str], bool]) -> Iterator[Span]:
    """Every encoded text in which a secret is found once it is decoded."""
    done = 0
    for start in index.runs_of(_LEAST):
        if start < done:
            continue
        if start and index.text[start - 1] == "\\" and index.text[start] in "nrt":
            start += 1  # the letter belongs to the escape
        for pattern, decoded in ((_HEX, _from_hex), (_BASE64, _from_base64)):
            if pattern is _BASE64 and not _begins_text(index.text, start):
                continue
            if (match := pattern.match(index.text, start)) and holds_secret(decoded(match.group())):
                done = match.end()
                yield Span(start, done, "encoded secret", 5)
    for offset in offsets(index.raw, b"00000000"):
        if offset >= done and (found := _dump(index.text, offset)):
            done = found[1]
            if holds_secret(found[0]):
                yield Span(offset, done, "encoded secret", 5)


def _begins_text(text: str, start: int) -> bool:
    begin = _BEGINS.match(text, start)
    return begin is not None and bool(_plain(base64.b64decode(begin.group())))


def _plain(raw: bytes) -> str:
    """The text that bytes stand for; nothing if they stand for none."""
    if len(raw) > 3 and not raw[1] and not raw[3]:
        raw = raw[::2]
    return raw.decode("ascii") if _TEXT.issuperset(raw) else ""


def _from_base64(found: str) -> str:
    joined = _BREAK.sub("", found).rstrip("=")
    whole = joined[: len(joined) - (len(joined) % 4 == 1)]
    try:
        raw = base64.b64decode(whole + "=" * (-len(whole) % 4))
    except binascii.Error:  # padding in the middle: two texts, one after the other
        raw = base64.b64decode(found[:_LEAST])
    return raw.replace(b"\0", b"").decode("utf-8", "replace")


def _from_hex(found: str) -> str:
    return bytes.fromhex(found).decode("ascii")


def _dump(text: str, start: int) -> tuple[str, int] | None:
    """The bytes of a dump as text, and where it ends."""
    raw, at = "", start
    while len(raw) < _LONGEST and (line := _DUMPED.match(text, at)):
        raw, at = raw + line["bytes"].replace(" ", ""), line.end()
    return (bytes.fromhex(raw[: len(raw) // 2 * 2]).decode("latin-1"), at) if raw else None
