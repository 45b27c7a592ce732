"""The body of a skill as sections, and back. A heading inside a code block is no heading."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from upskill.domain.fences import Fence, fence_after

_HEADING = re.compile(r"##[ \t]+(?P<heading>.*?)[ \t#]*\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading of the second level with what follows it. The first may have no heading: what stands before all."""

    heading: str
    text: str
    raw: str | None = None
    """The section as it stood in a body, byte for byte; `None` for one that is new."""


def split_body(body: str) -> tuple[Section, ...]:
    """The sections of a body, in order. Joined again they are the same body, byte for byte."""
    stretches: list[tuple[str, list[str]]] = [("", [])]
    fence: Fence | None = None
    for line in body.splitlines(keepends=True):
        fence = fence_after(line, fence)
        found = _HEADING.match(line.rstrip("\r\n")) if fence is None else None
        if found is not None:
            stretches.append((found["heading"], []))
        stretches[-1][1].append(line)
    sections: list[Section] = []
    before = ""
    for number, (heading, lines) in enumerate(stretches):
        raw = before + "".join(lines)
        if number == 0 and not raw.strip():  # white space before the first heading belongs to it
            before = raw
            continue
        text = "".join(lines[1:] if number else lines).strip("\r\n")
        sections.append(Section(heading=heading, text=text, raw=raw))
        before = ""
    return tuple(sections)


def join_body(sections: Iterable[Section]) -> str:
    """The body that these sections make. New ones are set off by an empty line; the others stay as they stood."""
    body = ""
    after_new = False
    for section in sections:
        if section.raw is not None and not after_new:
            body += section.raw
            continue
        body = f"{body.rstrip()}\n\n" if body.strip() else ""
        if section.raw is not None:
            body += section.raw.lstrip("\r\n")
            after_new = False
        else:
            head = f"## {section.heading}\n\n" if section.heading else ""
            body += f"{head}{section.text.strip(chr(10))}\n"
            after_new = True
    return body


def tidy_section(heading: str, text: str) -> Section:
    """A section as a teacher gave it, without what would break the body around it."""
    heading = " ".join(heading.replace("#", " ").split())[:120]
    text = _without_wrapping(text.strip("\n").rstrip())
    first, _, rest = text.partition("\n")
    if first.startswith("#") and " ".join(first.lstrip("#").split()).casefold() == heading.casefold():
        text = rest.strip("\n")
    fence: Fence | None = None
    for line in text.split("\n"):
        fence = fence_after(line, fence)
    if fence is not None:  # a block that was never closed would swallow what follows
        text = f"{text}\n{fence.mark}"
    return Section(heading=heading, text=text)


def _without_wrapping(text: str) -> str:
    """The text of a fence that holds everything, as models like to hand over Markdown."""
    found = re.fullmatch(r"(`{3,})(?:markdown|md)\n(?P<inside>.*)\n\1", text, re.DOTALL)
    return found["inside"].strip("\n") if found else text
