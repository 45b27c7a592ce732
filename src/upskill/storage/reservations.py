"""Which trials are being bought just now, by any process of this machine: a lock for each, in a file beside the store.

The system itself lets go of the locks of a process that ends, however it ends, so nothing has to expire or be cleaned
up. Locks of one process do not stop that process. Where the system has no such locks, nothing is ever reserved.
"""

import os
import sys
from pathlib import Path

from upskill.domain import digest_of

if sys.platform != "win32":
    import fcntl

_PLACES = 2**60


class Reservations:
    """The locks of one process. The file is made when the first trial is reserved, and stays empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self, trial: str) -> bool:
        """Reserve a trial; false where another process is buying it. Where nothing can be locked, all is free."""
        if sys.platform == "win32":
            return True
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(trial))
        except (BlockingIOError, PermissionError):
            return self._file is None
        except OSError:
            return True
        return True

    def release(self, trial: str) -> None:
        """Let others have a trial. One that was not reserved is no error."""
        if sys.platform != "win32" and self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(trial))

    def close(self) -> None:
        """Let go of everything."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _place(trial: str) -> int:
    """The byte that stands for a trial. Two trials that share one wait for each other, which costs time only."""
    return int(digest_of(trial)[-15:], 16) % _PLACES
