"""The files of a skill folder: which ones a student may see, and where their bytes are. Does not read `SKILL.md`.

Links that stay inside are followed; links that leave, that go round in circles or that lead to the cases are refused.
"""

import errno
import hashlib
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from upskill import disk
from upskill.core.nouns import SkillFile
from upskill.core.nouns.skill import (
    CARD_FILE,
    EVIDENCE_FILE,
    EVIDENCE_FILES,
    NEVER_PART_OF_A_SKILL,
    NOT_FOR_STUDENTS,
    name_clashes,
)
from upskill.core.nouns.text import on_one_line, whole_characters
from upskill.errors import EngineError, SkillInvalid

if TYPE_CHECKING:
    from pydantic import ValidationError

MOST_RECORD_BYTES = 50_000_000


@contextmanager
def file_errors(path: Path, doing: str = "read") -> Iterator[None]:
    """Raise what goes wrong with a file as `EngineError`, in words; that it is not there stays `FileNotFoundError`."""
    try:
        yield
    except FileNotFoundError:
        raise
    except disk.NotPlain as error:
        raise not_plain(path, error.why) from None
    except OSError as error:
        raise EngineError(f"{path}: cannot be {doing} ({error.strerror})") from error


def open_plain(path: Path) -> int:
    """The descriptor of an ordinary file. Raises as `file_errors` does."""
    with file_errors(path):
        return disk.descriptor(path)


def read_plain(path: Path, *, most: int = MOST_RECORD_BYTES, folder: int | None = None) -> bytes:
    """The bytes of an ordinary file, whose `folder` may be open. Raises as `file_errors` does."""
    with file_errors(path):
        return disk.read(path, most=most, folder=folder)


def is_spending(*amounts: float | None) -> bool:
    """Whether amounts can have been spent: one below zero, or that is no number, would take a cap away."""
    return all(amount is None or 0 <= amount < math.inf for amount in amounts)


def not_plain(path: Path, why: str = "it is not an ordinary file with one name") -> EngineError:
    """The refusal of a link, a pipe or the like in a folder that upskill wrote, or a stranger."""
    why = "it is a link" if path.is_symlink() else why
    return EngineError(
        f"{path}: cannot be read or written: {why}, which upskill never creates there",
        hint="check where this folder came from; nothing was written",
    )


MOST_FILES = 10_000
MOST_BYTES = 1_000_000_000
MOST_DEPTH = 20
MOST_PROBLEMS = 100
MOST_UNUSUAL = 1_000
_EVIDENCE_MARK = b'"upskill.evidence/'
_HEAD_BYTES = 200
_SNAPSHOT = re.compile(r"/models--[^/]+?--([^/]+)/snapshots/[0-9a-f]{40}\Z")


def folder_name(root: Path) -> str:
    """The name of a skill's folder; of a whole repository in the Hub's cache, where folders are commits, its own."""
    at = _SNAPSHOT.search(root.as_posix())
    return root.name if at is None else at[1]


class FoundFile(NamedTuple):
    """A file of a skill: its name inside the skill, with forward slashes, and where its bytes are."""

    path: str
    source: Path


class UnusualEntry(NamedTuple):
    """Something in a folder that is not an ordinary file of a skill."""

    path: str
    kind: str
    """The id of the rule of `lint` about it."""
    detail: str = ""
    """The target of a link, or why it cannot be read."""
    problem: str = ""
    """Why it keeps a skill from being used; empty where it does not."""


def find_files(root: Path, problems: list[str]) -> list[FoundFile]:
    """All files of a skill, sorted by name. `root` must be resolved; what is refused is told in `problems`."""
    walk = FolderWalk(root)
    walk.enter(root, (), frozenset({root}))
    problems += walk.problems
    problems += [
        f"{path}: differs from {other} only by case, which not every file system supports"
        for other, path in name_clashes(file.path for file in walk.found)
    ]
    return sorted(walk.found)


def describe(file: FoundFile, problems: list[str]) -> SkillFile:
    """The size and digest of a file's bytes."""
    try:
        with disk.opened(file.source) as opened:
            sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
            info = os.fstat(opened.fileno())
    except OSError as error:
        problems.append(f"{file.path}: cannot be read ({error.strerror})")
        return SkillFile(path=file.path, size=0, sha256="")
    executable = os.name != "nt" and bool(info.st_mode & stat.S_IXUSR)
    return SkillFile(path=file.path, size=info.st_size, sha256=sha256, executable=executable)


