"""A skill: what its folder says and which files it holds. Knows nothing about where the folder is."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillFile:
    """One file that travels with a skill. The path is relative, with forward slashes."""

    path: str
    size: int
    sha256: str
    executable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """A skill as a student can see it: cases and provenance are never part of it."""

    name: str
    description: str
    body: str
    digest: str
    frontmatter: Mapping[str, object] = field(default_factory=dict)
    files: tuple[SkillFile, ...] = ()
    notes: tuple[str, ...] = ()
    """What was forgiven while reading, in words for a person."""

    @property
    def other_files(self) -> tuple[SkillFile, ...]:
        """The files beside `SKILL.md`, which a student without tools cannot open."""
        return tuple(file for file in self.files if file.path != "SKILL.md")
