"""The host's end of the wire to an init process: requests out, answers in, each with a deadline and a size limit.

Trusts nothing that comes back.
"""

import _socket
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from upskill.sandbox.contract import CommandResult, Ended, FileRefused, Files, Limits, RefusalKind, SandboxGone
from upskill.sandbox.init_process.channels import CHANNEL_FRAMES, MOST_CHANNELS, Channel, Channels
from upskill.sandbox.init_process.files import HEADER, pack, unpack

SLACK = 1_048_576
GRACE_SECONDS = 10.0
"""How long an init process may be late before its sandbox is ended from outside."""
FILE_SECONDS = 60.0
_LONGEST_POLL = 60.0
_ENDS: Mapping[bytes, Ended] = {b"exit": "exit", b"timeout": "timeout", b"output": "output", b"memory": "memory"}
_KINDS: Mapping[bytes, RefusalKind] = {b"folder": "folder", b"large": "large", b"denied": "denied"}


class WireLost(Exception):
    """The init process hung up, said too much or said nonsense."""


class WireSilent(Exception):
    """The deadline passed."""


class CarriedSockets(Channels):
    """The host's end of connections to its sockets, which programs inside know by these names."""

    def __init__(self, sources: Mapping[str, Path]) -> None:
        super().__init__()
        self.sources = {os.fsencode(target): source for target, source in sources.items()}

    def take(self, frame: list[bytes]) -> None:
        """As the other end, which is not trusted: `ValueError` for whatever it may not send."""
        if len(frame) != (2 if frame[0] == b"end" else 3):
            raise ValueError("a frame of another form")
        if frame[0] != b"open":
            super().take(frame)
            return
        _, number, target = frame
        if number in self.channels or target not in self.sources or len(self.channels) >= MOST_CHANNELS:
            raise ValueError("a connection that nobody may open")
        try:
            self.channels[number] = Channel(_connected(self.sources[target]))
        except OSError:
            self.frames.append([b"end", number])

    def close(self) -> None:
        """Hang up everywhere."""
        for channel in self.channels.values():
            channel.line.close()
        self.channels.clear()


