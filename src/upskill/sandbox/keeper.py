"""The program that is process 1 of a sandbox: runs commands and hands files in and out, on request of the host.

It runs under `python3 -I -S` with the standard library only, and imports nothing of upskill: the host hands it in as
one file, and it spares what is slow to import. Students' processes share its user, so it is not dumpable: nobody inside
can open its descriptors or its memory. What it answers is still never evidence for a check. The host imports this
module only for the framing.

Without a sandbox the same program serves, in a folder of the host and as an ordinary process: `unconfined`.
"""

import _signal as signal  # what the module of that name is made of, without its enumerations: a third of the start
import errno
import os
import resource
import select
import stat
import struct
import sys
import time

WORKSPACE = "/workspace"
HEADER = struct.Struct("<I")
LIMITS = ("address_space", "cpu_seconds", "file_bytes", "open_files", "processes")
"""The order in which a run request carries them; 0 means no limit."""
DEEPEST = 64
MOST_ENTRIES = 200_000
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


def pack(fields: "list[bytes]") -> bytes:
    """One frame: its length, then every field with its own length."""
    body = b"".join(HEADER.pack(len(field)) + field for field in fields)
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> "list[bytes]":
    """The fields of a frame's body. Raises `ValueError` when they do not add up."""
    fields = []
    at = 0
    while at < len(body):
        if at + HEADER.size > len(body):
            raise ValueError("a frame ends inside a length")
        (size,) = HEADER.unpack_from(body, at)
        at += HEADER.size
        if at + size > len(body):
            raise ValueError("a field is longer than its frame")
        fields.append(body[at : at + size])
        at += size
    return fields


class Refused(Exception):
    """A file is not handed in or out."""

    def __init__(self, message: str, kind: bytes = b"other") -> None:
        super().__init__(message)
        self.kind = kind


KINDS = {errno.EISDIR: b"folder", errno.EACCES: b"denied", errno.EPERM: b"denied", errno.EROFS: b"denied"}


def refused(path: str, error: OSError) -> Refused:
    return Refused(f"{path}: {error.strerror}", KINDS.get(error.errno or 0, b"other"))


class Missing(Exception):
    """There is no such file."""


class Gone(Exception):
    """The host closed its end."""


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


