"""A folder that may be a skill: reads it whatever is in it, and finds what in it is no ordinary file.

Never through a link that leaves it, never from a pipe. `read_skill` refuses what is wrong; here everything is described
instead. Too much is refused before it is read."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from upskill.core.nouns.answer import Files
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import (
    NEVER_PART_OF_A_SKILL,
    NOT_FOR_STUDENTS,
    SKILL_FILE,
    name_clashes,
    shared_path_problem,
)
from upskill.core.nouns.text import digest_of, on_one_line, whole_characters
from upskill.core.skills.skill_files import open_plain
from upskill.core.skills.skills import find_skills
from upskill.errors import SkillInvalid, UpskillError, UsageError
from upskill.lint.rules import finding

_HARMLESS = frozenset({"hard-link", "skipped-folder"})
"""What does not keep a skill from being used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnusualEntry:
    """Something in a folder that is not an ordinary file of a skill."""

    path: str
    kind: str
    """The id of its rule."""
    detail: str = ""
    """The target of a link, or why it cannot be read."""


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
MOST_DEPTH = 20
MOST_UNUSUAL = 1_000
_WHEN_TOO_LARGE = "check the folder; a skill usually has only a few files"


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
    walk = _Walk(root=root, shown=on_one_line(str(folder)))
    walk.enter(root, (), frozenset({root}))
    files: dict[str, bytes] = {}
    private: dict[str, bytes] = {}
    for path, source in sorted(walk.found):
        data = walk.read(path, source)
        if data is not None:
            is_private = path.split("/", 1)[0].casefold() in NOT_FOR_STUDENTS
            (private if is_private else files)[path] = data
    return FolderContents(
        name=root.name,
        files=files,
        digests={path: hashlib.sha256(data).hexdigest() for path, data in files.items()},
        private=private,
        unusual=tuple(sorted(walk.unusual, key=lambda one: (one.path, one.kind))),
    )


@dataclass(slots=True)
class _Walk:
    root: Path
    shown: str
    found: list[tuple[str, Path]] = field(default_factory=list)
    unusual: list[UnusualEntry] = field(default_factory=list)
    entries: int = 0
    size: int = 0

    def enter(self, folder: Path, inside: tuple[str, ...], above: frozenset[Path]) -> None:
        """Look at everything in a folder, which is a real path. `above` are the folders on the way here."""
        if len(inside) > MOST_DEPTH:
            self._note(inside, "nested-folders")
            return
        try:
            with os.scandir(folder) as children:
                names = sorted(child.name for child in islice(children, MOST_ENTRIES + 1))
        except OSError as error:
            self._note(inside, "cannot-be-read", error.strerror or "")
            return
        self.entries += len(names)
        if self.entries > MOST_ENTRIES:
            raise SkillInvalid(
                f"{self.shown}: not searched: it has more than {MOST_ENTRIES:,} files and folders", hint=_WHEN_TOO_LARGE
            )
        for name in names:
            here = (*inside, name)
            if name in NEVER_PART_OF_A_SKILL:
                if (folder / name).is_dir():
                    self._note(here, "skipped-folder")
                continue
            try:
                self._look_at(folder / name, here, above)
            except OSError as error:
                kind: str = "circular-link" if error.errno == errno.ELOOP else "cannot-be-read"
                self._note(here, "broken-link" if error.errno == errno.ENOENT else kind, error.strerror or "")

    def _look_at(self, path: Path, inside: tuple[str, ...], above: frozenset[Path]) -> None:
        if whole_characters(path.name) != path.name:
            self._note(inside, "file-name-not-utf8")
            return
        info, real = path.lstat(), path
        if stat.S_ISLNK(info.st_mode):
            target = str(path.readlink())
            real = Path(os.path.realpath(path))
            if kind := self._refused_link(real, inside):
                self._note(inside, kind, target)
                return
            try:
                info = real.lstat()
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise
                self._note(inside, "broken-link", target)
                return
            if stat.S_ISLNK(info.st_mode):
                self._note(inside, "circular-link", target)
                return
        if stat.S_ISDIR(info.st_mode):
            if real in above:
                self._note(inside, "circular-link", str(path.readlink()))
            else:
                self.enter(real, inside, above | {real})
        elif stat.S_ISREG(info.st_mode):
            self._count(inside, info)
            self.found.append(("/".join(inside), real))
        else:
            self._note(inside, "special-file", _kind_of(info.st_mode))

    def _refused_link(self, real: Path, inside: tuple[str, ...]) -> str | None:
        """Why the target of a link is not looked at; `None` if it may be."""
        if not real.is_relative_to(self.root):
            return "link-out-of-folder"
        parts = real.relative_to(self.root).parts
        is_private = inside[0].casefold() in NOT_FOR_STUDENTS
        if parts and parts[0].casefold() in NOT_FOR_STUDENTS and not is_private:
            return "link-to-cases"
        return "link-to-skipped-folder" if not NEVER_PART_OF_A_SKILL.isdisjoint(parts) else None

    def _count(self, inside: tuple[str, ...], info: os.stat_result) -> None:
        if info.st_size > MOST_BYTES:
            raise SkillInvalid(
                f"{self.shown}: not searched: {on_one_line('/'.join(inside))} has {info.st_size:,} bytes; "
                f"{MOST_BYTES // 1_000_000} MB is the most",
                hint=_WHEN_TOO_LARGE,
            )
        self.size += info.st_size
        if self.size > MOST_BYTES:
            raise SkillInvalid(
                f"{self.shown}: not searched: its files have more than {MOST_BYTES // 1_000_000} MB",
                hint=_WHEN_TOO_LARGE,
            )
        if info.st_nlink > 1:
            self._note(inside, "hard-link", f"{info.st_nlink:,} names")

    def read(self, path: str, source: Path) -> bytes | None:
        """The bytes of a file as it was counted; `None`, and noted, where it cannot be read."""
        try:
            with os.fdopen(open_plain(source), "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, UpskillError) as error:
            self._note((path,), "cannot-be-read", getattr(error, "strerror", None) or "no ordinary file")
            return None
        if len(data) > MOST_BYTES:
            raise SkillInvalid(f"{self.shown}: not searched: {path} grew while it was read", hint="try again")
        return data

    def _note(self, inside: tuple[str, ...], kind: str, detail: str = "") -> None:
        if len(self.unusual) < MOST_UNUSUAL:
            self.unusual.append(UnusualEntry(path="/".join(inside) or ".", kind=kind, detail=detail))


def _kind_of(mode: int) -> str:
    for test, name in ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISBLK, "a device")):
        if test(mode):
            return name
    return "a device"


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
