"""The words of an answer with and without what models wrap around them."""

import re

from upskill.domain.fences import fence_after

_IN_BACKTICKS = re.compile(r"(`{1,2})([^`\n]+)\1")


def forms_of(text: str) -> tuple[str, ...]:
    """A text as it is, without white space at both ends, and without the fence or the backticks around all of it."""
    stripped = text.strip()
    return tuple(dict.fromkeys((text, stripped, _unwrapped(stripped))))


def _unwrapped(text: str) -> str:
    if found := _IN_BACKTICKS.fullmatch(text):
        return found[2].strip()
    first, *lines = text.replace("\r\n", "\n").split("\n")
    if (fence := fence_after(first, None)) is None:
        return text
    ends = [number for number, line in enumerate(lines) if fence_after(line, fence) is None]
    # A block that is never closed is no block, and one that closes earlier is not around all of the text.
    return "\n".join(lines[:-1]).strip("\n") if ends[:1] == [len(lines) - 1] else text
