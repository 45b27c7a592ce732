"""The memory of one sandbox: bounded by a control group where one can be made, else counted from outside.

A group is of version 1 or 2, in our own group or beside it. Nobody inside is asked: processes, files and the buffers of
sockets are counted by a thread."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

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
            (folder / "cgroup.procs").write_text(str(process), encoding="ascii")

    def killed(self) -> int:
        try:
            for line in self.counter.read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
        except (OSError, ValueError):
            pass
        return 0

    def remove(self) -> None:
        """When the last process has left; the kernel may take a moment to notice."""
        for folder in self.folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break


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
            (memory / "memory.max").write_text(size, encoding="ascii")
            _write_if_there(memory / "memory.swap.max", "0")
            counter = memory / "memory.events"
        else:
            (memory / "memory.limit_in_bytes").write_text(size, encoding="ascii")
            _write_if_there(memory / "memory.memsw.limit_in_bytes", size)
            # Version 1 counts the buffers of TCP apart from everything else, and bounds them only where asked to.
            _write_if_there(memory / "memory.kmem.tcp.limit_in_bytes", str(_TCP_BYTES))
            counter = memory / "memory.oom_control"
        if controllers.processes is not None:
            (controllers.processes / name / "pids.max").write_text(most, encoding="ascii")
    except OSError:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        return None
    return MemoryGroup(folders=tuple(made), counter=counter)


def find_controllers() -> Controllers | None:
    """Where this process may make groups, as the kernel tells it."""
    try:
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
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
        return path.read_text(encoding="ascii").split()
    except OSError:
        return ()


def _sweep(parent: Path) -> None:
    """Once per process: groups whose supervisor was killed before it could remove them."""
    if parent in _swept:
        return
    _swept.add(parent)
    for folder in parent.glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            with suppress(OSError):
                folder.rmdir()


def _write_if_there(path: Path, value: str) -> None:
    with suppress(OSError):
        if path.exists():
            path.write_text(value, encoding="ascii")


PROC = Path("/proc")
ENTRY_BYTES = 2_048
"""What the kernel keeps for a file or folder, however empty: 1 to 1.6 KB were measured, more with a long name."""
DATAGRAMS = 12
"""How many messages wait in one datagram socket, each up to a whole buffer, also after their senders are gone."""
_OF_A_PROCESS = (b"VmRSS:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")
_OF_A_MAPPING = (b"Pss:", b"SwapPss:")


def in_files(places: Iterable[int]) -> int:
    """What lies in the memory file systems of these descriptors; removed files that are still open included."""
    total = 0
    for place in places:
        facts = os.fstatvfs(place)
        total += (facts.f_blocks - facts.f_bfree) * facts.f_frsize
        total += (facts.f_files - facts.f_ffree) * ENTRY_BYTES
    return total


def devices_of(places: Iterable[int]) -> frozenset[bytes]:
    """The file systems of these descriptors, as the kernel writes them in a list of mappings."""
    numbers = [os.fstat(place).st_dev for place in places]
    return frozenset(f"{os.major(number):02x}:{os.minor(number):02x}".encode() for number in numbers)


def in_sockets(process: int) -> int:
    """What the sockets in the network namespace of this process may hold, those that nobody has accepted included."""
    folder = PROC / str(process) / "net"
    if _lines(folder / "sockstat")[:1] in ([], [b"sockets: used 0"]):
        return 0
    total = 0
    for line in _lines(folder / "unix")[1:]:
        # A name with a line break makes more lines than there are sockets, to its owner's cost.
        total += _buffer_bytes() * (DATAGRAMS if line.split()[4:5] == [b"0002"] else 1)
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in _lines(folder / name)[1:]:
            sent, _, received = line.split()[4].partition(b":")
            total += 2 * (int(sent, 16) + int(received, 16))
    return total


def are_over(processes: Sequence[int], ceiling: int, *, devices: Collection[bytes]) -> bool:
    """Whether these processes together have more, without mapped files of these devices, which are counted as files.

    What is shared is counted in full at first; only above the ceiling come the fair and slower counts.
    """
    counts: tuple[Callable[[int], int], ...] = (
        _resident,
        _proportional,
        lambda process: _without(process, devices),
    )
    return all(sum(map(count, processes)) > ceiling for count in counts)


def _resident(process: int) -> int:
    return _sum_of(_lines(PROC / str(process) / "status"), _OF_A_PROCESS)


def _proportional(process: int) -> int:
    return _sum_of(_lines(PROC / str(process) / "smaps_rollup"), _OF_A_MAPPING) or _resident(process)


def _without(process: int, devices: Collection[bytes]) -> int:
    """A process that hides its mappings is counted in full."""
    lines = _lines(PROC / str(process) / "smaps")
    kept, of_files = [], False
    for line in lines:
        words = line.split(maxsplit=5)
        if len(words) > 3 and b"-" in words[0]:
            of_files = words[3] in devices
        elif not of_files:
            kept.append(line)
    return _sum_of(kept, _OF_A_MAPPING) if lines else _resident(process)


def _sum_of(lines: Iterable[bytes], names: tuple[bytes, ...]) -> int:
    return sum(int(line.split()[1]) * 1_024 for line in lines if line.startswith(names))


@cache
def _buffer_bytes() -> int:
    """The size of a socket's buffer, which the filter lets nobody change."""
    lines = _lines(PROC / "sys/net/core/wmem_default")
    return int(lines[0]) if lines else 212_992


def _lines(path: Path) -> Sequence[bytes]:
    """None for a process that has ended, or whose user hides it from us."""
    try:
        return path.read_bytes().splitlines()
    except OSError:
        return ()


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
