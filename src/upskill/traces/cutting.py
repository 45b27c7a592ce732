"""From a text as recorded to a text worth keeping. Knows nothing about secrets; see `redaction`."""

import re

ENCODED = re.compile(r"(?:data:[\w./+-]{1,100};base64,)?[A-Za-z0-9+/_-]{600,}={0,2}")
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
OVERWRITTEN = re.compile(r"[^\n\r]*\r+(?!\n)")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
SURROGATES = re.compile("[\ud800-\udfff]")


def tidy(text: str) -> str:
    """Drop what nobody reads: encoded data, colours, lines a progress bar wrote over, control characters.

    Done before secrets are looked for: a colour code inside a key must not hide it.
    """
    if not text.isascii():
        text = SURROGATES.sub("\ufffd", text)
    if not text.isprintable():
        if "\x1b" in text:
            text = ESCAPES.sub("", text)
        if "\r" in text:
            text = OVERWRITTEN.sub("", text.replace("\r\n", "\n"))
        text = CONTROLS.sub("", text)
    if len(text) >= 600:
        text = ENCODED.sub(_encoded, text)
    return text


def cut(text: str, *, limit: int) -> str:
    """At most about `limit` characters: the head and the tail, with what was removed between them named."""
    if len(text) <= limit:
        return text
    half = limit // 2
    head, tail = text[:half], text[len(text) - half :]
    middle = text[half : len(text) - half]
    return f"{head}\n[… {len(middle):,} characters, {middle.count(chr(10)) + 1:,} lines left out …]\n{tail}"


def _encoded(match: re.Match[str]) -> str:
    return f"[{len(match.group()):,} characters of encoded data left out]"
