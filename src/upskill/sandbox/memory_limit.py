"""A control group that bounds the memory and the processes of one sandbox together, where one can be made.

Version 1 or 2, in our own group or beside it. Nothing here is needed: without one, the watcher counts.
"""

import itertools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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
