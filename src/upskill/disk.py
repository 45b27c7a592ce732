"""The one opener: whatever upskill reads, writes, lists or removes on a disk goes through here. Standard library only.

Files come from strangers more often than one thinks: a clone, a skill, a recording, a run folder that was sent, a
cache that a hostile server filled. So a file is read only if it is an ordinary one, within a size, and not through a
link; and a folder is listed without following links. A path that a person typed may be a link: `named` follows it
once. Whatever is refused is an `OSError` whose `strerror` says why, as for a file that is not there.

Own files are written whole or not at all, appended line by line under a lock, and made anew where nothing may lie.
"""

import errno
import fnmatch
import io
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

MOST_BYTES = 50_000_000
MOST_ENTRIES = 100_000
"""Names in one folder; a larger one is somebody's trap, or none of ours."""
MOST_DEPTH = 20
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotPlain(OSError):
    """A link, a pipe, a device or a folder where an ordinary file has to be; or one that is too large."""

    @property
    def why(self) -> str:
        """The reason, which begins with "it"."""
        return self.strerror or ""


def _refused(path: Path, why: str) -> NotPlain:
    return NotPlain(errno.EINVAL, why, str(path))


# ---------------------------------------------------------------- reading


def descriptor(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600, *, folder: int | None = None) -> int:
    """Open an ordinary file. `folder` is the descriptor of its folder, where that was opened before."""
    try:
        file = os.open(path if folder is None else path.name, flags | _PLAIN, mode, dir_fd=folder)
    except FileNotFoundError:
        raise
    except NotADirectoryError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    except OSError:
        if path.is_symlink():
            raise _refused(path, "it is a link") from None
        if path.exists() and not path.is_file():
            raise _refused(path, "it is not an ordinary file") from None
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _refused(path, "it is not an ordinary file")
    return file


def folder_descriptor(path: Path) -> int:
    """Open a folder, not through a link."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)


def opened(path: Path, *, folder: int | None = None) -> io.BufferedReader:
    """An ordinary file, to be read in pieces."""
    return os.fdopen(descriptor(path, folder=folder), "rb")


def named(path: Path) -> Path:
    """The file that a person typed, where its name is a link."""
    return path.resolve() if path.is_symlink() else path


def read(path: Path, *, most: int = MOST_BYTES, folder: int | None = None) -> bytes:
    """The bytes of an ordinary file, whose `folder` may be open."""
    with opened(path, folder=folder) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise _refused(path, f"it is larger than {_size(most)}")
    return data


def read_text(path: Path, *, most: int = MOST_BYTES) -> str:
    """The text of an ordinary file; what is not UTF-8 becomes a replacement character."""
    return read(path, most=most).decode("utf-8", "replace")


def beginning(path: Path, most: int) -> bytes:
    """So many bytes of an ordinary file, or all of it."""
    with opened(path) as file:
        return file.read(most)


def pipe(path: Path) -> io.BufferedReader:
    """A pipe that a person named, as a shell makes one of `<(command)`."""
    file = os.open(path, os.O_RDONLY)
    if not stat.S_ISFIFO(os.fstat(file).st_mode):
        os.close(file)
        raise _refused(path, "it is no pipe")
    return os.fdopen(file, "rb")


def packaged(package: str, name: str) -> str:
    """A text that upskill ships."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _size(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size:,} bytes"


# ---------------------------------------------------------------- listing


def listed(folder: Path, pattern: str = "*") -> list[Path]:
    """What lies in a folder, whatever it is, sorted by name; empty where there is no folder. Follows no link."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(MOST_ENTRIES + 1), entries, strict=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    if len(names) > MOST_ENTRIES:
        raise _refused(folder, f"it holds more than {MOST_ENTRIES:,} files")
    return [folder / name for name in sorted(fnmatch.filter(names, pattern))]


def plain_files(folder: Path, pattern: str = "*") -> list[Path]:
    """The ordinary files in a folder, sorted by name."""
    return [path for path in listed(folder, pattern) if _is(path, stat.S_ISREG)]


def folders(folder: Path, pattern: str = "*") -> list[Path]:
    """The folders in a folder, sorted by name; links to folders are none."""
    return [path for path in listed(folder, pattern) if _is(path, stat.S_ISDIR)]


def below(folder: Path, pattern: str = "*", *, depth: int = MOST_DEPTH) -> Iterator[Path]:
    """The ordinary files in a folder and in the folders below it, without following links."""
    inner = []
    for path in listed(folder):
        if _is(path, stat.S_ISDIR):
            inner.append(path)
        elif fnmatch.fnmatch(path.name, pattern) and _is(path, stat.S_ISREG):
            yield path
    for path in inner if depth else ():
        with suppress(PermissionError):
            yield from below(path, pattern, depth=depth - 1)


def is_file(path: Path) -> bool:
    """Whether an ordinary file lies there, and no link to one."""
    return _is(path, stat.S_ISREG)


def is_folder(path: Path) -> bool:
    """Whether a folder lies there, and no link to one."""
    return _is(path, stat.S_ISDIR)


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    with suppress(OSError):
        return kind(path.lstat().st_mode)
    return False


# ---------------------------------------------------------------- writing


def write(path: Path, data: str | bytes, *, mode: int = 0o666) -> None:
    """Replace a file: written beside it, flushed to disk and renamed, so that a reader never sees half of it.

    A link is replaced, not followed. `mode` is that of the file, as far as the umask of the process allows it.
    """
    with replacing(path, mode=mode) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file to write in pieces, which replaces another as `write` does once the block ends without an error."""
    if path.exists() and not path.is_symlink() and not path.is_file():
        raise _refused(path, "it is not an ordinary file")
    with _beside(path) as beside:
        with _created(beside, mode) as file:
            yield file
        beside.replace(path)


