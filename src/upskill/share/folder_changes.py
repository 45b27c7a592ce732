"""Changes to folders and files that happen together: all of them, or none. Knows nothing of what is in them.

Everything is written beside its target first. Then it takes its place by renames, which are taken back when one fails.
"""

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self


class NewFile(NamedTuple):
    """The bytes of a file to be written, and whether it is a program."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class _Change:
    target: Path
    beside: Path | None
    """What takes the place of the target; `None` where it is removed."""
    aside: Path
    """Where the old one waits until everything is done."""


@dataclass(slots=True)
class FolderChanges:
    """Use as a context: what was staged and not applied leaves no trace. Every method may raise `OSError`."""

    made: list[Path] = field(default_factory=list)
    """Folders that were made on the way to a target, the outermost first."""
    _staged: list[_Change] = field(default_factory=list)
    _applied: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for change in self._staged:
            if change.beside is not None:
                _remove(change.beside)
        if not self._applied:
            for folder in reversed(self.made):
                with suppress(OSError):
                    folder.rmdir()

    def make_folders(self, folder: Path) -> tuple[Path, ...]:
        """Make a folder and those above it where they are missing; returns the new ones, the outermost first."""
        missing = [one for one in reversed((folder, *folder.parents)) if not one.exists()]
        for one in missing:
            one.mkdir()
            self.made.append(one)
        return tuple(missing)

    def stage_folder(self, target: Path, files: Mapping[str, NewFile]) -> None:
        """Write a folder that will take the place of `target`, whose parent exists."""
        change = self._stage(target)
        assert change.beside is not None
        for path, file in files.items():
            copy = change.beside / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            _write(copy, file)

    def stage_file(self, target: Path, data: bytes) -> None:
        """Write a file that will take the place of `target`, whose parent exists."""
        change = self._stage(target)
        assert change.beside is not None
        _write(change.beside, NewFile(data))

    def stage_removal(self, target: Path) -> None:
        """Have a folder or a file removed."""
        self._staged.append(_Change(target, None, _hidden(target, "old")))

    def _stage(self, target: Path) -> _Change:
        change = _Change(target, _hidden(target, "tmp"), _hidden(target, "old"))
        self._staged.append(change)
        return change

    def apply(self) -> None:
        """Put everything in its place. Where that fails, everything is as it was."""
        done: list[tuple[_Change, bool]] = []
        try:
            for change in self._staged:
                done.append((change, os.path.lexists(change.target)))
                if done[-1][1]:
                    change.target.rename(change.aside)
                if change.beside is not None:
                    change.beside.rename(change.target)
            self._applied = True
        finally:
            try:
                self._finish(done)
            except KeyboardInterrupt:
                self._finish(done)
                if not self._applied:  # otherwise everything is in its place, and the interrupt came too late
                    raise

    def _finish(self, done: Sequence[tuple[_Change, bool]]) -> None:
        """Remove what was replaced, or take everything back. May be done again where it was interrupted."""
        for change, was_there in reversed(done):
            if self._applied:
                _remove(change.aside)
            else:
                _take_back(change, was_there=was_there)


def why_not(error: OSError) -> str:
    """Why a change failed, and at which path where the system names one."""
    return str(error.strerror) if error.filename is None else f"{error.strerror}: {error.filename}"


def _take_back(change: _Change, *, was_there: bool) -> None:
    is_new = not was_there or os.path.lexists(change.aside)
    if change.beside is not None and is_new and not os.path.lexists(change.beside) and os.path.lexists(change.target):
        change.target.rename(change.beside)  # removed with what else was staged
    if os.path.lexists(change.aside):
        change.aside.rename(change.target)


def _hidden(target: Path, end: str) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{end}")


def _write(path: Path, file: NewFile) -> None:
    mode = 0o777 if file.executable else 0o666
    new = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    with os.fdopen(new, "wb") as opened:
        opened.write(file.data)
        opened.flush()
        os.fsync(opened.fileno())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
