"""Files of runs and sweeps, which may be a stranger's: never through a link, never from a pipe, never endless."""

import errno
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from upskill.errors import EngineError
from upskill.storage.run_folders import RUN_FILE

MOST_RECORD_BYTES = 50_000_000
MOST_LINE_BYTES = 100_000_000
ENGINE_FOLDER = "engine"
"""The engine's scratch files: removed before a run goes on, and never read."""
_APPENDED = ".jsonl"


def open_plain(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600, *, folder: int | None = None) -> int:
    """Open an ordinary file. Raises `FileNotFoundError` where there is none, `EngineError` for anything else.

    `folder` is its folder, where that was opened before.
    """
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(path if folder is None else path.name, flags, mode, dir_fd=folder)
    except FileNotFoundError:
        raise
    except NotADirectoryError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    except OSError as error:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise not_plain(path) from None
        what = "opened" if flags & (os.O_WRONLY | os.O_RDWR) else "read"
        raise EngineError(f"{path}: cannot be {what} ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise not_plain(path)
    return file


def read_plain(path: Path, *, most: int = MOST_RECORD_BYTES, folder: int | None = None) -> bytes:
    """The bytes of an ordinary file. Raises as `open_plain` does, and `EngineError` where there are too many."""
    with os.fdopen(open_plain(path, folder=folder), "rb") as file:
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise EngineError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > most:
        raise EngineError(f"{path}: is larger than {most // 1_000_000} MB", hint="this file was not written by a run")
    return data


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of an ordinary file, one at a time, each with its end. Raises as `read_plain` does."""
    with os.fdopen(open_plain(path), "rb") as file:
        number = 0
        while line := file.readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > MOST_LINE_BYTES:
                raise EngineError(
                    f"{path}: line {number} is larger than {MOST_LINE_BYTES // 1_000_000} MB",
                    hint="this line was not written by a run",
                )
            yield line


def is_spending(*amounts: float | None) -> bool:
    """Whether amounts can have been spent: one below zero, or that is no number, would take a cap away."""
    return all(amount is None or 0 <= amount < math.inf for amount in amounts)


def require_plain_folder(folder: Path) -> None:
    """Raise, before anything is written, where a run folder holds a link or anything but files and folders.

    What is written through a link changes a file somewhere else. A log with a second name is such a file, too.
    """
    for where, folders, names in os.walk(folder):
        place = Path(where)
        for name in (*folders, *names):
            try:
                found = (place / name).lstat()
            except FileNotFoundError:
                continue  # another process is at work there, and is refused for that
            plain = stat.S_ISREG(found.st_mode) and (found.st_nlink == 1 or not name.endswith(_APPENDED))
            if not plain and not stat.S_ISDIR(found.st_mode):
                raise not_plain(place / name)
        if ENGINE_FOLDER in folders and (place / RUN_FILE).exists():
            folders.remove(ENGINE_FOLDER)  # a killed run leaves sockets and links of students there


def not_plain(path: Path) -> EngineError:
    """The refusal of a link, a pipe or the like in a folder that upskill wrote, or a stranger."""
    what = "a link" if path.is_symlink() else "not an ordinary file with one name"
    return EngineError(
        f"{path}: cannot be read or written: it is {what}, which upskill never creates there",
        hint="check where this folder came from; nothing was written",
    )
