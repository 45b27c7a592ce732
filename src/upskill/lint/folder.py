"""A folder that may be a skill: reads it whatever is in it, and finds what in it is no ordinary file.

`read_skill` refuses what is wrong; here everything is described instead. Too much is refused before it is read."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from upskill.core.nouns.answer import Files
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import (
    NOT_FOR_STUDENTS,
    SKILL_FILE,
    name_clashes,
    shared_path_problem,
)
from upskill.core.nouns.text import digest_of, on_one_line
from upskill.core.skills.skill_files import FolderWalk, UnusualEntry, folder_name, open_plain
from upskill.core.skills.skills import find_skills
from upskill.errors import SkillInvalid, UpskillError, UsageError
from upskill.lint.rules import finding

_HARMLESS = frozenset({"hard-link", "skipped-folder"})
"""What does not keep a skill from being used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderContents:
    """The files of a folder by path, with forward slashes, and everything else in it."""

    name: str
    """The name of the folder."""
    files: Files
    """What an agent gets."""
    digests: Mapping[str, str]
    """SHA-256 of each of these files."""
    private: Files = field(default_factory=dict)
    """Cases, provenance and evidence, which no agent gets."""
    unusual: tuple[UnusualEntry, ...] = ()

    @property
    def digest(self) -> str | None:
        """The digest of the skill, as `eval` records it; `None` where something in the folder cannot be used."""
        if SKILL_FILE not in self.files or any(entry.kind not in _HARMLESS for entry in self.unusual):
            return None
        return digest_of([[path, self.digests[path]] for path in sorted(self.digests)])


MOST_ENTRIES = 10_000
MOST_BYTES = 100_000_000


def skill_folders(path: Path) -> Iterator[Path]:
    """The skill folders that a path names: a skill, its `SKILL.md`, another of its files, or a folder of skills.

    A file that belongs to no skill names none. Raises `UsageError` where there is nothing, or a folder has no skills.
    """
    shown = on_one_line(str(path))
    if not os.path.lexists(path):
        raise UsageError(f"{shown}: no such file or folder", hint="name a skill, or a folder of skills")
    if not path.is_dir():
        yield from _skill_of(path)
        return
    if _is_skill(path):
        yield path
        return
    found = False
    for folder in find_skills(path):
        found = True
        yield folder
    if not found:
        raise UsageError(
            f"{shown}: has no {SKILL_FILE}, and no skills in it", hint="a skill is a folder with a SKILL.md"
        )


def _skill_of(file: Path) -> Iterator[Path]:
    """The outermost folder above a file that is a skill: what lies in a skill is a part of it."""
    folder = next((one for one in reversed(file.parents) if _is_skill(one)), None)
    if folder is not None:
        yield folder


def _is_skill(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (SKILL_FILE, SKILL_FILE.lower()))


def read_folder(folder: Path) -> FolderContents:
    """Everything in the folder of a skill. Raises `SkillInvalid`, in one line, where it is too large or unreadable."""
    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "a link to itself"
        raise SkillInvalid(f"{on_one_line(str(folder))}: cannot be read ({reason})") from None
    walk = _Walk(root, shown=on_one_line(str(folder)))
    walk.enter(root, (), frozenset({root}))
    files: dict[str, bytes] = {}
    private: dict[str, bytes] = {}
    for path, source in sorted(walk.found):
        data = walk.read(path, source)
        if data is not None:
            is_private = path.split("/", 1)[0].casefold() in NOT_FOR_STUDENTS
            (private if is_private else files)[path] = data
    return FolderContents(
        name=folder_name(root),
        files=files,
        digests={path: hashlib.sha256(data).hexdigest() for path, data in files.items()},
        private=private,
        unusual=tuple(sorted(walk.unusual, key=lambda one: (one.path, one.kind))),
    )


class _Walk(FolderWalk):
    """A walk with bounds of its own: what is found is read whole."""

    def __init__(self, root: Path, *, shown: str) -> None:
        super().__init__(root, private=True)
        self._shown = shown

    def require_bounds(self, file: str = "", size: int = 0) -> None:
        most = f"{MOST_BYTES // 1_000_000} MB"
        if self.entries > MOST_ENTRIES:
            why = f"it has more than {MOST_ENTRIES:,} files and folders"
        elif size > MOST_BYTES:
            why = f"{on_one_line(file)} has {size:,} bytes; {most} is the most"
        elif self.total_bytes > MOST_BYTES:
            why = f"its files have more than {most}"
        else:
            return
        raise SkillInvalid(
            f"{self._shown}: not searched: {why}", hint="check the folder; a skill usually has only a few files"
        )

    def read(self, path: str, source: Path) -> bytes | None:
        """The bytes of a file as it was counted; `None`, and noted, where it cannot be read."""
        try:
            with os.fdopen(open_plain(source), "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, UpskillError) as error:
            why = getattr(error.__cause__ or error, "strerror", None) or "no ordinary file"
            self.note((path,), "cannot-be-read", why)
            return None
        if len(data) > MOST_BYTES:
            raise SkillInvalid(f"{self._shown}: not searched: {path} grew while it was read", hint="try again")
        return data


def find(contents: FolderContents) -> Iterator[Finding]:
    """What is no ordinary file, and names that not every system can hold."""
    yield from map(_unusual, contents.unusual)
    if problem := shared_path_problem(contents.name):
        yield finding("file-name-not-portable", 1, contents.name, reason=f"The name of the folder {problem}.")
    yield from _names(sorted(contents.files))


def _unusual(entry: UnusualEntry) -> Finding:
    arrow = " -> " if "link" in entry.kind and entry.kind != "hard-link" else ": "
    excerpt = f"{entry.path}{arrow}{entry.detail}" if entry.detail else entry.path
    return finding(entry.kind, 1, excerpt, file=entry.path)


def _names(paths: Sequence[str]) -> Iterator[Finding]:
    for other, path in name_clashes(paths):
        yield finding("names-differ-by-case", 1, f"{other} and {path}", file=path)
    for path in paths:
        if problem := shared_path_problem(path):
            yield finding("file-name-not-portable", 1, path, file=path, reason=f"This name {problem}.")
