"""What becomes of a child of the init process: the command it was forked for, with its streams, limits and rights."""

import _signal as signal  # what the module of that name is made of, without its enumerations: a third of the start
import errno
import os
import resource

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2


def process_control(option: int, value: int) -> None:
    """`prctl`, without the cost of importing the whole of ctypes where that can be had."""
    try:
        import _ctypes

        library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
        result = _ctypes.call_function(_ctypes.dlsym(library, "prctl"), (option, value, 0, 0, 0))
    except (ImportError, AttributeError, OSError):
        import ctypes

        result = ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    if result != 0:
        raise OSError(f"prctl {option} was refused")


def refuse_calls(path: str) -> None:
    """Filter the system calls of this process and of all that come from it, beside the filter of a container's engine.

    The file has a line for each kind of machine: its name, and the filter in hexadecimal digits.
    """
    import ctypes
    import struct

    with open(path, encoding="ascii") as lines:  # noqa: PTH123 (pathlib is slow to import)
        filters = dict(line.split() for line in lines)
    code = bytes.fromhex(filters[os.uname().machine])
    steps = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(code) // 8, ctypes.addressof(steps))
    if ctypes.CDLL(None).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        raise OSError("the filter of system calls was refused")


def become(
    arguments: "list[bytes]",
    folder: str,
    environment: "list[bytes]",
    limits: "list[bytes]",
    stdin: "int | None",
    stdout: int,
    stderr: int,
) -> None:
    """In the child: take the streams and limits of the command and turn into it. Does not return."""
    code = 126
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        source = os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin
        for at, descriptor in enumerate((source, stdout, stderr)):
            os.dup2(descriptor, at)
        os.closerange(3, 4096)
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                try:
                    signal.signal(number, signal.SIG_DFL)
                except (OSError, ValueError):
                    continue
        offer_to_the_killer()
        set_limits([int(limit) for limit in limits])
        try:
            os.chdir(folder)
        except OSError as error:
            os.write(2, os.fsencode(f"{folder}: {error.strerror}\n"))
            os._exit(126)
        pairs = dict(zip(environment[::2], environment[1::2], strict=True))
        try:
            execute(arguments, pairs)
        except OSError as error:
            code = 127 if error.errno == errno.ENOENT else 126
            os.write(2, arguments[0] + b": " + os.fsencode(error.strerror or "cannot be run") + b"\n")
    finally:
        os._exit(code)


def execute(arguments: "list[bytes]", environment: "dict[bytes, bytes]") -> None:
    """As `os.execvpe`, which would import another module in every child. Returns only by raising."""
    program = arguments[0]
    if b"/" in program:
        os.execve(program, arguments, environment)
    denied: OSError | None = None
    for folder in environment.get(b"PATH", b"").split(b":"):
        try:
            os.execve(folder + b"/" + program, arguments, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            denied = error
    raise denied or FileNotFoundError(errno.ENOENT, "No such file or directory")


def offer_to_the_killer() -> None:
    """When memory runs out, the kernel shall choose the command and not the init process."""
    try:
        process_control(PR_SET_DUMPABLE, 1)
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(descriptor, b"1000")
        os.close(descriptor)
    except OSError:
        return


def set_limits(values: "list[int]") -> None:
    kinds = (
        resource.RLIMIT_AS,
        resource.RLIMIT_CPU,
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_NOFILE,
        resource.RLIMIT_NPROC,
        resource.RLIMIT_DATA,
    )
    # One byte, not none: with none the kernel would still hand a crash to the host's own collector, which runs as root.
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    for kind, value in zip(kinds, values, strict=True):
        if value:
            _, ceiling = resource.getrlimit(kind)
            most = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
            resource.setrlimit(kind, (most, most))


def descendants(first: int) -> "list[int]":
    """Every process below this one, orphans included: they come to it. Without /proc, its own children."""
    children: dict[int, list[int]] = {}
    try:
        names = [entry.name for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        names = []
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as stream:  # noqa: PTH123 (pathlib is slow to import)
                facts = stream.read().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if facts[0] != b"Z":
            children.setdefault(int(facts[1]), []).append(int(name))
    found = list(children.get(first, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found
