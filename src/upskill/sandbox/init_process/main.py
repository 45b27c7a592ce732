"""The init process itself: serves requests of the host one after the other, and watches the command that it runs."""

import _signal as signal  # what the module of that name is made of, without its enumerations: a third of the start
import os
import select
import stat
import sys
import time

from upskill.sandbox.init_process.channels import CHANNEL_FRAMES, Channels
from upskill.sandbox.init_process.commands import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    become,
    descendants,
    process_control,
    refuse_calls,
)
from upskill.sandbox.init_process.files import (
    HEADER,
    WORKSPACE,
    MissingFile,
    RefusedFile,
    pack,
    read_file,
    take_files,
    unpack,
    write_file,
)

MEMORY_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""Where a container is told that the kernel ended one of its processes for memory: version 2 and version 1."""
LOOK_SECONDS = 0.2


class HostGone(Exception):
    """The host closed its end."""


class InitProcess:
    """Serves one request after the other until the host hangs up."""

    def __init__(self, control: int, answers: int, root: str, *, confined: bool, counter: "int | None") -> None:
        """Requests come from `control`. `counter` is a file that says how often the kernel killed for memory here."""
        self.control = control
        self.answers = answers
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
        self.channels = Channels()
        self.counter = counter
        self.kills_known = self.kills_for_memory()

    def serve(self) -> None:
        self.answer([b"ready"])
        while True:
            request = self.next_request()
            try:
                answer = self.handle(request)
            except RefusedFile as refusal:
                answer = [b"refused", os.fsencode(str(refusal)), refusal.kind]
            except MissingFile as missing:
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
        if verb in CHANNEL_FRAMES:
            self.channels.take(request)
            return []
        raise ValueError(f"unknown request {verb!r}")

    # Talking with the host

    def tell(self) -> None:
        """Send what channels have to say."""
        frames, self.channels.frames = self.channels.frames, []
        for frame in frames:
            self.answer(frame)

    def answer(self, fields: "list[bytes]") -> None:
        frame = memoryview(pack(fields))
        while frame:
            try:
                frame = frame[os.write(self.answers, frame) :]
            except BlockingIOError:
                select.select([], [self.answers], [])
            except OSError as error:
                raise HostGone from error

    def receive(self) -> bool:
        """Take in what is there; whether something came."""
        try:
            chunk = os.read(self.control, 1 << 20)
        except BlockingIOError:
            return False
        except OSError as error:
            raise HostGone from error
        if not chunk:
            raise HostGone
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

    def kills_for_memory(self) -> int:
        """How often the kernel ended a process of this sandbox for memory."""
        if self.counter is None:
            return 0
        facts = os.pread(self.counter, 4096, 0).split()
        return int(facts[facts.index(b"oom_kill") + 1]) if b"oom_kill" in facts else 0

    def run(self, request: "list[bytes]") -> "list[bytes]":
        _, folder, seconds, most_output, limits, arguments, environment, stdin = request
        started = time.monotonic()
        self.kills_known = self.kills_for_memory()
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
        init_process: InitProcess,
        arguments: "list[bytes]",
        folder: str,
        environment: "list[bytes]",
        limits: "list[bytes]",
        stdin: bytes,
    ) -> None:
        self.init_process = init_process
        self.output = (bytearray(), bytearray())
        self.stdin = memoryview(stdin)
        ends = [os.pipe() for _ in range(2)]
        self.readable = {ends[0][0]: 0, ends[1][0]: 1}
        feed: tuple[int, int] | None = os.pipe() if stdin else None
        self.feed = feed[1] if feed else None
        self.pid = os.fork()
        if self.pid == 0:
            become(arguments, folder, environment, limits, feed[0] if feed else None, ends[0][1], ends[1][1])
        init_process.watched = self.pid
        for descriptor in (ends[0][1], ends[1][1], *(feed[:1] if feed else ())):
            os.close(descriptor)
        for descriptor in (*self.readable, *([self.feed] if self.feed is not None else [])):
            os.set_blocking(descriptor, False)

    def watch(self, deadline: float, most_output: int) -> bytes:
        """Until the command ends or must end. Never until end of file: somebody in the background may hold a stream."""
        init_process, channels = self.init_process, self.init_process.channels
        try:
            while True:
                if init_process.kills_for_memory() > init_process.kills_known:
                    return self.stop(b"memory")
                if self.pid in init_process.status_of:
                    self.drain(most_output)
                    return b"output" if self.size() > most_output else b"exit"
                left = deadline - time.monotonic()
                if left <= 0:
                    return self.stop(b"timeout")
                readable, writable, _ = select.select(
                    [init_process.control, init_process.woken, *self.readable, *channels.readable()],
                    [*([self.feed] if self.feed is not None else []), *channels.writable()],
                    [],
                    left if init_process.counter is None else min(left, LOOK_SECONDS),
                )
                if init_process.woken in readable:
                    init_process.reap()
                if init_process.control in readable:
                    init_process.receive()
                    while (frame := init_process.whole_frame()) is not None:
                        if frame[0] == b"kill":
                            return self.stop(frame[1])
                        init_process.handle(frame)
                channels.serve({*readable, *writable})
                init_process.tell()
                for descriptor in readable:
                    if descriptor in self.readable:
                        self.take_in(descriptor, most_output)
                if self.size() > most_output:
                    return self.stop(b"output")
                if self.feed in writable:
                    self.give()
        finally:
            self.close()
            for stream in self.output:
                del stream[most_output:]
            del self.output[1][max(0, most_output - len(self.output[0])) :]

    def size(self) -> int:
        return len(self.output[0]) + len(self.output[1])

    def stop(self, why: bytes) -> bytes:
        self.init_process.end_all()
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


def open_counter(*, in_container: bool) -> "int | None":
    """What the kernel counts of this sandbox, where it has a control group: handed in as standard output, or in a
    container in the engine's own mount."""
    if not in_container:
        return os.dup(1) if stat.S_ISREG(os.fstat(1).st_mode) else None
    for path in MEMORY_COUNTERS:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
    return None


def main(root: str, *, confined: bool, filters: "str | None" = None, sockets: "tuple[str, ...]" = ()) -> None:
    """Serve below `root`. With `filters` it is in a container: pipes are the wire, and sockets are carried over it."""
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
    if filters is not None:
        refuse_calls(filters)
    control = os.dup(0)
    os.set_blocking(control, False)
    answers = control if filters is None else os.dup(1)
    counter = open_counter(in_container=filters is not None) if confined else None
    nothing = os.open("/dev/null", os.O_RDWR)
    for at in range(3):
        os.dup2(nothing, at)
    os.closerange(max(control, nothing) + 1, 4096)
    os.umask(0o022)
    init_process = InitProcess(control, answers, root, confined=confined, counter=counter)
    for target in sockets:
        init_process.channels.listen(os.fsencode(target))
    try:
        init_process.serve()
    except HostGone:
        init_process.end_all()


if __name__ == "__main__":
    if sys.argv[1:2] == ["container"]:
        main("", confined=True, filters=sys.argv[2], sockets=tuple(sys.argv[3:]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else "", confined=len(sys.argv) == 1)
