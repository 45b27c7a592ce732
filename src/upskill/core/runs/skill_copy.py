"""`skill.json` in a run folder: the text of the skill that was measured, so that a report can show it later.

Small texts only, within limits; neither the cases nor `skill_meta.json`.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill import disk
from upskill.core.nouns.skill import SKILL_FILE, Skill
from upskill.core.nouns.text import estimated_tokens, readable_text
from upskill.core.runs.records import keep_text, record_text
from upskill.core.skills.skill_files import find_files, first_problem, read_plain
from upskill.errors import EngineError


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
        """Tokens of `SKILL.md`, estimated from its size."""
        return estimated_tokens(self.size)


SKILL_COPY = "skill.json"
MOST_FILES = 100
MOST_FILE_BYTES = 200_000
MOST_BYTES = 500_000
"""Bytes of all texts together."""
_COPY = TypeAdapter(SkillText)


def skill_text(folder: Path, skill: Skill) -> SkillText:
    """The text of a skill folder, as far as it is short; `skill` is what was read from it."""
    root = folder.parent if folder.name == SKILL_FILE else folder
    sources = {file.path: file.source for file in find_files(root.resolve(), [])}
    room, texts = MOST_BYTES, {}
    for file in sorted(skill.files, key=lambda one: one.path != SKILL_FILE)[: MOST_FILES + 1]:
        if file.size <= min(room, MOST_FILE_BYTES) and file.path in sources:
            texts[file.path] = _text(sources[file.path])
            room -= file.size
    others = skill.other_files
    return SkillText(
        name=skill.name,
        description=skill.description,
        digest=skill.digest,
        text=texts.get(SKILL_FILE),
        size=next((file.size for file in skill.files if file.path == SKILL_FILE), 0),
        files=tuple(
            FileText(path=file.path, size=file.size, text=texts.get(file.path)) for file in others[:MOST_FILES]
        ),
        left_out=max(0, len(others) - MOST_FILES),
    )


def _text(source: Path) -> str | None:
    try:
        return readable_text(disk.beginning(source, MOST_FILE_BYTES + 1))
    except OSError:
        return None


def keep_skill_text(run: Path, text: SkillText) -> None:
    """Keep the text with a run, without keys of the user's own."""
    keep_text(run / SKILL_COPY, record_text(_COPY, text))


def read_skill_text(run: Path) -> SkillText | None:
    """The text that a run kept; `None` where it kept none. Raises `EngineError` where the file is damaged."""
    try:
        return _COPY.validate_json(read_plain(run / SKILL_COPY))
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise EngineError(f"{SKILL_COPY}: cannot be read: {first_problem(error)}") from None
