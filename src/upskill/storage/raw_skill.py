"""The bytes of a skill folder as one digest, so that what was read from them once need not be read again.

Reads no text. A folder with a link has no such digest: what a link leads to may change without it.
"""

import hashlib
import os
import stat
from pathlib import Path

from upskill.domain.skill import NEVER_PART_OF_A_SKILL

MOST_FILES = 2_000
MOST_BYTES = 100_000_000
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _NoDigest(Exception):
    """There is something else than files and folders, or too much."""


def raw_digest(folder: Path, case_file: Path | None = None) -> str | None:
    """The digest of all names and bytes in a folder, cases included, and of the bytes of a case file.

    `None` where it has none: a link is in it, it cannot be read, or it is larger than a skill usually is.
    """
    reading = _Reading()
    try:
        if folder.is_symlink():
            return None
        reading.add_folder(str(folder), "")
        if case_file is not None:
            reading.add_file(str(case_file), "//")  # no name in a folder is like this
    except (_NoDigest, OSError, UnicodeEncodeError):
        return None
    return reading.digest.hexdigest()


class _Reading:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._files = 0
        self._bytes = 0

    def add_text(self, text: str) -> None:
        data = text.encode("utf-8")
        self.digest.update(b"%d:" % len(data))
        self.digest.update(data)

    def add_folder(self, folder: str, inside: str) -> None:
        with os.scandir(folder) as children:
            found = sorted((child.name, child.is_symlink(), child.is_dir(follow_symlinks=False)) for child in children)
        for name, link, is_folder in found:
            if name in NEVER_PART_OF_A_SKILL:
                continue
            if link:
                raise _NoDigest
            if is_folder:
                self.add_folder(f"{folder}/{name}", f"{inside}{name}/")
            else:
                self.add_file(f"{folder}/{name}", f"{inside}{name}")

    def add_file(self, path: str, inside: str) -> None:
        self._files += 1
        file = os.open(path, _OPEN)
        try:
            found = os.fstat(file)
            self._bytes += found.st_size
            if not stat.S_ISREG(found.st_mode) or self._files > MOST_FILES or self._bytes > MOST_BYTES:
                raise _NoDigest
            data = os.read(file, found.st_size + 1)
            if len(data) != found.st_size:
                raise _NoDigest  # it changes at this moment
        finally:
            os.close(file)
        self.add_text(inside)
        self.digest.update(b"x" if found.st_mode & stat.S_IXUSR else b"-")
        self.digest.update(hashlib.sha256(data).digest())
