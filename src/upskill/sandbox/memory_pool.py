"""One sum for all sandboxes of this process: what any of them may use beyond the default comes from one pool.

A case may raise its limits, and many sandboxes are open at once. Those with the default limit are bounded by their
number; the others wait here for each other.
"""

import os
import threading
from collections.abc import Callable

from upskill.sandbox.contract import Limits
from upskill.sandbox.refusals import unavailable

PATIENCE_SECONDS = 3_600.0
MEBIBYTE = 1_048_576


class MemoryPool:
    """So many megabytes, lent to whoever opens a sandbox and given back when it is closed."""

    def __init__(self, megabytes: int, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.megabytes = megabytes
        self._patience_seconds = patience_seconds
        self._lent = 0
        self._changed = threading.Condition()

    def take(self, memory_mb: int) -> Callable[[], None]:
        """Wait until a sandbox with this limit may be opened. Returns how to give back what it took, once or often.

        One that asks for more than there is runs when nothing else is lent. Raises `SandboxUnavailable` after an hour.
        """
        extra = max(0, memory_mb - Limits().memory_mb)
        if not extra:
            return lambda: None
        with self._changed:
            free = self._changed.wait_for(
                lambda: self._lent == 0 or self._lent + extra <= self.megabytes, timeout=self._patience_seconds
            )
            if not free:
                raise unavailable(f"other sandboxes kept the {memory_mb:,} MB that this one may use")
            self._lent += extra
        owed = [extra]

        def give_back() -> None:
            with self._changed:
                if owed:
                    self._lent -= owed.pop()
                self._changed.notify_all()

        return give_back


def half_of_this_machine() -> int:
    """In megabytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2 // MEBIBYTE


POOL = MemoryPool(half_of_this_machine())
