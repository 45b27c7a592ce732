"""Text that was encoded and holds secrets: base64, hex, dumps of bytes. It is decoded, searched and removed whole."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from upskill.redaction.token_index import NEW_LINE, Span, TokenIndex, offsets

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
