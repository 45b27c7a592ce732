"""The host's side of a sandbox with an init process inside: what all backends share once a sandbox has started."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Self

from upskill.sandbox import wire
from upskill.sandbox.contract import WORKSPACE, CommandResult, Ended, Files, Limits, SandboxGone, SandboxSpent
from upskill.sandbox.memory import MemoryGroup

END_SECONDS = 10.0


class SandboxClient:
    """See `Sandbox`. Calls from several threads wait for each other; `close` waits for nobody.

    The group is removed with it; without one, each process alone is bounded. Without `init_pid` the init process is out
    of reach, in a container: it ends with its wire, and its engine bounds memory.
    """

    def __init__(
        self,
        to_init: wire.Wire,
        *,
        process: "subprocess.Popen[bytes]",
        init_pid: int | None,
        limits: Limits,
        environment: Mapping[str, str],
        python: str,
        root: str = "",
        confined: bool = True,
        group: MemoryGroup | None = None,
        carried: wire.CarriedSockets | None = None,
        afterwards: Callable[[], None] = lambda: None,
    ) -> None:
        self._to_init = to_init
        self._process = process
        self._init_pid = process.pid if init_pid is None else init_pid
        self._init_handle = os.pidfd_open(init_pid) if init_pid is not None and hasattr(os, "pidfd_open") else None
        self._limits = limits
        self._environment = dict(environment)
        self.python = python
        self._root = root
        self._confined = confined and init_pid is not None
        self._carried = carried
        self._group = group
        self._bounded_alone = group is None and init_pid is not None
        self._afterwards = afterwards
        self._busy = threading.Lock()
        self._ending = threading.Lock()
        self._closed = False
        self._spent = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def where(self, path: str) -> str:
        if self._carried is not None and os.fsencode(path) in self._carried.sources:
            return f"@{path}"
        absolute = path if path.startswith("/") else f"{WORKSPACE}/{path}"
        return self._root + absolute

    def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: str = WORKSPACE,
    ) -> CommandResult:
        request = wire.run_request(
            argv,
            seconds=seconds,
            stdin=stdin,
            environment={**self._environment, **(environment or {})},
            folder=self.where(folder),
            limits=self._limits,
            alone=self._bounded_alone,
        )
        with self._busy:
            started = time.monotonic()
            try:
                self._require_open()
                ask = (
                    self._to_init.ask if self._carried is None else partial(self._to_init.ask_and_carry, self._carried)
                )
                answer = ask(request, seconds=seconds + wire.GRACE_SECONDS, most_bytes=self._limits.output_bytes)
                return wire.command_result(answer, self._limits)
            except wire.WireSilent:
                self.close()
                return _no_answer("timeout", started)
            except (wire.WireLost, SandboxGone):
                self._close_lost()
                return _no_answer("memory" if self._spent else "gone", started)

    def put(self, files: Files, *, executable: Collection[str] = ()) -> None:
        if files:
            self._files(wire.put_request(files, executable), "take files in", 0)

    def read(self, path: str, *, most_bytes: int = 10_485_760) -> bytes:
        wire.check_name(path)
        fields = self._files([b"read", os.fsencode(path), str(most_bytes).encode()], f"read {path}", most_bytes)
        if len(fields) != 1 or len(fields[0]) > most_bytes:
            self.close()
            raise SandboxGone(f"the sandbox answered with more than {path}")
        return fields[0]

    def take(self, *, most_files: int = 1_000, most_bytes: int = 10_485_760) -> Files:
        request = [b"take", str(most_files).encode(), str(most_bytes).encode()]
        fields = self._files(request, "hand out its files", most_bytes + 8 * most_files)
        try:
            return wire.taken_files(fields, most_files=most_files, most_bytes=most_bytes)
        except wire.WireLost as error:
            self.close()
            raise SandboxGone(f"the sandbox answered with {error}") from None

    def stop(self) -> None:
        deadline = time.monotonic() + wire.GRACE_SECONDS
        while not self._closed and not self._to_init.interrupt(b"timeout"):
            if time.monotonic() > deadline:
                self.close()
            time.sleep(0.01)

    def close(self) -> None:
        with self._ending:
            if self._closed:
                return
            self._closed = True
            self._to_init.hang_up()
            self._kill()
            self._to_init.close()
            if self._carried is not None:
                self._carried.close()
            if self._init_handle is not None:
                os.close(self._init_handle)
            if self._group:
                self._group.remove()
            self._afterwards()

    def _close_lost(self) -> None:
        """Close, and remember whether the kernel has ended the init process for memory: nobody else can end it."""
        self._spent = self._spent or (not self._closed and self._group is not None and self._group.killed() > 0)
        self.close()

    def _require_open(self) -> None:
        if self._closed:
            raise self._gone("the sandbox is gone")

    def _gone(self, what: str) -> SandboxGone:
        return SandboxSpent(f"{what}; it used too much memory") if self._spent else SandboxGone(what)

    def _files(self, request: Sequence[bytes], what: str, most_bytes: int) -> Sequence[bytes]:
        with self._busy:
            self._require_open()
            try:
                answer = self._to_init.ask(request, seconds=wire.FILE_SECONDS, most_bytes=most_bytes)
                return wire.expect_ok(answer, what)
            except (wire.WireLost, wire.WireSilent) as error:
                self._close_lost()
                why = str(error) or "no answer in time"
                raise self._gone(f"the sandbox is gone: it could not {what} ({why})") from None

    def _kill_init(self) -> None:
        if self._init_handle is not None:
            signal.pidfd_send_signal(self._init_handle, signal.SIGKILL)
        else:
            os.kill(self._init_pid, signal.SIGKILL)

    def _kill(self) -> None:
        """Kill process 1: the kernel ends all the rest, and only then does what started it see the end and leave.

        Without a namespace of ours the init process must end the others itself, which it does when the wire is cut.
        """
        if not self._confined:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=END_SECONDS)
                return
        with suppress(ProcessLookupError):
            self._kill_init()
        try:
            self._process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _no_answer(ended: Ended, started: float) -> CommandResult:
    return CommandResult(ended=ended, exit_code=None, stdout=b"", stderr=b"", seconds=time.monotonic() - started)
