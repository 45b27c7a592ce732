"""A skill as it was in a commit of the git repository that holds it, in a temporary folder.

Git only reads its own objects: nothing is checked out, so no filter and no hook runs, and nothing is fetched. What
the commit names is a stranger's: names that would leave the folder are refused, and links are judged like those of any
skill when the folder is read.
"""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from upskill import disk
from upskill.core.nouns.skill import CASE_FILES, NEVER_PART_OF_A_SKILL, NOT_FOR_STUDENTS, SKILL_FILE
from upskill.core.nouns.text import on_one_line
from upskill.errors import EngineError, UsageError
from upskill.processes import find_program, start

GIT_PREFIX = "git:"
MOST_FILES = 10_000
MOST_BYTES = 100_000_000
_MOST_SECONDS = 120
_MOST_LINK_BYTES = 4_096
_MOST_LISTING_BYTES = MOST_FILES * 1_000
_LFS = b"version https://git-lfs.github.com/spec/"
_QUIET = {
    "GIT_NO_LAZY_FETCH": "1",
    # For git that does not know GIT_NO_LAZY_FETCH: no protocol is allowed, whatever the settings of a repository say.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
_OPTIONS = ("--no-pager", "-c", "safe.bareRepository=explicit")
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class NotInCommit(UsageError):
    """The commit is there, and the skill is not in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GitVersion:
    """The files of a skill in one commit, as long as the context lasts."""

    commit: str
    """The full id."""
    folder: Path
    """Temporary; its name is that of the skill's folder."""

    @property
    def name(self) -> str:
        """The version as a record names it, whatever branch moves meanwhile."""
        return f"{GIT_PREFIX}{self.commit}"


@contextmanager
def open_git_version(skill: Path, reference: str) -> Iterator[GitVersion]:
    """The skill as it was in the commit that `reference` names. Raises `NotInCommit` where it was not there yet.

    The folder holds what a student may see and the cases, and is removed when the context ends.
    """
    root = (skill.parent if skill.name == SKILL_FILE else skill).resolve()
    shown = on_one_line(f"{GIT_PREFIX}{reference}")
    commit = _commit(root, reference, shown)
    tree = _asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:./")
    entries = None if tree is None else _entries(root, tree, shown)
    if entries is None or not any(str(one.path) == SKILL_FILE for one in entries):
        raise NotInCommit(
            f"{on_one_line(str(skill))}: is not in {shown}; it was added, renamed or moved later",
            hint="leave out --compare, or name the folder of the older version: --compare previous:PATH",
        )
    with tempfile.TemporaryDirectory(prefix="upskill-", ignore_cleanup_errors=True) as place:
        folder = Path(place) / root.name
        try:
            _write(root, entries, folder, shown)
        except OSError as error:
            raise EngineError(f"{shown}: the older version cannot be written to {place} ({error.strerror})") from None
        yield GitVersion(commit=commit, folder=folder)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """A file or a link in the tree of a commit."""

    mode: str
    id: str
    size: int
    path: PurePosixPath

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"


def _commit(root: Path, reference: str, shown: str) -> str:
    if not reference or reference.startswith("-") or any(ord(one) < 32 for one in reference):
        raise UsageError(f"{shown}: is not a revision", hint="write --compare git:REF, for example git:HEAD~1")
    commit = _asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    if commit is not None and _ID.fullmatch(commit) is None:  # a range names several commits
        raise UsageError(f"{shown}: is not one commit", hint="write --compare git:REF, for example git:HEAD~1")
    if commit is not None:
        return commit
    if _asked(root, "rev-parse", "--is-shallow-repository") == "true":
        hint = (
            "this clone is shallow; fetch the history: `git fetch --unshallow`, or fetch-depth: 0 of actions/checkout"
        )
    else:
        hint = "`git log --oneline` lists the commits; a branch of a server must be fetched first"
    raise UsageError(f"{shown}: the repository has no such commit", hint=hint)


def _entries(root: Path, tree: str, shown: str) -> list[_Entry] | None:
    """Every file of the skill that a student may see, and its cases."""
    entries, total = [], 0
    with _started(root, "ls-tree", "-r", "-z", "-l", "--full-tree", tree) as process:
        listing = _read(process, _MOST_LISTING_BYTES + 1)
        if len(listing) > _MOST_LISTING_BYTES:
            raise _too_large(shown)
    for line in listing.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, id, size = facts.decode("ascii").split()
        path = PurePosixPath(os.fsdecode(name))
        hidden = "".join(path.parts[:1]).casefold() in NOT_FOR_STUDENTS and str(path) not in CASE_FILES
        if hidden or not NEVER_PART_OF_A_SKILL.isdisjoint(path.parts):
            continue
        _require_usable(mode, os.fsdecode(name), shown)
        if mode == "120000" and str(path) in CASE_FILES:
            raise UsageError(f"{shown}: {path} is a link there, so the cases cannot be compared", hint="make it a file")
        if not size.isdecimal():  # git writes BAD
            raise _no_content(path, shown)
        entries.append(_Entry(mode=mode, id=id, size=int(size), path=path))
        total += int(size)
        if len(entries) > MOST_FILES or total > MOST_BYTES:
            raise _too_large(shown)
    return entries


def _require_usable(mode: str, name: str, shown: str) -> None:
    if mode == "160000":
        raise UsageError(
            f"{shown}: {on_one_line(name)} is a submodule, whose files are in another repository",
            hint="compare with a folder: --compare previous:PATH",
        )
    parts = name.split("/")
    foreign = os.name == "nt" and any("\\" in part or ":" in part for part in parts)
    if foreign or any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts):
        raise UsageError(f"{shown}: {on_one_line(name)!r} is no name of a file inside a skill")


