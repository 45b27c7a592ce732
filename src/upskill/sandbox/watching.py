"""One thread that keeps the memory of every open sandbox under its ceiling, where no control group does.

Limits of a process never bound a sum. So every 0.2 s the memory of each tree is added up, with what its files and
sockets hold. Orphans inside a process namespace come to its first process, so nobody leaves the tree.
"""

import os
import threading
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Protocol

from upskill.sandbox.memory_use import PROC, are_over

INTERVAL_SECONDS = 0.2
PATIENCE = 5
"""How many looks after being asked a tree may still be over its ceiling."""


class WatchedSandbox(Protocol):
    @property
    def init_pid(self) -> int: ...
    @property
    def memory_ceiling(self) -> int: ...
    @property
    def devices(self) -> Collection[bytes]:
        """Its memory file systems: files of theirs are counted as files and not as mapped memory."""
        ...

    def outside_processes(self) -> int:
        """Bytes that its files and sockets hold."""
        ...

    def was_killed_for_memory(self) -> bool | None:
        """Whether its control group had the kernel kill somebody since it last mattered; `None` without a group."""
        ...

    def end_for_memory(self, *, by_force: bool) -> None: ...


class Watcher:
    """Started with the first sandbox, asleep while there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._open: dict[int, WatchedSandbox] = {}
        self._over: dict[int, int] = {}
        self._process: int | None = None

    def add(self, sandbox: WatchedSandbox) -> None:
        with self._lock:
            if self._process != os.getpid():
                # A fork has the table and not the thread.
                self._open, self._over = {}, {}
                self._process = os.getpid()
                threading.Thread(target=self._work, name="upskill-memory", daemon=True).start()
            self._open[id(sandbox)] = sandbox
        self._some.set()

    def remove(self, sandbox: WatchedSandbox) -> None:
        with self._lock:
            self._open.pop(id(sandbox), None)
            self._over.pop(id(sandbox), None)
            if not self._open:
                self._some.clear()

    def _work(self) -> None:
        pause = threading.Event()
        while True:
            self._some.wait()
            pause.wait(INTERVAL_SECONDS)
            with self._lock:
                sandboxes = list(self._open.values())
            self.look(sandboxes)

    def look(self, sandboxes: Iterable[WatchedSandbox]) -> None:
        children: dict[int, list[int]] | None = None
        for sandbox in sandboxes:
            over = sandbox.was_killed_for_memory()
            if over is None:
                children = children_of_all() if children is None else children
                left = sandbox.memory_ceiling - sandbox.outside_processes()
                over = are_over(tree(sandbox.init_pid, children), left, devices=sandbox.devices)
            looks = self._over.get(id(sandbox), 0) + 1 if over else 0
            with self._lock:
                if id(sandbox) not in self._open:
                    continue
                self._over[id(sandbox)] = looks
            if looks:
                sandbox.end_for_memory(by_force=looks > PATIENCE)


def children_of_all() -> dict[int, list[int]]:
    """Every process of this machine by its parent."""
    children: dict[int, list[int]] = {}
    if not PROC.is_dir():
        # Not Linux: there is no sandbox here, and without confinement memory is bounded for each process only.
        return children
    for name in [path.name for path in PROC.iterdir()]:
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                text = (PROC / name / "stat").read_bytes()
                parent = int(text[text.rindex(b")") + 2 :].split()[1])
                children.setdefault(parent, []).append(int(name))
    return children


def tree(first: int, children: dict[int, list[int]]) -> list[int]:
    found = [first]
    for process in found:
        found.extend(children.get(process, ()))
    return found


WATCHER = Watcher()
