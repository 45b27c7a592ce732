"""Text for people and files: counts with their nouns, printable lines, whole characters, estimated tokens; and one way
to turn a value into a digest, so that equal values have equal digests everywhere.
"""

import hashlib
import json
import re
import textwrap

# Made once: a plan takes a digest per trial, and `json.dumps` would make an encoder for each.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: object) -> str:
    """The one spelling of a JSON value: keys sorted, no spaces, characters unescaped."""
    return _ENCODER.encode(value)


def digest_of(value: object) -> str:
    """SHA-256, in hex, of a JSON value in canonical form."""
    # Lone surrogates can come out of JSON files; they have no UTF-8, so they are passed through.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
"""Controls, what turns the direction of text, separators of lines, halves of characters, invisible tags."""
BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 per token, for estimates."""
MINUS = "\N{MINUS SIGN}"
_NEXT_TO_ZERO = 0.0005
LONGEST_LINE = 400
"""Characters of foreign text in a message."""
HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that nobody sees."""


def size_words(bytes: int) -> str:
    """How large a file is."""
    return f"{bytes / 1_000_000:,.1f} MB" if bytes >= 100_000 else f"{bytes / 1_000:,.1f} kB"


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 call`, `1,200 calls`, `2 fixes`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(text: str, most: int) -> str:
    """The text on one line, and with an ellipsis where it has more than this many characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def wrapped(text: str, width: int) -> list[str]:
    """A line in rows, broken between words only: a path in two parts cannot be copied. Later rows are indented."""
    rows = textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * (len(text) - len(text.lstrip()) + 2),
        replace_whitespace=False,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return rows or [""]


def whole_characters(text: str) -> str:
    """The text as it can be written and sent: half a character becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def readable_text(data: bytes) -> str | None:
    """The text of a file; `None` where it is not one."""
    text = decoded(data)
    return None if text is None or "\0" in text else text


def decoded(data: bytes) -> str | None:
    """The bytes as UTF-8; `None` where they are not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def estimated_tokens(text_bytes: int) -> int:
    """The estimated tokens of so many bytes, rounded up. An exact count would need the tokenizer; shown with a `~`."""
    return -(-text_bytes // BYTES_PER_TOKEN)


def estimate_tokens(text: str) -> int:
    return estimated_tokens(len(text.encode("utf-8", "replace")))


def printable(text: str, *, instead: str = " ") -> str:
    """The text without anything that could move a cursor or colour a terminal; `instead` takes its place."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else instead for sign in text)


def visible(text: str) -> str:
    """The text on one line, with every character that would act on a terminal written as an escape.

    Languages that are written from right to left and joined emoji stay as they are.
    """
    return _ACTS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def on_one_line(text: str) -> str:
    """The text with whatever could move a cursor, colour a terminal or fail to be encoded written as an escape."""
    if len(text) > LONGEST_LINE:
        text = text[:LONGEST_LINE] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def points(share: float) -> str:
    """A share as signed whole points; below half a point with a decimal, and `0` where that would be 0.0.

    The one place where people read a sign, so there is one minus sign.
    """
    rounded = round(share * 100)
    if rounded == 0 and abs(share) >= _NEXT_TO_ZERO:
        return f"{share * 100:+.1f}".replace("-", MINUS)
    return f"{rounded:+d}".replace("-", MINUS) if rounded else "0"


def points_range(low: float, high: float) -> str:
    """Two ends in points. An end that was cut next to zero has no figure: it only excludes zero."""
    if 0 < low < _NEXT_TO_ZERO:
        return f"above 0 to {points(high)}"
    if -_NEXT_TO_ZERO < high < 0:
        return f"{points(low)} to below 0"
    return f"{points(low)} to {points(high)}"
