"""A sandbox made by bubblewrap: one namespace that lives until it is closed, with the keeper as its process 1."""

import json
import os
import platform
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from upskill.domain.answer import Files
from upskill.sandbox import control, profile, seccomp
from upskill.sandbox.place import HOME, WORKSPACE, Ended, FileRefused, Furnishing, Ran, SandboxGone
from upskill.sandbox.refusals import unavailable
from upskill.sandbox.spawning import spawn

SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
START_SECONDS = 30.0
MOST_READ_ONLY = 500
ENVIRONMENT = {"PATH": profile.PATH, "HOME": HOME, "LANG": "C.UTF-8"}


def find_program(name: str) -> str | None:
    """From the system's own folders only: never through a PATH that somebody else can write."""
    for folder in SYSTEM_FOLDERS:
        path = Path(folder) / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return None


@cache
def keeper_source() -> bytes:
    return (Path(__file__).parent / "keeper.py").read_bytes()


def launcher() -> list[str]:
    """How bubblewrap is started: by the superuser only after all rights are laid down."""
    bwrap = find_program("bwrap")
    if bwrap is None:
        raise unavailable("bubblewrap is not installed")
    if os.geteuid() != 0:
        return [bwrap]
    setpriv = find_program("setpriv")
    if setpriv is None:
        raise unavailable("setpriv is not installed, and the superuser must lay down its rights first")
    nobody = str(profile.UNPRIVILEGED)
    return [setpriv, "--reuid", nobody, "--regid", nobody, "--clear-groups", "--no-new-privs", bwrap]


class Bubblewrap:
    """See `Sandbox`. Calls from several threads wait for each other; `close` does not wait."""

    def __init__(self, furnishing: Furnishing) -> None:
        if len(furnishing.read_only) > MOST_READ_ONLY:
            raise FileRefused(
                f"{len(furnishing.read_only)} read-only files, more than {MOST_READ_ONLY}; mount their folder instead"
            )
        self._limits = furnishing.limits
        self._busy = threading.Lock()
        self._ending = threading.Lock()
        self._closed = False
        self._process, self._line, self._first = _start(furnishing)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: str = WORKSPACE,
    ) -> Ran:
        request = control.run_request(
            argv,
            seconds=seconds,
            stdin=stdin,
            environment={**ENVIRONMENT, **(environment or {})},
            folder=folder,
            limits=self._limits,
        )
        with self._busy:
            started = time.monotonic()
            try:
                self._require_open()
                answer = self._line.ask(
                    request, seconds=seconds + control.GRACE_SECONDS, most_bytes=self._limits.output_bytes
                )
                return control.ran(answer, self._limits)
            except control.LineSilent:
                self.close()
                return _without_words("timeout", started)
            except (control.LineLost, SandboxGone):
                self.close()
                return _without_words("gone", started)

    def put(self, files: Files, *, executable: Collection[str] = ()) -> None:
        if files:
            self._files(control.put_request(files, executable), "take files in", 0)

    def read(self, path: str, *, most_bytes: int = 10_485_760) -> bytes:
        control.check_name(path)
        fields = self._files([b"read", os.fsencode(path), str(most_bytes).encode()], f"read {path}", most_bytes)
        if len(fields) != 1 or len(fields[0]) > most_bytes:
            self.close()
            raise SandboxGone(f"the sandbox answered with more than {path}")
        return fields[0]

    def take(self, *, most_files: int = 1_000, most_bytes: int = 10_485_760) -> Files:
        request = [b"take", str(most_files).encode(), str(most_bytes).encode()]
        fields = self._files(request, "hand out its files", most_bytes + 8 * most_files)
        try:
            return control.taken(fields, most_files=most_files, most_bytes=most_bytes)
        except control.LineLost as error:
            self.close()
            raise SandboxGone(f"the sandbox answered with {error}") from None

    def close(self) -> None:
        with self._ending:
            if self._closed:
                return
            self._closed = True
            self._line.hang_up()
            _end(self._process, self._first)
            self._line.close()
            os.close(self._first)

    def _require_open(self) -> None:
        if self._closed:
            raise SandboxGone("the sandbox is gone")

    def _files(self, request: Sequence[bytes], what: str, most_bytes: int) -> Sequence[bytes]:
        with self._busy:
            self._require_open()
            try:
                answer = self._line.ask(request, seconds=control.FILE_SECONDS, most_bytes=most_bytes)
                return control.expect_ok(answer, what)
            except (control.LineLost, control.LineSilent) as error:
                self.close()
                raise SandboxGone(
                    f"the sandbox is gone: it could not {what} ({error or 'no answer in time'})"
                ) from None


def _without_words(ended: Ended, started: float) -> Ran:
    return Ran(ended=ended, exit_code=None, stdout=b"", stderr=b"", seconds=time.monotonic() - started)


def _start(furnishing: Furnishing) -> tuple["subprocess.Popen[bytes]", control.Line, int]:
    """The bubblewrap process, the line to the keeper, and a descriptor of the keeper's process."""
    words = launcher()
    if not seccomp.supported(platform.machine()):
        raise unavailable(f"there is no system call filter for {platform.machine()}")
    held: list[int] = []

    def data(content: bytes) -> int:
        descriptor = os.memfd_create("upskill")
        held.append(descriptor)
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    ours, theirs = socket.socketpair()
    status, status_end = os.pipe()
    complaints, complaints_end = os.pipe()
    flags, flags_end = os.pipe()
    try:
        held += [status_end, flags]
        interpreter = profile.find_interpreter()
        settings = profile.flags(
            furnishing,
            interpreter=interpreter,
            keeper=keeper_source(),
            status=status_end,
            filter_=data(seccomp.compile_filter(platform.machine())),
            data=data,
        )
        process = spawn(
            [*words, "--args", str(flags), *profile.command(interpreter)],
            stdin=theirs.fileno(),
            stderr=complaints_end,
            keep=held,
        )
    except BaseException:
        ours.close()
        for descriptor in (status, complaints, flags_end):
            os.close(descriptor)
        raise
    finally:
        theirs.close()
        os.close(complaints_end)
        for descriptor in held:
            os.close(descriptor)
    line = control.Line(ours)
    try:
        _write_all(flags_end, b"".join(os.fsencode(word) + b"\0" for word in settings))
        os.close(flags_end)
        answer = line.answer(time.monotonic() + START_SECONDS, 0)
        if answer != [b"ready"]:
            raise control.LineLost("a first word that is not `ready`")
        first = os.pidfd_open(_child(status))
    except (control.LineLost, control.LineSilent, OSError, ValueError) as error:
        line.close()
        process.kill()
        process.wait()
        words_of_it = _whatever_is_there(complaints)
        raise unavailable(words_of_it or f"the sandbox did not start ({error})") from None
    finally:
        os.close(status)
        os.close(complaints)
    return process, line, first


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BrokenPipeError:
            return


def _child(status: int) -> int:
    """The keeper's process id as the host sees it. It was written before the keeper could say a word."""
    text = b""
    while b"\n" not in text and select.select([status], [], [], 5)[0]:
        chunk = os.read(status, 4096)
        if not chunk:
            break
        text += chunk
    facts = json.loads(text.split(b"\n")[0] or b"{}")
    return int(facts["child-pid"])


def _whatever_is_there(descriptor: int) -> str:
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 65536).decode("utf-8", "replace").strip()
    except BlockingIOError:
        return ""


def _end(process: "subprocess.Popen[bytes]", first: int) -> None:
    """Kill process 1: the kernel ends all the rest, and only then does bubblewrap see the end and leave."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(first, signal.SIGKILL)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
