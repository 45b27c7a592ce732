"""A draft: the content of a skill folder before it is one, and the lessons its sections came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from upskill.domain.answer import Files

LessonKind = Literal["do", "avoid", "fact", "command"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """One thing worth teaching. A lesson from a trace names its steps; one that cannot is not taken."""

    kind: LessonKind
    text: str
    steps: tuple[str, ...] = ()
    """Where it was seen, as the digest of the trace names it, such as `trace 2 step 14`; empty without a trace."""
    support: int = 1
    """In how many pieces of the material it was found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SectionSource:
    """From which lessons and steps of the recorded work a section was written."""

    heading: str
    lessons: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What a teacher wrote. `storage` makes a skill folder of it; nothing here has been measured."""

    name: str
    description: str
    body: str
    files: Files = field(default_factory=dict)
    """What lies beside `SKILL.md`, by relative path with forward slashes: `references/`, `scripts/`, `assets/`."""
    executable: frozenset[str] = frozenset()
    """Which of the files are programs."""
    frontmatter: Mapping[str, object] = field(default_factory=dict)
    """Other fields of the specification, such as `license`: kept from a skill that is improved."""
    sources: tuple[SectionSource, ...] = ()
    expendable: tuple[str, ...] = ()
    """Headings of sections that go first where the body is too long for a student, as its writer ordered them."""
