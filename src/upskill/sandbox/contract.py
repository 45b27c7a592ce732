"""What every sandbox promises, whatever confines it. Blocking calls: an event loop hands them to a thread."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, Self, get_args

from upskill.errors import EngineError, UpskillError

WORKSPACE = "/workspace"
HOME = "/home/agent"
Files = Mapping[str, bytes]
"""Content by relative path, with forward slashes."""
MOST_READ_ONLY = 500
"""Files that a sandbox is opened with, one by one. More come as a mounted folder."""

Engine = Literal["podman", "docker"]
"""What makes containers."""
ENGINES: tuple[Engine, ...] = get_args(Engine)

Backend = Literal["bubblewrap", Engine, "none"]
"""`none` confines nothing: it must be asked for, and every report says so."""

MemoryBy = Literal["cgroup", "process"]
"""What bounds memory: a control group that of a whole sandbox; without one, a limit that of each process alone."""

Ended = Literal["exit", "timeout", "output", "memory", "gone"]
"""It ended by itself; or was killed for its time, its output, the memory of its tree; or the sandbox is gone."""

RefusalKind = Literal["folder", "large", "denied", "other"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What everything in one sandbox may use together, and each process of it."""

    memory_mb: int = 512
    processes: int = 64
    address_space_mb: int | None = 1024
    """Per process; `None` for programs that reserve huge ranges, as JavaScript engines do."""
    cpu_seconds: int = 30
    open_files: int = 256
    file_mb: int = 64
    workspace_mb: int = 100
    tmp_mb: int = 64
    home_mb: int = 1
    output_bytes: int = 1_048_576
    """Both streams of one command together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A file or folder of the host, seen read-only at a path inside."""

    source: Path
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxSpec:
    """What a sandbox holds when it opens, beside its system."""

    limits: Limits = Limits()
    mounts: tuple[Mount, ...] = ()
    read_only: Files = field(default_factory=dict)
    """Files by absolute path inside; nobody inside can change them."""
    executable: frozenset[str] = frozenset()
    """Which of the read-only files may be run."""
    sockets: tuple[Mount, ...] = ()
    """Unix sockets of the host that programs inside may talk to, the only way out there is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """How a command went. `exit_code` is `None` unless it ended by itself."""

    ended: Ended
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float


class Sandbox(Protocol):
    """One confined place with a workspace of its own; it lives until it is closed, and nothing in it outlives that."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def python(self) -> str:
        """The program that runs Python inside."""
        ...

    def where(self, path: str) -> str:
        """How programs of this sandbox name a path inside: as it is; without confinement where it really lies; and in a
        container a socket by `@` and its path, which stands for a name without a file."""
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: str = WORKSPACE,
    ) -> CommandResult:
        """Run one command, once. Whatever it started in the background may live on until the sandbox is closed."""
        ...

    def put(self, files: Files, *, executable: Collection[str] = ()) -> None:
        """Write files, named relative to the workspace or by absolute path inside."""
        ...

    def read(self, path: str, *, most_bytes: int = 10_485_760) -> bytes:
        """One regular file, no link followed. Raises `FileNotFoundError` or `FileRefused`."""
        ...

    def take(self, *, most_files: int = 1_000, most_bytes: int = 10_485_760) -> Files:
        """End every process, then hand out all regular files of the workspace. Raises `FileRefused` when too many."""
        ...

    def stop(self) -> None:
        """End every process, from any thread; a command that is being run ends with `timeout`. The files stay."""
        ...

    def close(self) -> None:
        """End everything in it, from any thread. May be called twice."""
        ...


class FileRefused(Exception):
    """A file is not handed in or out: a link, a device, a pipe, too large or too many. Says which and why."""

    def __init__(self, message: str, *, kind: RefusalKind = "other") -> None:
        super().__init__(message)
        self.kind = kind


class SandboxUnavailable(UpskillError):
    """No sandbox can be had on this machine as it is. The hint is the one command that changes that."""


class SandboxGone(EngineError):
    """The sandbox ended before it could answer. What was asked of it has measured nothing."""


class SandboxSpent(SandboxGone):
    """What ran in the sandbox used so much memory that the sandbox had to be ended with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxFacts:
    """What confines the programs of a run, as the run records it."""

    backend: Backend
    version: str | None
    profile: str | None
    """Digest of everything that is set for each sandbox alike: flags, filter, the program inside."""
    memory_by: MemoryBy
    probes: tuple[int, ...]
    """The quick probes that held just now."""
