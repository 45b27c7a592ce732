"""Starts every sandbox of this process from one thread that never ends.

"Die with the parent" means: with the *thread* that forked. A sandbox started by a worker thread would be killed as soon
as that worker is let go.
"""

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

_Order = tuple[Callable[[], "subprocess.Popen[bytes]"], "Future[subprocess.Popen[bytes]]"]


class _Nursery:
    """The thread and its orders, for one process: a fork gets a new one."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.orders: SimpleQueue[_Order] = SimpleQueue()
        threading.Thread(target=self._work, name="upskill-sandboxes", daemon=True).start()

    def _work(self) -> None:
        while True:
            start, promise = self.orders.get()
            try:
                promise.set_result(start())
            except (OSError, ValueError) as error:
                promise.set_exception(error)


_lock = threading.Lock()
_nursery: _Nursery | None = None


def spawn(
    words: Sequence[str], *, stdin: int, stderr: int = subprocess.DEVNULL, keep: Sequence[int], folder: str = "/"
) -> "subprocess.Popen[bytes]":
    """Start a program with an empty environment, in a session of its own, with no descriptors but the ones named."""
    global _nursery
    with _lock:
        if _nursery is None or _nursery.process != os.getpid():
            _nursery = _Nursery()
        nursery = _nursery

    def start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            words,
            env={},
            cwd=folder,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=tuple(keep),
            start_new_session=True,
        )

    promise: Future[subprocess.Popen[bytes]] = Future()
    nursery.orders.put((start, promise))
    return promise.result()
