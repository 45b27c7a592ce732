"""The hardened profile: every flag that bubblewrap is started with. A list of words; starts nothing.

Order matters: later mounts cover earlier ones, and the root becomes read-only last.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from upskill.sandbox.contract import HOME, WORKSPACE, SandboxSpec
from upskill.sandbox.init_process import init_program

INIT_PROGRAM = "/run/init.pyc"
OWN_PYTHON = "/opt/python"
PATH = "/usr/local/bin:/usr/bin:/bin"
MEBIBYTE = 1_048_576
SHARED_MEMORY_MB = 32
UNPRIVILEGED = 65534
"""Whom the superuser becomes before bubblewrap starts."""

ETC = {
    "/etc/passwd": b"agent:x:1000:1000:agent:/home/agent:/bin/sh\n",
    "/etc/group": b"agent:x:1000:\n",
    "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
    "/etc/os-release": b'NAME="sandbox"\nID=sandbox\nPRETTY_NAME="sandbox"\n',
}
"""Programs ask who they are and what localhost is; nothing of the host's own answers goes in."""

NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--disable-userns"),
    *("--cap-drop", "ALL"),
    *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
    *("--new-session", "--die-with-parent", "--as-pid-1", "--clearenv"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What makes the profile hard. Nothing but a test that must see a probe break may ask for less."""

    namespaces: tuple[str, ...] = NAMESPACES
    filtered: bool = True
    sized: bool = True
    drops_rights: bool = True
    grouped: bool = True
    """In a control group, where one can be made."""
    counted: bool = True
    """Without a group, files and sockets are counted as memory too."""
    pooled: bool = True
    """What is asked for beyond the default comes from one pool."""
    init_process: bytes = init_program()


HARDENED = Recipe()


@dataclass(frozen=True, kw_only=True, slots=True)
class Interpreter:
    """The python3 that runs the init process inside, and what must be mounted for it beside /usr."""

    program: str
    prefix: Path | None = None


def find_interpreter() -> Interpreter:
    """The system's own; else the one that runs us."""
    if Path("/usr/bin/python3").exists():
        return Interpreter(program="/usr/bin/python3")
    return own_interpreter()


def own_interpreter() -> Interpreter:
    """The one that runs us, mounted where its path says nothing about this machine."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Interpreter(program=f"{OWN_PYTHON}/bin/{version}", prefix=Path(sys.base_prefix))


def system_mounts() -> list[str]:
    """Programs and libraries, laid out as the host has them."""
    words = ["--ro-bind", "/usr", "/usr", "--dir", "/etc"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        folder = Path("/") / name
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            words += ["--ro-bind", str(folder), str(folder)]
    for path in ("/etc/ld.so.cache", "/etc/alternatives"):
        words += ["--ro-bind-try", path, path]
    return words


def flags(
    spec: SandboxSpec,
    *,
    recipe: Recipe,
    init_process: bytes,
    status: int,
    filter_: int | None,
    data: Callable[[bytes], int],
) -> Sequence[str]:
    """All flags. `data` turns bytes into a descriptor that bubblewrap reads them from."""

    def file(target: str, content: bytes, mode: str = "0444") -> list[str]:
        return ["--perms", mode, "--ro-bind-data", str(data(content)), target]

    def tmpfs(target: str, megabytes: int, *, mode: str = "0755") -> list[str]:
        size = ["--size", str(megabytes * MEBIBYTE)] if recipe.sized else []
        return ["--perms", mode, *size, "--tmpfs", target]

    limits = spec.limits
    words = [*recipe.namespaces, "--json-status-fd", str(status)]
    if filter_ is not None:
        words += ["--seccomp", str(filter_)]
    for name, value in (("PATH", PATH), ("HOME", HOME), ("LANG", "C.UTF-8")):
        words += ["--setenv", name, value]
    words += system_mounts()
    for target, content in ETC.items():
        words += file(target, content)
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += tmpfs("/dev/shm", SHARED_MEMORY_MB, mode="1777")
    if recipe.sized:
        # bubblewrap's /dev is itself a memory file system without a limit.
        words += ["--remount-ro", "/dev"]
    words += tmpfs("/tmp", limits.tmp_mb, mode="1777")
    words += ["--dir", "/var", "--symlink", "../tmp", "/var/tmp"]
    words += [*tmpfs("/home", limits.home_mb), "--dir", HOME]
    words += tmpfs(WORKSPACE, limits.workspace_mb)
    for mount in (*spec.mounts, *spec.sockets):
        words += ["--ro-bind", str(mount.source), mount.target]
    for target, content in spec.read_only.items():
        words += file(target, content, "0555" if target in spec.executable else "0444")
    words += file(INIT_PROGRAM, init_process)
    return [*words, "--chdir", WORKSPACE, "--remount-ro", "/"]


def command(interpreter: Interpreter) -> Sequence[str]:
    """What bubblewrap runs: the init process, isolated from whatever the interpreter would load besides."""
    return [interpreter.program, "-I", "-S", "-B", INIT_PROGRAM]


def digest(recipe: Recipe, filter_: bytes) -> str:
    """One word for everything that is set for each sandbox alike."""
    whole = sha256()

    def data(content: bytes) -> int:
        whole.update(content)
        return 0

    words = flags(
        SandboxSpec(), recipe=recipe, init_process=recipe.init_process, status=0, filter_=data(filter_), data=data
    )
    whole.update("\0".join(words).encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"
