"""The body of a skill as sections, and back. A heading inside a code block is no heading."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_HEADING = re.compile(r"##[ \t]+(?P<heading>.*?)[ \t#]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading of the second level with what follows it. The first may have no heading: what stands before all."""

    heading: str
    text: str


def split_body(body: str) -> tuple[Section, ...]:
    """The sections of a body, in order."""
    sections: list[Section] = []
    heading: str | None = None
    lines: list[str] = []
    fence: str | None = None
    for line in body.split("\n"):
        fence = _fence_after(line, fence)
        found = _HEADING.match(line) if fence is None else None
        if found is None:
            lines.append(line)
            continue
        if heading is not None or any(row.strip() for row in lines):
            sections.append(Section(heading=heading or "", text="\n".join(lines).strip("\n")))
        heading, lines = found["heading"], []
    if heading is not None or any(row.strip() for row in lines):
        sections.append(Section(heading=heading or "", text="\n".join(lines).strip("\n")))
    return tuple(sections)


def join_body(sections: Iterable[Section]) -> str:
    """The body that these sections make, ending in one line break."""
    parts = [f"## {section.heading}\n\n{section.text}" if section.heading else section.text for section in sections]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def tidy_section(heading: str, text: str) -> Section:
    """A section as a teacher gave it, without what would break the body around it."""
    heading = " ".join(heading.replace("#", " ").split())[:120]
    text = _without_wrapping(text.strip("\n").rstrip())
    first, _, rest = text.partition("\n")
    if first.startswith("#") and " ".join(first.lstrip("#").split()).casefold() == heading.casefold():
        text = rest.strip("\n")
    fence: str | None = None
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
    if fence is not None:  # a block that was never closed would swallow what follows
        text = f"{text}\n{fence}"
    return Section(heading=heading, text=text)


def _without_wrapping(text: str) -> str:
    """The text of a fence that holds everything, as models like to hand over Markdown."""
    found = re.fullmatch(r"(`{3,})(?:markdown|md)\n(?P<inside>.*)\n\1", text, re.DOTALL)
    return found["inside"].strip("\n") if found else text


def _fence_after(line: str, fence: str | None) -> str | None:
    """The fence that is open after this line."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if fence is None:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence) and not line.strip().strip("`~")
    return None if closes else fence
