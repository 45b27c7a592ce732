"""A long text in pieces that a teacher can read at once, cut where a reader would turn the page."""

import re
from collections.abc import Iterator

from upskill.domain import estimate_tokens
from upskill.domain.fences import Fence, fence_after

MOST_HEADING = 40
"""Tokens of a heading that is said again."""
_BREAK = re.compile(r"(?:#{1,6} |- \S)")


def pieces(text: str, *, most_tokens: int) -> tuple[str, ...]:
    """The text in order, in pieces of at most so many tokens. Each names the section it is in, if it is Markdown."""
    packed: list[str] = []
    current: list[str] = []
    used, section = 0, ""
    for block in _blocks(text, most_tokens=most_tokens):
        tokens = estimate_tokens(block)
        if block.startswith("## "):
            section = block.split("\n", 1)[0][:120]
        if current and used + tokens > most_tokens:
            packed.append("".join(current).rstrip("\n"))
            current, used = [], 0
            if section and not block.startswith("#") and tokens + MOST_HEADING < most_tokens:
                current, used = [f"{section} (continued)\n\n"], MOST_HEADING
        current.append(block)
        used += tokens
    if any(block.strip() for block in current):
        packed.append("".join(current).rstrip("\n"))
    return tuple(packed)


def _blocks(text: str, *, most_tokens: int) -> Iterator[str]:
    """Stretches that belong together: from one heading, item or paragraph to the next, outside of code blocks."""
    block: list[str] = []
    fence: Fence | None = None
    after_blank = False
    for line in text.splitlines(keepends=True):
        if fence is None and block and (_BREAK.match(line) or after_blank):
            yield from _bounded("".join(block), most_tokens=most_tokens)
            block = []
        fence = fence_after(line, fence)
        block.append(line)
        after_blank = not line.strip()
    if block:
        yield from _bounded("".join(block), most_tokens=most_tokens)


def _bounded(block: str, *, most_tokens: int) -> Iterator[str]:
    """The block, cut at line ends, or anywhere in a line that is too long itself."""
    most_characters = max(16, most_tokens)  # a character has at most four bytes, and four bytes are counted as a token
    if estimate_tokens(block) <= most_tokens:
        yield block
        return
    current: list[str] = []
    used = 0
    for line in block.splitlines(keepends=True):
        parts = [line]
        if estimate_tokens(line) > most_tokens:
            parts = [line[at : at + most_characters] for at in range(0, len(line), most_characters)]
        for part in parts:
            tokens = estimate_tokens(part)
            if current and used + tokens > most_tokens:
                yield "".join(current)
                current, used = [], 0
            current.append(part)
            used += tokens
    if current:
        yield "".join(current)