def write_new(path: Path, data: str | bytes, *, mode: int = 0o666) -> None:
    """Write a file where none lies, not even a link: of two that do at once, one gets `FileExistsError`."""
    data = data.encode("utf-8") if isinstance(data, str) else data
    with _beside(path) as beside:
        with _created(beside, mode) as file:
            file.write(data)
        try:
            os.link(beside, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without links: there it is whole a moment later
            with _created(path, mode) as file:
                file.write(data)


def write_scratch(path: Path, data: bytes) -> None:
    """Write a new file of which nothing has to be left when this process or the machine ends: it is not flushed."""
    with os.fdopen(descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(data)


def write_named(path: Path, data: str | bytes) -> None:
    """Write the file that a person typed: where a link leads to, and a pipe or a device as it is."""
    if path.is_file() or not path.exists():
        write(named(path), data)
        return
    with os.fdopen(os.open(path, os.O_WRONLY), "wb") as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


def nowhere() -> int:
    """Open the device that keeps nothing of what is written to it."""
    return os.open(os.devnull, os.O_WRONLY)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.tmp")
    try:
        yield beside
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _created(path: Path, mode: int) -> Iterator[IO[bytes]]:
    """A new file, flushed to disk when the block ends."""
    with os.fdopen(descriptor(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "w+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def for_appending(path: Path, *, mode: int = 0o600) -> IO[bytes]:
    """An ordinary file, made where there is none, to append to and to read back. Not buffered."""
    return os.fdopen(descriptor(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode), "a+b", buffering=0)


def append(file: IO[bytes], line: bytes, *, sync: bool = True) -> bool:
    """Append a line by one write; false where a full disk took only a part, which is taken back."""
    size = os.fstat(file.fileno()).st_size
    whole = file.write(line) == len(line)
    if not whole:
        file.truncate(size)
    if sync:
        os.fsync(file.fileno())
    return whole


def drop_unterminated(file: IO[bytes]) -> None:
    """Cut a file after its last whole line: what a kill left of the next one would swallow what is appended."""
    end = keep = file.seek(0, os.SEEK_END)
    while keep:
        start = max(0, keep - 65_536)
        file.seek(start)
        newline = file.read(keep - start).rfind(b"\n")
        if newline >= 0:
            keep = start + newline + 1
            break
        keep = start
    if keep < end:
        file.truncate(keep)


def lock(file: IO[bytes] | int, *, wait: bool = True, shared: bool = False) -> bool:
    """Have an open file or folder for this process alone until it is closed, or `shared`; whether that came about."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder for a while; whatever is in it then is removed."""
    folder.mkdir(mode=0o700, parents=True)
    try:
        yield folder
    finally:
        remove_folder(folder)


def link(path: Path, target: str | Path) -> None:
    """Make a link where nothing lies."""
    path.symlink_to(target)


def move(path: Path, target: Path) -> None:
    """Rename a file or a folder; a file that lies there is replaced."""
    path.replace(target)


def copy(source: Path, target: Path) -> None:
    """Copy the bytes of an ordinary file into a new one."""
    with (
        opened(source) as file,
        os.fdopen(descriptor(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as out,
    ):
        shutil.copyfileobj(file, out)


def copy_whole(source: Path, target: Path) -> None:
    """Copy an ordinary file, a folder with what is below it, or a link as a link; modes stay."""
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    if source.is_dir():
        target.mkdir()
        for path in listed(source):
            copy_whole(path, target / path.name)
    else:
        copy(source, target)
    target.chmod(stat.S_IMODE(source.stat().st_mode))


def remove(path: Path) -> None:
    """Remove a file, or a link and not what it leads to; nothing where there is none."""
    path.unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    """Remove a folder with what is below it, as far as that is possible; of a link nothing."""
    if not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)


def remove_empty(path: Path) -> None:
    """Remove a folder if it is empty."""
    with suppress(OSError):
        path.rmdir()
