"""The memory of sandboxes: each has a control group where one can be made, and what they may use together is lent.

A group is of version 1 or 2, in our own group or beside it. Without one, only each process has a limit.
"""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from upskill import disk
from upskill.sandbox.backends import unavailable
from upskill.sandbox.contract import Limits

_PREFIX = "upskill-"
_SPARE_PROCESSES = 16
_TCP_BYTES = 32 * 1_048_576
_numbers = itertools.count()
_swept: set[Path] = set()


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryGroup:
    """One made for one sandbox: one folder, or with version 1 one for each controller."""

    folders: tuple[Path, ...]
    counter: Path
    """The file that says how often the kernel killed for memory."""

    def enter(self, process: int) -> None:
        for folder in self.folders:
            _set(folder / "cgroup.procs", str(process))

    def killed(self) -> int:
        with suppress(OSError, ValueError):
            words = disk.read(self.counter).split()
            return int(words[words.index(b"oom_kill") + 1])
        return 0

    def remove(self) -> None:
        """When the last process has left; the kernel may take a moment to notice."""
        for folder in self.folders:
            for _ in range(50):
                disk.remove_empty(folder)
                if not folder.exists():
                    break
                time.sleep(0.01)


@dataclass(frozen=True, kw_only=True, slots=True)
class Controllers:
    """Where groups of ours may be made: a parent folder for each controller, and the version of the interface."""

    version: int
    memory: Path
    processes: Path | None


def make_group(limits: Limits, controllers: Controllers) -> MemoryGroup | None:
    """A new group with these limits; `None` when it cannot be had."""
    name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    size = str(limits.memory_mb * 1_048_576)
    most = str(limits.processes + _SPARE_PROCESSES)
    made: list[Path] = []
    parents = dict.fromkeys(parent for parent in (controllers.memory, controllers.processes) if parent)
    try:
        for parent in parents:
            _sweep(parent)
            folder = parent / name
            folder.mkdir()
            made.append(folder)
        memory = controllers.memory / name
        if controllers.version == 2:
            _set(memory / "memory.max", size)
            _set_if_there(memory / "memory.swap.max", "0")
            counter = memory / "memory.events"
        else:
            _set(memory / "memory.limit_in_bytes", size)
            _set_if_there(memory / "memory.memsw.limit_in_bytes", size)
            # Version 1 counts the buffers of TCP apart from everything else, and bounds them only where asked to.
            _set_if_there(memory / "memory.kmem.tcp.limit_in_bytes", str(_TCP_BYTES))
            counter = memory / "memory.oom_control"
        if controllers.processes is not None:
            _set(controllers.processes / name / "pids.max", most)
    except OSError:
        for folder in made:
            disk.remove_empty(folder)
        return None
    return MemoryGroup(folders=tuple(made), counter=counter)


def find_controllers() -> Controllers | None:
    """Where this process may make groups, as the kernel tells it."""
    try:
        own = disk.read_text(Path("/proc/self/cgroup"))
        mounts = disk.read_text(Path("/proc/self/mountinfo"))
    except OSError:
        return None
    candidates = (*_version_1(own, mounts), *_version_2(own, mounts))
    return next((found for found in candidates if os.access(found.memory, os.W_OK | os.X_OK)), None)


def _version_1(own: str, mounts: str) -> Iterable[Controllers]:
    places: dict[str, Path] = {}
    paths = {
        name: path for line in own.splitlines() for _, names, path in [line.split(":", 2)] for name in names.split(",")
    }
    for mount in _mounts(mounts, "cgroup"):
        for name in ("memory", "pids"):
            if name in mount["options"] and name in paths:
                places[name] = _below(mount, paths[name])
    if "memory" in places:
        pids = places.get("pids")
        yield Controllers(
            version=1, memory=places["memory"], processes=pids if pids and os.access(pids, os.W_OK) else None
        )


def _version_2(own: str, mounts: str) -> Iterable[Controllers]:
    path = next((line.split(":", 2)[2] for line in own.splitlines() if line.startswith("0::")), None)
    if path is None:
        return
    for mount in _mounts(mounts, "cgroup2"):
        here = _below(mount, path)
        # A group with processes of its own hands out no memory below itself, so most often the place is beside ours.
        for parent in (here, here.parent):
            offered = _words(parent / "cgroup.subtree_control")
            # Whoever moves a process must be allowed to write to the group above both places.
            movable = os.access(parent / "cgroup.procs", os.W_OK)
            if "memory" in offered and movable and parent.is_relative_to(mount["point"]):
                yield Controllers(version=2, memory=parent, processes=parent if "pids" in offered else None)


def _mounts(text: str, kind: str) -> Iterable[Mapping[str, str]]:
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if rest and rest[0] == kind:
            yield {"root": fields[3], "point": fields[4], "options": "," + rest[2] + ","}


def _below(mount: Mapping[str, str], path: str) -> Path:
    inside = os.path.relpath(path, mount["root"]) if path.startswith(mount["root"]) else "."
    return Path(mount["point"]) / inside


def _words(path: Path) -> Sequence[str]:
    try:
        return disk.read_text(path).split()
    except OSError:
        return ()


def _sweep(parent: Path) -> None:
    """Once per process: groups whose supervisor was killed before it could remove them."""
    if parent in _swept:
        return
    _swept.add(parent)
    for folder in disk.folders(parent, f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            disk.remove_empty(folder)


def _set(path: Path, value: str) -> None:
    """Tell the kernel a value."""
    with os.fdopen(disk.descriptor(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.write(value.encode("ascii"))


def _set_if_there(path: Path, value: str) -> None:
    with suppress(OSError):
        _set(path, value)


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