def _too_large(shown: str) -> UsageError:
    return UsageError(
        f"{shown}: this folder is too large for a skill: more than {MOST_FILES:,} files or "
        f"{MOST_BYTES // 1_000_000} MB",
        hint="check the folder; a skill usually has only a few files",
    )


def _write(root: Path, entries: Sequence[_Entry], folder: Path, shown: str) -> None:
    """Files first and links last: nothing is ever written through a link."""
    ordered = sorted(entries, key=lambda one: one.is_link)
    folder.mkdir()
    with tempfile.TemporaryFile() as asked:
        asked.write(b"".join(f"{one.id}\n".encode() for one in ordered))
        asked.seek(0)
        with _started(root, "cat-file", "--batch", stdin=asked) as process:
            for one in ordered:
                data = _object(process, one, shown)
                target = folder / one.path
                target.parent.mkdir(parents=True, exist_ok=True)
                if one.is_link:
                    if len(data) > _MOST_LINK_BYTES or b"\0" in data:
                        raise UsageError(f"{shown}: {on_one_line(str(one.path))} is a link to no possible path")
                    disk.link(target, os.fsdecode(data))
                    continue
                if data.startswith(_LFS):
                    raise UsageError(
                        f"{shown}: the content of {on_one_line(str(one.path))} is in Git LFS, not in the repository",
                        hint="compare with a folder: --compare previous:PATH",
                    )
                disk.write_new(target, data)
                target.chmod(0o755 if one.mode == "100755" else 0o644)


def _object(process: "subprocess.Popen[bytes]", entry: _Entry, shown: str) -> bytes:
    """The next object that `cat-file --batch` prints, which must be the one that was listed."""
    out = process.stdout
    assert out is not None
    head = out.readline(200).split()
    if len(head) != 3 or head[0] != entry.id.encode() or int(head[2]) != entry.size:
        raise _no_content(entry.path, shown)
    data = out.read(entry.size)
    out.read(1)
    return data


def _no_content(path: PurePosixPath, shown: str) -> EngineError:
    return EngineError(
        f"{shown}: git has no content of {on_one_line(str(path))}",
        hint="`git fsck` shows whether the repository is damaged",
    )


def _asked(root: Path, *words: str) -> str | None:
    """What git answers in one line; `None` where there is no such thing. Raises where git cannot answer."""
    with _started(root, *words) as process:
        said = _read(process, 10_000)
    return os.fsdecode(said).strip() or None


def _read(process: "subprocess.Popen[bytes]", most: int) -> bytes:
    assert process.stdout is not None
    return process.stdout.read(most)


@contextmanager
def _started(root: Path, *words: str, stdin: IO[bytes] | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    """Git at work in the folder of a skill. Raises, with what git says, where it fails; 1 means no such thing."""
    program = find_program("git")
    if program is None:
        raise UsageError(
            "git is not installed, so no version can be read from it",
            hint="install git, or compare with a folder: --compare previous:PATH",
        )
    with tempfile.TemporaryFile() as said:
        try:
            process = start(
                "git",
                [program, *_OPTIONS, *words],
                cwd=root,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.PIPE,
                stderr=said,
                variables=_QUIET,
            )
        except OSError as error:
            raise EngineError(f"git cannot be started ({error.strerror})") from None
        watch = threading.Timer(_MOST_SECONDS, process.kill)
        watch.start()
        try:
            with process:
                try:
                    yield process
                except BaseException:
                    process.kill()
                    raise
        finally:
            watch.cancel()
        if process.returncode not in (0, 1):
            said.seek(0)
            raise _failed(root, process.returncode, said.read(10_000).decode("utf-8", "replace"))


def _failed(root: Path, code: int, said: str) -> UsageError:
    """Git's own words: what is wrong first, and what it advises as a hint."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    reason = (fatal or lines or [f"it ended with {code}"])[0]
    if reason.startswith("not a git repository"):
        return UsageError(
            f"{on_one_line(str(root))}: is not in a git repository",
            hint="compare with a folder: --compare previous:PATH",
        )
    advice = next((line for line in lines if line.startswith("git ")), None)
    if reason.startswith("could not fetch"):
        reason, advice = "the clone is partial and lacks old files", "clone the repository without --filter"
    return UsageError(
        on_one_line(f"git cannot read the repository: {reason}"),
        hint=None if advice is None else on_one_line(advice),
    )