class Keeper:
    """Serves one request after the other until the host hangs up."""

    def __init__(self, control: int, root: str, *, confined: bool) -> None:
        self.control = control
        self.root = root
        self.confined = confined
        self.received = bytearray()
        self.woken, self.wake = os.pipe()
        os.set_blocking(self.woken, False)
        os.set_blocking(self.wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        self.status_of: dict[int, int] = {}
        self.watched: int | None = None

    def serve(self) -> None:
        self.answer([b"ready"])
        while True:
            request = self.next_request()
            try:
                answer = self.handle(request)
            except Refused as refusal:
                answer = [b"refused", os.fsencode(str(refusal)), refusal.kind]
            except Missing as missing:
                answer = [b"missing", os.fsencode(str(missing))]
            except (OSError, ValueError, MemoryError) as error:
                answer = [b"fault", os.fsencode(f"{type(error).__name__}: {error}")]
            if answer:
                self.answer(answer)

    def handle(self, request: "list[bytes]") -> "list[bytes]":
        verb = request[0]
        if verb == b"run":
            return self.run(request)
        if verb == b"put":
            return self.put(request)
        if verb == b"read":
            return [b"ok", read_file(self.root, os.fsdecode(request[1]), int(request[2]))]
        if verb == b"take":
            self.end_all()
            return [b"ok", *take_files(self.root + WORKSPACE, int(request[1]), int(request[2]))]
        if verb == b"kill":
            # It came after the command had ended, or for what was left in the background: nobody waits for an answer.
            self.end_all()
            return []
        raise ValueError(f"unknown request {verb!r}")

    # Talking with the host

    def answer(self, fields: "list[bytes]") -> None:
        frame = memoryview(pack(fields))
        while frame:
            try:
                frame = frame[os.write(self.control, frame) :]
            except BlockingIOError:
                select.select([], [self.control], [])
            except OSError as error:
                raise Gone from error

    def receive(self) -> bool:
        """Take in what is there; whether something came."""
        try:
            chunk = os.read(self.control, 1 << 20)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Gone from error
        if not chunk:
            raise Gone
        self.received += chunk
        return True

    def whole_frame(self) -> "list[bytes] | None":
        if len(self.received) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(self.received)
        if len(self.received) < HEADER.size + size:
            return None
        body = bytes(self.received[HEADER.size : HEADER.size + size])
        del self.received[: HEADER.size + size]
        return unpack(body)

    def next_request(self) -> "list[bytes]":
        while True:
            frame = self.whole_frame()
            if frame is not None:
                return frame
            select.select([self.control, self.woken], [], [])
            self.reap()
            self.receive()

    # Processes

    def reap(self) -> None:
        """Orphans come to process 1; unreaped they would stay in everybody's count."""
        try:
            while os.read(self.woken, 4096):
                pass
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.watched:
                self.status_of[pid] = status

    def end_all(self) -> None:
        """Kill everything but this process, and wait until it is gone."""
        while True:
            if not self.kill_all():
                self.reap()
                return
            while True:
                try:
                    pid, status = os.waitpid(-1, 0)
                except ChildProcessError:
                    break
                if pid == self.watched:
                    self.status_of[pid] = status

    def kill_all(self) -> bool:
        """Whether there was anybody. In a sandbox this is one call that no fork can slip through."""
        if self.confined:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                return False
            return True
        others = descendants(os.getpid())
        for pid in others:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        return bool(others)

    def run(self, request: "list[bytes]") -> "list[bytes]":
        _, folder, seconds, most_output, limits, arguments, environment, stdin = request
        started = time.monotonic()
        job = Job(self, unpack(arguments), os.fsdecode(folder), unpack(environment), unpack(limits), stdin)
        ended = job.watch(started + float(seconds), int(most_output))
        status = self.status_of.pop(job.pid, None)
        self.watched = None
        code = b""
        if ended == b"exit" and status is not None:
            code = str(os.waitstatus_to_exitcode(status)).encode()
        took = f"{time.monotonic() - started:.6f}".encode()
        return [b"ran", ended, code, bytes(job.output[0]), bytes(job.output[1]), took]

    # Files

    def put(self, request: "list[bytes]") -> "list[bytes]":
        for name, mode, content in zip(request[1::3], request[2::3], request[3::3], strict=True):
            write_file(self.root, os.fsdecode(name), int(mode, 8), content)
        return [b"ok"]


class Job:
    """One command: its process, its streams, its end."""

    def __init__(
        self,
        keeper: Keeper,
        arguments: "list[bytes]",
        folder: str,
        environment: "list[bytes]",
        limits: "list[bytes]",
        stdin: bytes,
    ) -> None:
        self.keeper = keeper
        self.output = (bytearray(), bytearray())
        self.stdin = memoryview(stdin)
        ends = [os.pipe() for _ in range(2)]
        self.readable = {ends[0][0]: 0, ends[1][0]: 1}
        feed: tuple[int, int] | None = os.pipe() if stdin else None
        self.feed = feed[1] if feed else None
        self.pid = os.fork()
        if self.pid == 0:
            become(arguments, folder, environment, limits, feed[0] if feed else None, ends[0][1], ends[1][1])
        keeper.watched = self.pid
        for descriptor in (ends[0][1], ends[1][1], *(feed[:1] if feed else ())):
            os.close(descriptor)
        for descriptor in (*self.readable, *([self.feed] if self.feed is not None else [])):
            os.set_blocking(descriptor, False)

    def watch(self, deadline: float, most_output: int) -> bytes:
        """Until the command ends or must end. Never until end of file: somebody in the background may hold a stream."""
        keeper = self.keeper
        try:
            while True:
                if self.pid in keeper.status_of:
                    self.drain(most_output)
                    return b"output" if self.size() > most_output else b"exit"
                left = deadline - time.monotonic()
                if left <= 0:
                    return self.stop(b"timeout")
                readable, writable, _ = select.select(
                    [keeper.control, keeper.woken, *self.readable],
                    [self.feed] if self.feed is not None else [],
                    [],
                    left,
                )
                if keeper.woken in readable:
                    keeper.reap()
                if keeper.control in readable:
                    keeper.receive()
                    frame = keeper.whole_frame()
                    if frame is not None and frame[0] == b"kill":
                        return self.stop(frame[1])
                for descriptor in readable:
                    if descriptor in self.readable:
                        self.take_in(descriptor, most_output)
                if self.size() > most_output:
                    return self.stop(b"output")
                if writable:
                    self.give()
        finally:
            self.close()
            for stream in self.output:
                del stream[most_output:]
            del self.output[1][max(0, most_output - len(self.output[0])) :]

    def size(self) -> int:
        return len(self.output[0]) + len(self.output[1])

    def stop(self, why: bytes) -> bytes:
        self.keeper.end_all()
        return why

    def take_in(self, descriptor: int, most_output: int) -> bool:
        try:
            chunk = os.read(descriptor, min(1 << 16, most_output + 1))
        except BlockingIOError:
            return False
        if not chunk:
            os.close(descriptor)
            del self.readable[descriptor]
            return False
        self.output[self.readable[descriptor]].extend(chunk)
        return True

    def drain(self, most_output: int) -> None:
        for descriptor in list(self.readable):
            while self.size() <= most_output and self.take_in(descriptor, most_output):
                pass

    def give(self) -> None:
        if self.feed is None:
            return
        try:
            self.stdin = self.stdin[os.write(self.feed, self.stdin[: 1 << 16]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.stdin = self.stdin[:0]
        if not self.stdin:
            os.close(self.feed)
            self.feed = None

    def close(self) -> None:
        for descriptor in self.readable:
            os.close(descriptor)
        self.readable = {}
        if self.feed is not None:
            os.close(self.feed)
            self.feed = None


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
    """When memory runs out, the kernel shall choose the command and not the keeper."""
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


def parts_of(path: str) -> "list[str]":
    """The names on the way from the root. No `..`, and nothing of the kernel's own file systems."""
    whole = path if path.startswith("/") else f"{WORKSPACE}/{path}"
    parts = [part for part in whole.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or "\0" in whole:
        raise Refused(f"{path}: not a plain path")
    if parts[0] in ("proc", "sys", "dev"):
        raise Refused(f"{path}: belongs to the kernel")
    return parts


def open_folder(root: str, parts: "list[str]", path: str, *, make: bool) -> int:
    """Each folder opened from the one before, no link followed."""
    here = os.open(root or "/", os.O_RDONLY | os.O_DIRECTORY | NO_LINK)
    try:
        for part in parts:
            try:
                step = os.open(part, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=here)
            except FileNotFoundError:
                if not make:
                    raise Missing(path) from None
                os.mkdir(part, 0o755, dir_fd=here)
                step = os.open(part, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=here)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise Refused(f"{path}: goes through a link or a file") from None
                raise refused(path, error) from None
            os.close(here)
            here = step
    except BaseException:
        os.close(here)
        raise
    return here


def read_plain(folder: int, name: str, path: str, most_bytes: int) -> bytes:
    """One regular file without a second name, at most so large."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_LINK, dir_fd=folder)
    except FileNotFoundError:
        raise Missing(path) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused(f"{path}: is a link") from None
        raise refused(path, error) from None
    try:
        facts = os.fstat(descriptor)
        if stat.S_ISDIR(facts.st_mode):
            raise Refused(f"{path}: is a directory", b"folder")
        if not stat.S_ISREG(facts.st_mode):
            raise Refused(f"{path}: not a regular file")
        if facts.st_nlink > 1:
            raise Refused(f"{path}: has a second name (hard link)")
        if facts.st_size > most_bytes:
            raise Refused(f"{path}: {facts.st_size} bytes, more than {most_bytes}", b"large")
        chunks = []
        left = most_bytes + 1
        while left > 0:
            chunk = os.read(descriptor, min(left, 1 << 20))
            if not chunk:
                break
            chunks.append(chunk)
            left -= len(chunk)
        if left <= 0:
            raise Refused(f"{path}: grew over {most_bytes} bytes while it was read", b"large")
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def read_file(root: str, path: str, most_bytes: int) -> bytes:
    parts = parts_of(path)
    folder = open_folder(root, parts[:-1], path, make=False)
    try:
        return read_plain(folder, parts[-1], path, most_bytes)
    finally:
        os.close(folder)


def write_file(root: str, path: str, mode: int, content: bytes) -> None:
    """Written beside and moved into place: a link, a pipe or a hard link of that name is replaced, never followed."""
    parts = parts_of(path)
    try:
        folder = open_folder(root, parts[:-1], path, make=True)
    except OSError as error:
        raise refused(path, error) from None
    beside = f".{os.getpid()}-{time.monotonic_ns()}"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, mode, dir_fd=folder)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        os.rename(beside, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if exists(folder, beside):
            os.unlink(beside, dir_fd=folder)
        raise refused(path, error) from None
    finally:
        os.close(folder)


def exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def take_files(workspace: str, most_files: int, most_bytes: int) -> "list[bytes]":
    """All regular files of the workspace as names and contents. Links, pipes, devices and other mounts are left out."""
    fields: list[bytes] = []
    counts = {"files": 0, "bytes": 0, "entries": 0}
    os.chmod(workspace, 0o755)  # noqa: PTH101 (pathlib is slow to import)
    top = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | NO_LINK)
    device = os.fstat(top).st_dev

    def walk(folder: int, inside: str, depth: int) -> None:
        for name in sorted(os.listdir(folder)):
            path = f"{inside}{name}"
            counts["entries"] += 1
            if counts["entries"] > MOST_ENTRIES:
                raise Refused(f"the workspace holds more than {MOST_ENTRIES} entries")
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if facts.st_dev != device:
                continue
            if stat.S_ISDIR(facts.st_mode):
                if depth == DEEPEST:
                    raise Refused(f"{path[:200]}: folders nest deeper than {DEEPEST}")
                if facts.st_mode & 0o700 != 0o700:
                    os.chmod(name, 0o700, dir_fd=folder)
                step = os.open(name, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=folder)
                try:
                    walk(step, path + "/", depth + 1)
                finally:
                    os.close(step)
            elif stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1:
                if not facts.st_mode & 0o400:
                    os.chmod(name, 0o600, dir_fd=folder)
                counts["files"] += 1
                if counts["files"] > most_files:
                    raise Refused(f"the workspace holds more than {most_files} files")
                content = read_plain(folder, name, path, most_bytes)
                encoded = os.fsencode(path)
                counts["bytes"] += len(content) + len(encoded)
                if counts["bytes"] > most_bytes:
                    raise Refused(f"the workspace holds more than {most_bytes} bytes")
                fields.extend((encoded, content))

    try:
        walk(top, "", 0)
    finally:
        os.close(top)
    return fields


def main(root: str, *, confined: bool) -> None:
    if confined:
        process_control(PR_SET_DUMPABLE, 0)
    elif sys.platform == "linux":
        process_control(PR_SET_CHILD_SUBREAPER, 1)
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                continue
    control = os.dup(0)
    os.set_blocking(control, False)
    nothing = os.open("/dev/null", os.O_RDWR)
    for at in range(3):
        os.dup2(nothing, at)
    os.closerange(max(control, nothing) + 1, 4096)
    os.umask(0o022)
    keeper = Keeper(control, root, confined=confined)
    try:
        keeper.serve()
    except Gone:
        keeper.end_all()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "", confined=len(sys.argv) == 1)