def _connected(path: Path) -> _socket.socket:
    """A connection to a socket of the host, whatever the length of its path: an address has at most 108 bytes."""
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    if sys.platform != "linux":
        line.connect(os.fsencode(path))
        return line
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        line.connect(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return line


class Wire:
    """One socket. Not for two threads at once, except for `interrupt`."""

    def __init__(self, host: socket.socket) -> None:
        self._socket = host
        self._sending = threading.Lock()

    def ask(self, fields: Sequence[bytes], *, seconds: float, most_bytes: int) -> list[bytes]:
        deadline = time.monotonic() + seconds
        with self._sending:
            self._send(pack(list(fields)), deadline)
        return self.answer(deadline, most_bytes)

    def answer(self, deadline: float, most_bytes: int) -> list[bytes]:
        (size,) = HEADER.unpack(self._receive(HEADER.size, deadline))
        if size > most_bytes + SLACK:
            raise WireLost(f"an answer of {size} bytes")
        try:
            fields = unpack(self._receive(size, deadline))
        except ValueError as error:
            raise WireLost(str(error)) from None
        if not fields:
            raise WireLost("an empty answer")
        return fields

    def ask_and_carry(
        self, carried: CarriedSockets, fields: Sequence[bytes], *, seconds: float, most_bytes: int
    ) -> list[bytes]:
        """As `ask`; until the answer is there, connections of the sandbox are carried on."""
        deadline = time.monotonic() + seconds
        received, unsent = bytearray(), bytearray(pack(list(fields)))
        self._sending.acquire()
        self._socket.settimeout(0)
        sending = True
        try:
            while True:
                # Never waits to send only: the init process may be waiting for us to read.
                ready = self._ready(carried, deadline, sending=sending)
                if sending:
                    self._send_some(unsent)
                if self._socket.fileno() in ready:
                    received += self._receive_some()
                while (frame := _whole_frame(received, most_bytes)) is not None:
                    if frame[0] not in CHANNEL_FRAMES:
                        if received:
                            raise WireLost("more than an answer")
                        self._send(bytes(unsent), deadline)
                        return frame
                    carried.take(frame)
                carried.serve(ready)
                unsent += b"".join(map(pack, carried.frames))
                carried.frames.clear()
                if sending != bool(unsent):
                    # Held as long as a frame is under way: an interrupt must not come into the middle of it.
                    sending = not sending
                    if sending:
                        self._sending.acquire()
                    else:
                        self._sending.release()
        except (OSError, ValueError) as error:
            raise WireLost(str(error)) from None
        finally:
            if sending:
                self._sending.release()

    def _ready(self, carried: CarriedSockets, deadline: float, *, sending: bool) -> set[int]:
        """What can be read or written now. Waits; raises `WireSilent`."""
        wanted = dict.fromkeys(carried.readable(), select.POLLIN)
        for descriptor in carried.writable():
            wanted[descriptor] = wanted.get(descriptor, 0) | select.POLLOUT
        wanted[self._socket.fileno()] = select.POLLIN | (select.POLLOUT if sending else 0)
        poll = select.poll()
        for descriptor, events in wanted.items():
            poll.register(descriptor, events)
        left = deadline - time.monotonic()
        if left <= 0:
            raise WireSilent
        return {descriptor for descriptor, _ in poll.poll(min(left, _LONGEST_POLL) * 1_000)}

    def _send_some(self, unsent: bytearray) -> None:
        try:
            del unsent[: self._socket.send(unsent)]
        except BlockingIOError:
            return

    def _receive_some(self) -> bytes:
        try:
            chunk = self._socket.recv(1 << 20)
        except BlockingIOError:
            return b""
        if not chunk:
            raise WireLost("it hung up")
        return chunk

    def first_word(self, deadline: float) -> None:
        """Wait for `ready`."""
        if self.answer(deadline, 0) != [b"ready"]:
            raise WireLost("a first word that is not `ready`")

    def interrupt(self, why: bytes) -> bool:
        """Ask the init process to end everything inside, while a run is waited for. There is no answer but the run's.

        Small enough to go in one piece, and never into the middle of a request: whoever asks tries again.
        """
        if not self._sending.acquire(blocking=False):
            return False
        try:
            os.write(self._socket.fileno(), pack([b"kill", why]))
        except OSError:
            return False
        else:
            return True
        finally:
            self._sending.release()

    def hang_up(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """Cut first, so that nobody is sending; then the number of the socket may belong to somebody else."""
        self.hang_up()
        with self._sending:
            self._socket.close()

    def _wait_until(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise WireSilent
        self._socket.settimeout(left)

    def _send(self, frame: bytes, deadline: float) -> None:
        left = memoryview(frame)
        while left:
            self._wait_until(deadline)
            try:
                left = left[self._socket.send(left) :]
            except TimeoutError:
                raise WireSilent from None
            except OSError as error:
                raise WireLost(str(error)) from None

    def _receive(self, size: int, deadline: float) -> bytes:
        content = bytearray()
        while len(content) < size:
            self._wait_until(deadline)
            try:
                chunk = self._socket.recv(min(size - len(content), 1 << 20))
            except TimeoutError:
                raise WireSilent from None
            except OSError as error:
                raise WireLost(str(error)) from None
            if not chunk:
                raise WireLost("it hung up")
            content += chunk
        return bytes(content)


def _whole_frame(received: bytearray, most_bytes: int) -> list[bytes] | None:
    """Take the first frame out of what came; `None` where it is not whole yet."""
    if len(received) < HEADER.size:
        return None
    (size,) = HEADER.unpack_from(received)
    if size > most_bytes + SLACK:
        raise WireLost(f"an answer of {size} bytes")
    if len(received) < HEADER.size + size:
        return None
    fields = unpack(bytes(received[HEADER.size : HEADER.size + size]))
    del received[: HEADER.size + size]
    if not fields:
        raise WireLost("an empty answer")
    return fields


def run_request(
    argv: Sequence[str],
    *,
    seconds: float,
    stdin: bytes,
    environment: Mapping[str, str],
    folder: str,
    limits: Limits,
    alone: bool,
) -> list[bytes]:
    """`alone`: nothing bounds the memory of all processes together, so each may have that much."""
    if not argv:
        raise ValueError("there is no command to run")
    if not 0 < seconds < 1e8:
        raise ValueError(f"a command cannot run for {seconds} seconds")
    for word in (*argv, *environment, *environment.values(), folder):
        if "\0" in word:
            raise ValueError(f"{word!r} holds a zero byte")
    megabyte = 1_048_576
    bounds = (
        (limits.address_space_mb or 0) * megabyte,
        limits.cpu_seconds,
        limits.file_mb * megabyte,
        limits.open_files,
        limits.processes,
        limits.memory_mb * megabyte if alone else 0,
    )
    pairs = [_bytes(part) for pair in environment.items() for part in pair]
    return [
        b"run",
        _bytes(folder),
        f"{seconds:.6f}".encode(),
        str(limits.output_bytes).encode(),
        _nested([str(bound).encode() for bound in bounds]),
        _nested([_bytes(word) for word in argv]),
        _nested(pairs),
        stdin,
    ]


def put_request(files: Files, executable: Collection[str]) -> list[bytes]:
    fields = [b"put"]
    for name, content in files.items():
        check_name(name)
        fields += [_bytes(name), b"755" if name in executable else b"644", content]
    return fields


def check_name(name: str) -> None:
    """A name that leads nowhere but where it says."""
    parts = name.split("/")
    if not name or "\0" in name or ".." in parts or name.endswith("/"):
        raise FileRefused(f"{name!r}: not a plain path")


def command_result(answer: Sequence[bytes], limits: Limits) -> CommandResult:
    """The result of a command, as an init process reports it. Raises `WireLost` when it is not an account of one."""
    if answer[0] == b"fault":
        raise WireLost(answer[1].decode("utf-8", "replace") if len(answer) > 1 else "a fault")
    if len(answer) != 6 or answer[0] != b"ran" or answer[1] not in _ENDS:
        raise WireLost("an answer that is no account of a run")
    _, ended, code, stdout, stderr, took = answer
    if len(stdout) + len(stderr) > limits.output_bytes:
        raise WireLost("more output than was allowed")
    try:
        return CommandResult(
            ended=_ENDS[ended],
            exit_code=int(code) if ended == b"exit" else None,
            stdout=stdout,
            stderr=stderr,
            seconds=float(took),
        )
    except ValueError as error:
        raise WireLost(str(error)) from None


def expect_ok(answer: Sequence[bytes], what: str) -> Sequence[bytes]:
    """The fields after `ok`. A refusal is raised as one."""
    word = answer[0]
    detail = answer[1].decode("utf-8", "replace") if len(answer) > 1 else what
    if word == b"ok":
        return answer[1:]
    if word == b"refused":
        kind = _KINDS.get(answer[2], "other") if len(answer) > 2 else "other"
        raise FileRefused(detail, kind=kind)
    if word == b"missing":
        raise FileNotFoundError(detail)
    if word == b"fault":
        raise SandboxGone(f"the sandbox could not {what}: {detail}")
    raise WireLost("an answer of no known kind")


def taken_files(fields: Sequence[bytes], *, most_files: int, most_bytes: int) -> Files:
    """The files of a workspace by their names, checked again on this side."""
    if len(fields) % 2 or len(fields) // 2 > most_files or sum(map(len, fields)) > most_bytes:
        raise WireLost("more files than were asked for")
    files: dict[str, bytes] = {}
    for name, content in zip(fields[::2], fields[1::2], strict=True):
        try:
            path = name.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
            raise WireLost(f"a file named {path!r}")
        files[path] = content
    return files


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _nested(fields: list[bytes]) -> bytes:
    return pack(fields)[HEADER.size :]
