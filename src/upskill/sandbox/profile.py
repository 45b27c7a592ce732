"""The hardened profile: every flag that bubblewrap is started with, and the filter of system calls. Starts nothing.

Order matters: later mounts cover earlier ones, and the root becomes read-only last. The filter is
compiled to classic BPF in plain Python for two architectures. On any other there is no filter, and so no sandbox.
"""

import errno
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from upskill.sandbox.contract import HOME, WORKSPACE, SandboxSpec
from upskill.sandbox.init_process import init_program

NUMBERS: Mapping[str, tuple[int | None, int | None]] = {
    # name: (x86_64, aarch64); tests compare them with the kernel's headers
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "syslog": (103, 116),
    "fanotify_init": (300, 262),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "clock_settime": (227, 112),
    "settimeofday": (164, 170),
    "iopl": (172, None),
    "ioperm": (173, None),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "remap_file_pages": (216, 234),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "fanotify_mark": (301, 263),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "vmsplice": (278, 75),
    "io_setup": (206, 0),
    "clone3": (435, 435),
    "clone": (56, 220),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "prlimit64": (302, 261),
    "ioctl": (16, 29),
    "setsockopt": (54, 208),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
}

NEWEST = 452
"""The newest call that was judged (fchmodat2, Linux 6.6). Later ones are not there, whatever the kernel has."""
UNUSED: Mapping[str, tuple[int, int]] = {"x86_64": (335, 424), "aarch64": (295, 424)}
"""Numbers that no architecture-independent call had when these were judged, from and to before."""
NOT_THERE = frozenset(
    {"clone3", "memfd_create", "memfd_secret", "shmget", "msgget", "semget", "mq_open", "vmsplice", "io_setup"}
)
"""Answered as an older kernel would. libc falls back from clone3 to clone, whose flags a filter can see. The others
make memory that no process has mapped, which no limit of a process counts."""

NAMESPACE_FLAGS = 0x7E020000
FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6. AF_VSOCK and others ignore network namespaces."""
TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into a terminal in somebody's name."""
WHOSE = {
    **{"setpriority": 1, "ioprio_set": 1},
    **dict.fromkeys(("sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"), 0),
}
"""Which argument says whose share of the processor is meant."""
EVERY_PROCESS = {"setpriority": 2, "ioprio_set": 3}
"""PRIO_USER and IOPRIO_WHO_USER: all processes of the user, process 1 among them."""
SOCKET_LEVEL, BUFFER_SIZES = 1, (7, 8)
"""SOL_SOCKET; SO_SNDBUF and SO_RCVBUF."""

_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16


def _step(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    """One `struct sock_filter`. A comparison skips so many steps where it is true or false."""
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _argument(index: int) -> bytes:
    """Load the low half of an argument: every argument judged here is an int."""
    return _step(_LOAD, _ARGUMENTS_AT + 8 * index)


_PASS = _step(_RETURN, _ALLOW)


def _rules_of(name: str) -> list[bytes]:
    """What happens once the number of this call was met."""
    if name in NOT_THERE:
        return [_refuse(errno.ENOSYS)]
    if name == "clone":
        return [_argument(0), _step(_ANY_BIT, NAMESPACE_FLAGS, if_false=1), _refuse(errno.EPERM), _PASS]
    if name in ("socket", "socketpair"):
        allowed = [step for family in FAMILIES for step in (_step(_EQUAL, family, if_false=1), _PASS)]
        return [_argument(0), *allowed, _refuse(errno.EAFNOSUPPORT)]
    if name == "prlimit64":
        # Of oneself only: all processes share one user, and process 1 must not be squeezed from below.
        return [_argument(0), _step(_EQUAL, 0, if_false=1), _PASS, _refuse(errno.EPERM)]
    if name in WHOSE:
        # Not that of process 1, or a student could make it too late to hand out what the student left.
        rules: list[bytes] = []
        if (everybody := EVERY_PROCESS.get(name)) is not None:
            rules = [_argument(0), _step(_EQUAL, everybody, if_false=1), _refuse(errno.EPERM)]
        return [*rules, _argument(WHOSE[name]), _step(_EQUAL, 1, if_false=1), _refuse(errno.EPERM), _PASS]
    if name == "setsockopt":
        # Done without effect: with buffers of one known size, the limit of open files bounds their memory.
        ignored = [step for size in BUFFER_SIZES for step in (_step(_EQUAL, size, if_false=1), _refuse(0))]
        return [_argument(1), _step(_EQUAL, SOCKET_LEVEL, if_true=1), _PASS, _argument(2), *ignored, _PASS]
    if name == "ioctl":
        refused = [
            step
            for request in TERMINAL_INJECTION
            for step in (_step(_EQUAL, request, if_false=1), _refuse(errno.EPERM))
        ]
        return [_argument(1), *refused, _PASS]
    return [_refuse(errno.EPERM)]


MACHINES = tuple(_AUDIT_ARCHITECTURE)


def supported(machine: str) -> bool:
    return machine in MACHINES


def compile_filter(machine: str) -> bytes:
    """The filter as an array of `struct sock_filter`. Raises `KeyError` for an architecture without a table."""
    column = 0 if machine == "x86_64" else 1
    program = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, _AUDIT_ARCHITECTURE[machine], if_true=1),
        _step(_RETURN, _KILL_PROCESS),
        _step(_LOAD, _NUMBER_AT),
    ]
    if machine == "x86_64":
        program += [_step(_AT_LEAST, _X32_BIT, if_false=1), _refuse(errno.EPERM)]
    first, end = UNUSED[machine]
    program += [_step(_AT_LEAST, NEWEST + 1, if_false=1), _refuse(errno.ENOSYS)]
    program += [_step(_AT_LEAST, first, if_false=2), _step(_AT_LEAST, end, if_true=1), _refuse(errno.ENOSYS)]
    for name, numbers in NUMBERS.items():
        if (number := numbers[column]) is not None:
            rules = _rules_of(name)
            program += [_step(_EQUAL, number, if_false=len(rules)), *rules]
    return b"".join((*program, _PASS))


INIT_PROGRAM = "/run/init"
OWN_PYTHON = "/opt/python"
PATH = "/usr/local/bin:/usr/bin:/bin"
MEBIBYTE = 1_048_576
SHARED_MEMORY_MB = 32
UNPRIVILEGED = 65534
"""The user that the superuser becomes before bubblewrap starts."""

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
