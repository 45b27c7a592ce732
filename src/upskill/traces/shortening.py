"""From a text as recorded to a text worth keeping. Knows nothing about secrets; see `redaction`."""

import re

SHORTEST_ENCODED = 600
RUN = re.compile(r"[A-Za-z0-9+/_-]+")
ENCODED = re.compile(
    rf"(?:data:[\w./+-]{{1,100}};base64,)?(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}={{0,2}}"
)
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
CONTROLS = bytes({*range(32), 127} - {9, 10})
RARE_CONTROLS = re.compile("[\x80-\x9f]")


def tidy(text: str) -> str:
    """Drop what nobody reads: encoded data, colours, lines a progress bar wrote over, control characters.

    Done before secrets are looked for: a colour code inside a key must not hide it. Half surrogates, which cannot be
    written, become question marks.
    """
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    # By way of bytes: many times as fast as a pattern, and most of a session goes through here.
    text = text.encode("utf-8", "replace").translate(None, CONTROLS).decode("utf-8")
    if not text.isascii():
        text = RARE_CONTROLS.sub("", text)
    return ENCODED.sub(_encoded, text) if _has_long_run(text) else text


def cut(text: str, *, limit: int) -> str:
    """At most about `limit` characters: the head and the tail, with what was removed between them named."""
    return text if len(text) <= limit else joined(text, text, limit=limit, lines=text.count("\n"), length=len(text))


def joined(head: str, tail: str, *, limit: int, lines: int, length: int) -> str:
    """The beginning of the one and the end of the other, and between them how much of the whole was removed."""
    half = limit // 2
    begin, end = head[:half], tail[max(0, len(tail) - half) :]
    left = lines - begin.count("\n") - end.count("\n") + 1
    return f"{begin}\n[… {length - len(begin) - len(end):,} characters, {max(1, left):,} lines left out …]\n{end}"


def _has_long_run(text: str) -> bool:
    """Whether there may be encoded data. A run that is long enough holds a whole block of half its length."""
    block = SHORTEST_ENCODED // 2
    return any(RUN.fullmatch(text, at, at + block) for at in range(0, len(text) - block + 1, block))


def _encoded(match: re.Match[str]) -> str:
    return f"[{len(match.group()):,} characters of encoded data left out]"
