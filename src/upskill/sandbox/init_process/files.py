"""Files that the init process hands in and out: plain ones, by plain paths, and no link of a student is followed."""

import errno
import os
import stat
import struct
import time

HEADER = struct.Struct("<I")


def pack(fields: "list[bytes]") -> bytes:
    """One frame: its length, then every field with its own length."""
    body = b"".join(HEADER.pack(len(field)) + field for field in fields)
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> "list[bytes]":
    """The fields of a frame's body. Raises `ValueError` when they do not add up."""
    fields = []
    at = 0
    while at < len(body):
        if at + HEADER.size > len(body):
            raise ValueError("a frame ends inside a length")
        (size,) = HEADER.unpack_from(body, at)
        at += HEADER.size
        if at + size > len(body):
            raise ValueError("a field is longer than its frame")
        fields.append(body[at : at + size])
        at += size
    return fields


WORKSPACE = "/workspace"
DEEPEST = 64
MOST_ENTRIES = 20_000
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
KINDS = {errno.EISDIR: b"folder", errno.EACCES: b"denied", errno.EPERM: b"denied", errno.EROFS: b"denied"}


class RefusedFile(Exception):
    """A file is not handed in or out."""

    def __init__(self, message: str, kind: bytes = b"other") -> None:
        super().__init__(message)
        self.kind = kind


class MissingFile(Exception):
    """There is no such file."""


def refused(path: str, error: OSError) -> RefusedFile:
    return RefusedFile(f"{path}: {error.strerror}", KINDS.get(error.errno or 0, b"other"))


def parts_of(path: str) -> "list[str]":
    """The names on the way from the root. No `..`, and nothing of the kernel's own file systems."""
    whole = path if path.startswith("/") else f"{WORKSPACE}/{path}"
    parts = [part for part in whole.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or "\0" in whole:
        raise RefusedFile(f"{path}: not a plain path")
    if parts[0] in ("proc", "sys", "dev"):
        raise RefusedFile(f"{path}: belongs to the kernel")
    return parts


def open_folder(root: str, parts: "list[str]", path: str, *, make: bool) -> int:
    """Each folder opened from the one before, no link followed."""
    here = os.open(root or "/", os.O_RDONLY | os.O_DIRECTORY | NO_LINK)
    try:
        for part in parts:
            try:
                step = os.open(part, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=here)
            except FileNotFoundError:
                if not make:
                    raise MissingFile(path) from None
                os.mkdir(part, 0o755, dir_fd=here)
                step = os.open(part, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=here)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise RefusedFile(f"{path}: goes through a link or a file") from None
                raise refused(path, error) from None
            os.close(here)
            here = step
    except BaseException:
        os.close(here)
        raise
    return here


def read_plain(folder: int, name: str, path: str, most_bytes: int) -> bytes:
    """One regular file without a second name, at most so large."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_LINK, dir_fd=folder)
    except FileNotFoundError:
        raise MissingFile(path) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RefusedFile(f"{path}: is a link") from None
        raise refused(path, error) from None
    try:
        facts = os.fstat(descriptor)
        if stat.S_ISDIR(facts.st_mode):
            raise RefusedFile(f"{path}: is a directory", b"folder")
        if not stat.S_ISREG(facts.st_mode):
            raise RefusedFile(f"{path}: not a regular file")
        if facts.st_nlink > 1:
            raise RefusedFile(f"{path}: has a second name (hard link)")
        if facts.st_size > most_bytes:
            raise RefusedFile(f"{path}: {facts.st_size} bytes, more than {most_bytes}", b"large")
        chunks = []
        left = most_bytes + 1
        while left > 0:
            chunk = os.read(descriptor, min(left, 1 << 20))
            if not chunk:
                break
            chunks.append(chunk)
            left -= len(chunk)
        if left <= 0:
            raise RefusedFile(f"{path}: grew over {most_bytes} bytes while it was read", b"large")
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def read_file(root: str, path: str, most_bytes: int) -> bytes:
    parts = parts_of(path)
    folder = open_folder(root, parts[:-1], path, make=False)
    try:
        return read_plain(folder, parts[-1], path, most_bytes)
    finally:
        os.close(folder)


def write_file(root: str, path: str, mode: int, content: bytes) -> None:
    """Written beside and moved into place: a link, a pipe or a hard link of that name is replaced, never followed."""
    parts = parts_of(path)
    try:
        folder = open_folder(root, parts[:-1], path, make=True)
    except OSError as error:
        raise refused(path, error) from None
    beside = f".{os.getpid()}-{time.monotonic_ns()}"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, mode, dir_fd=folder)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        os.rename(beside, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if exists(folder, beside):
            os.unlink(beside, dir_fd=folder)
        raise refused(path, error) from None
    finally:
        os.close(folder)


def exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def take_files(workspace: str, most_files: int, most_bytes: int) -> "list[bytes]":
    """All regular files of the workspace as names and contents. Links, pipes, devices and other mounts are left out."""
    fields: list[bytes] = []
    counts = {"files": 0, "bytes": 0, "entries": 0}
    os.chmod(workspace, 0o755)  # noqa: PTH101 (pathlib is slow to import)
    top = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | NO_LINK)
    device = os.fstat(top).st_dev

    def walk(folder: int, inside: str, depth: int) -> None:
        for name in sorted(os.listdir(folder)):
            path = f"{inside}{name}"
            counts["entries"] += 1
            if counts["entries"] > MOST_ENTRIES:
                raise RefusedFile(f"the workspace holds more than {MOST_ENTRIES:,} files and folders")
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if facts.st_dev != device:
                continue
            if stat.S_ISDIR(facts.st_mode):
                if depth == DEEPEST:
                    raise RefusedFile(f"{path[:200]}: folders nest deeper than {DEEPEST}")
                if facts.st_mode & 0o700 != 0o700:
                    os.chmod(name, 0o700, dir_fd=folder)
                step = os.open(name, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=folder)
                try:
                    walk(step, path + "/", depth + 1)
                finally:
                    os.close(step)
            elif stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1:
                if not facts.st_mode & 0o400:
                    os.chmod(name, 0o600, dir_fd=folder)
                counts["files"] += 1
                if counts["files"] > most_files:
                    raise RefusedFile(f"the workspace holds more than {most_files} files")
                content = read_plain(folder, name, path, most_bytes)
                encoded = os.fsencode(path)
                counts["bytes"] += len(content) + len(encoded)
                if counts["bytes"] > most_bytes:
                    raise RefusedFile(f"the workspace holds more than {most_bytes} bytes")
                fields.extend((encoded, content))

    try:
        walk(top, "", 0)
    finally:
        os.close(top)
    return fields
