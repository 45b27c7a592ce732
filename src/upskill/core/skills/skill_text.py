"""The text of a skill at one moment, as a report shows it."""

from dataclasses import dataclass

from upskill.core.nouns.text import estimated_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class FileText:
    """One file beside `SKILL.md`."""

    path: str
    size: int
    """Bytes."""
    text: str | None
    """`None` where it is not a text, or too long to be kept."""

    @property
    def tokens(self) -> int:
        """Estimated from its size."""
        return estimated_tokens(self.size)


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillText:
    """What a student may see of a skill. Cases and provenance are never part of it."""

    name: str
    description: str
    digest: str
    text: str | None
    """`SKILL.md`, whole; `None` where it is not known any more, or too long to be kept."""
    size: int = 0
    """Bytes of `SKILL.md`."""
    files: tuple[FileText, ...] = ()
    left_out: int = 0
    """Further files that are not listed."""
    note: str | None = None
    """What a reader should know of this text: which version it is, or why it is missing."""

    @property
    def tokens(self) -> int:
        """Of `SKILL.md`, estimated from its size."""
        return estimated_tokens(self.size)
