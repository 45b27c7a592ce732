"""A person's own key in 35 encodings that programs, servers and models write: no text keeps it."""

import base64
import html
import json
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest

from upskill.redaction import redactor_from

KEY = "sk-own_Zq9x/V3mT+7kPw=4AbYd"
RAW = KEY.encode()
MARK = "[redacted: ACME_API_KEY]"


def each(form: str) -> str:
    """Every byte of the key in one form, such as `%{:02X}`."""
    return "".join(form.format(byte) for byte in RAW)


def coded(before: bytes, raw: bytes = RAW) -> str:
    return base64.b64encode(before + raw + b"??").decode()


ENCODINGS = {
    "as it is": KEY,
    "percent, specials": quote(KEY, safe=""),
    "percent, lower case": quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d"),
    "a mix": "\\u0073&#107;%2D" + KEY[3:].replace("/", "\\/"),
    "percent, every character": each("%{:02X}"),
    "percent, every character, lower case": each("%{:02x}"),
    "percent, letters only": "".join(f"%{ord(c):02x}" if c.isalpha() else c for c in KEY),
    "percent, twice": quote(each("%{:02X}")),
    "JSON": json.dumps(KEY),
    "JSON in JSON": json.dumps(json.dumps({"key": KEY})),
    "JSON, slashes escaped": KEY.replace("/", "\\/"),
    "unicode escapes": each("\\u{:04x}"),
    "unicode escapes, upper case": each("\\u{:04X}"),
    "unicode escapes in JSON": json.dumps(each("\\u{:04x}")),
    "unicode escapes of specials": "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in KEY),
    "unicode escapes of JavaScript": each("\\u{{{:x}}}"),
    "escapes by hex": each("\\x{:02x}"),
    "escapes by octal": each("\\{:03o}"),
    "entities, decimal": each("&#{};"),
    "entities, decimal, padded": each("&#{:05};"),
    "entities, hex": each("&#x{:x};"),
    "entities, hex, upper case": each("&#X{:X};"),
    "entities by name": KEY.replace("/", "&sol;").replace("+", "&plus;").replace("=", "&equals;"),
    "entities, twice": html.escape(each("&#{};")),
    "quoted-printable": each("={:02X}"),
    "base64": coded(b""),
    "base64, second alignment": coded(b"u"),
    "base64, third alignment": coded(b"u:"),
    "base64 for URLs, no padding": base64.urlsafe_b64encode(RAW).decode().rstrip("="),
    "base64 twice": coded(b"Basic ", coded(b"u:").encode()),
    "base64 of UTF-16": coded(b"", KEY.encode("utf-16-le")),
    "hex": RAW.hex(),
    "hex with colons": RAW.hex(":").upper(),
    "hex, a list": ", ".join(f"0x{byte:02x}" for byte in RAW),
    "numbers, a list": json.dumps(list(RAW)),
}


def test_there_are_35_of_them() -> None:
    assert len(ENCODINGS) == len(set(ENCODINGS.values())) == 35


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_own_key_is_cleaned_in_this_encoding(name: str) -> None:
    redactor = redactor_from({"ACME_API_KEY": KEY})
    for clean in (redactor.clean_own, redactor.clean):
        cleaned = clean(f'{{"before": "{ENCODINGS[name]}", "after": 1}}')
        assert MARK in cleaned
        # What a base64 character shares with a neighbour may stay; nothing else of the key does.
        assert len(cleaned.replace(MARK, "")) <= len('{"before": "", "after": 1}') + 34
        assert "before" in cleaned
        assert "after" in cleaned


@pytest.mark.parametrize(
    "escape", [quote, lambda key: json.dumps(key), lambda key: key.encode("ascii", "xmlcharrefreplace")]
)
def test_a_key_with_letters_of_other_alphabets_is_cleaned_where_only_these_are_escaped(
    escape: Callable[[str], str | bytes],
) -> None:
    key = "schlüsselwörterЖ9"
    written = escape(key)
    text = written.decode() if isinstance(written, bytes) else written
    assert MARK in redactor_from({"ACME_API_KEY": key}).clean_own(f"a {text} b")


def test_escapes_without_end_are_read_in_no_time() -> None:
    redactor = redactor_from({"ACME_API_KEY": KEY})
    began = time.process_time()
    for piece in ("%25", "\\", "&amp;", "\\u0073", "&#0", "&#115;", "%73%6b", "=73", "s\\u0073\\\\"):
        redactor.clean_own(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 5