class FolderWalk:
    """Looks at everything in the folder of a skill, whatever it is, and reads nothing."""

    def __init__(self, root: Path, *, private: bool = False) -> None:
        """`root` must be resolved. With `private`, cases, provenance and evidence are found, too."""
        self.root = root
        self.found: list[FoundFile] = []
        self.unusual: list[UnusualEntry] = []
        self.entries = 0
        self.total_bytes = 0
        self._private = private

    @property
    def problems(self) -> list[str]:
        """What keeps the skill from being used, a line each."""
        return [f"{one.path}: {one.problem}" for one in self.unusual if one.problem]

    def enter(self, folder: Path, inside: tuple[str, ...], above: frozenset[Path]) -> None:
        """Look at everything in a folder, which is a real path. `above` are the folders on the way here."""
        if len(inside) > MOST_DEPTH:
            self.note(inside, "nested-folders", problem=f"nested more than {MOST_DEPTH} folders deep")
            return
        try:
            names = [path.name for path in disk.listed(folder)]
        except OSError as error:
            why = error.strerror or ""
            self.note(inside, "cannot-be-read", why, problem=f"cannot be listed ({why})")
            return
        self.entries += len(names)
        self.require_bounds()
        for name in names:
            here = (*inside, name)
            if name in NEVER_PART_OF_A_SKILL:
                if (folder / name).is_dir():
                    self.note(here, "skipped-folder")
            elif self._private or inside or name.casefold() not in NOT_FOR_STUDENTS:
                try:
                    self._look_at(folder / name, here, above)
                except OSError as error:
                    self._note_error(here, error)

    def _look_at(self, path: Path, inside: tuple[str, ...], above: frozenset[Path]) -> None:
        if whole_characters(path.name) != path.name:
            self.note(inside, "file-name-not-utf8", problem="the name is not UTF-8")
            return
        info, real, target = path.lstat(), path, ""
        if stat.S_ISLNK(info.st_mode):
            target, real = str(path.readlink()), Path(os.path.realpath(path))
            if self._refuses_link(real, inside, target):
                return
            try:
                info = real.lstat()
            except OSError as error:
                self._note_error(inside, error, target)
                return
            if stat.S_ISLNK(info.st_mode):
                self.note(inside, "circular-link", target, problem="a link to itself")
                return
        if stat.S_ISDIR(info.st_mode):
            if real in above:
                self.note(inside, "circular-link", target, problem="a link to a folder that contains it")
            else:
                self.enter(real, inside, above | {real})
        elif stat.S_ISREG(info.st_mode):
            self.total_bytes += info.st_size
            self.require_bounds("/".join(inside), info.st_size)
            if info.st_nlink > 1:
                self.note(inside, "hard-link", f"{info.st_nlink:,} names")
            self.found.append(FoundFile("/".join(inside), real))
        else:
            self.note(inside, "special-file", _kind_of(info.st_mode), problem="not a file or a folder")

    def _refuses_link(self, real: Path, inside: tuple[str, ...], target: str) -> bool:
        """Whether the target of a link is not looked at; then that is noted."""
        parts = real.relative_to(self.root).parts if real.is_relative_to(self.root) else None
        if parts is None:
            problem = f"a link to a place outside the skill ({target})"
            self.note(inside, "link-out-of-folder", target, problem=problem)
        elif parts and parts[0].casefold() in NOT_FOR_STUDENTS and inside[0].casefold() not in NOT_FOR_STUDENTS:
            what = "evidence" if parts[0].casefold() in EVIDENCE_FILES else "cases"
            self.note(inside, "link-to-cases", target, problem=f"a link to the {what}, which models must not see")
        elif not NEVER_PART_OF_A_SKILL.isdisjoint(parts):
            problem = f"a link to a file that is not part of the skill ({target})"
            self.note(inside, "link-to-skipped-folder", target, problem=problem)
        else:
            return False
        return True

    def require_bounds(self, file: str = "", size: int = 0) -> None:
        """Raise `SkillInvalid` where the folder is too large, or the file that was found last."""
        if self.entries > MOST_FILES or self.total_bytes > MOST_BYTES:
            raise skill_invalid(
                f"{self.root.name}: this folder is too large for a skill",
                [*self.problems, f"more than {MOST_FILES:,} files and folders, or {MOST_BYTES // 1_000_000:,} MB"],
                hint="check the folder; a skill usually has only a few files",
            )

    def note(self, inside: tuple[str, ...], kind: str, detail: str = "", *, problem: str = "") -> None:
        """Add what is not an ordinary file; of very many, the first ones."""
        if len(self.unusual) < MOST_UNUSUAL:
            self.unusual.append(UnusualEntry("/".join(inside) or ".", kind, detail, problem))

    def _note_error(self, inside: tuple[str, ...], error: OSError, target: str = "") -> None:
        why = error.strerror or ""
        if error.errno == errno.ENOENT:
            self.note(inside, "broken-link", target or why, problem="a broken link")
        elif error.errno == errno.ELOOP:
            self.note(inside, "circular-link", why, problem="a link to itself")
        else:
            self.note(inside, "cannot-be-read", why, problem=f"cannot be read ({why})")


def _kind_of(mode: int) -> str:
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def foreign_evidence(root: Path) -> str | None:
    """A file that is named like evidence and that upskill did not write; `None` where there is none."""
    try:
        return None if _EVIDENCE_MARK in disk.beginning(root / EVIDENCE_FILE, _HEAD_BYTES) else EVIDENCE_FILE
    except FileNotFoundError:
        return CARD_FILE if (root / CARD_FILE).is_file() else None
    except OSError:
        return EVIDENCE_FILE


def require_inside(folder: Path, path: Path) -> None:
    """Raise `SkillInvalid` where a link leads from this path, which the folder of a skill holds, out of that folder."""
    if not (real := path.resolve()).is_relative_to(folder.resolve()):
        raise skill_invalid(
            f"{path}: was not read",
            [f"{path.relative_to(folder)}: a link to a place outside the skill ({real})"],
            hint="replace the link with the file, or name a case file with -t FILE",
        )


def skill_invalid(message: str, problems: Sequence[str], *, hint: str | None = None) -> SkillInvalid:
    """The error for a skill or a case file that cannot be used, with every problem found in it."""
    shown = [on_one_line(problem) for problem in problems[:MOST_PROBLEMS]]
    if len(problems) > MOST_PROBLEMS:
        shown.append(f"and {len(problems) - MOST_PROBLEMS:,} more")
    return SkillInvalid(on_one_line(message), problems=shown, hint=None if hint is None else on_one_line(hint))


def write_text(path: Path, text: str) -> None:
    """Replace a file, whole or not at all."""
    try:
        disk.write(path, text)
    except OSError as error:
        raise EngineError(f"{path}: cannot be written ({error.strerror})") from error


def first_problem(error: "ValidationError") -> str:
    """Where the first problem of a value is, and what it is."""
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
