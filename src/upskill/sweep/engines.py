"""Engines run the assignments of a sweep, on this machine or on a Ray cluster, and know nothing of what a job measures.

A worker on this machine is this module, started as a program: a job is a line of JSON on its standard input, its end a
line on its standard output. It ends with the one who started it, because its input ends. Ray places assignments;
whether a lost one runs again is decided by whoever pays. Ray is imported only when it is used.
"""

import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, chdir, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import TextIOBase
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Self

from upskill.core.nouns.text import on_one_line
from upskill.errors import EngineError, UsageError
from upskill.interruption import Interruption
from upskill.processes import start_worker
from upskill.terminal.output import print_lines

Task = Callable[[str], str]
"""Runs one assignment in the process that it is called in: a function of a module, which every worker can import."""
Take = Callable[[], tuple[str, str] | None]
"""Gives the next job's id and the text of its assignment, or `None` if none may start now."""
JOBS_PER_WORKER = 100
"""After so many a worker is replaced by a new process: to start one takes seconds, and an old one has grown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A worker died with a job: nobody knows how far it came."""

    why: str


class Engine(ABC):
    """Runs assignments and hands out one end for each, in any order. It may run one twice.

    Open it first (`with`): until then it has no workers. Each kind of engine says how an assignment is begun, and how
    its end is heard of.
    """

    def __init__(self, *, workers: int = 0) -> None:
        self.workers = workers
        """How many assignments run at the same time."""
        self._stopped = False

    def run(self, take: Take) -> Iterator[tuple[str, str | Lost]]:
        """The ends, each as soon as it is there: the job's id, with what the task returned or with `Lost`.

        `take` is asked again after each end. The iteration is over when nothing runs and `take` gives `None`.
        """
        running: dict[Any, str] = {}
        asked_to_end = False
        try:
            while True:
                while len(running) < self.workers and not self._stopped and (job := take()) is not None:
                    identity, text = job
                    running[self._begin(text)] = identity
                if not running:
                    return
                if self._stopped and not asked_to_end:
                    asked_to_end = True
                    for one in running:
                        self._interrupt(one)
                for one, end in self._ended(running):
                    yield running.pop(one), end
        finally:
            for one in running:  # whoever iterated has gone: nobody will hear of their end
                self._kill(one)

    def stop(self) -> None:
        """Take no more, and ask the workers to end in good order. A signal handler may call it; it returns at once."""
        self._stopped = True

    @abstractmethod
    def _begin(self, text: str) -> Any:
        """Begin an assignment; returns what stands for it while it runs."""

    @abstractmethod
    def _interrupt(self, one: Any) -> None:
        """Ask one for its end."""

    @abstractmethod
    def _kill(self, one: Any) -> None:
        """End one at once."""

    @abstractmethod
    def _ended(self, running: Mapping[Any, str]) -> Iterator[tuple[Any, str | Lost]]:
        """Those that have ended, after waiting for a moment; none, where none has."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:  # noqa: B027 - most engines have nothing to let go of
        pass


NEW_HERE = "local"
"""The address of a cluster that does not exist yet: on this machine, for this command."""
AUTO = "auto"
"""That of the cluster which this machine is a part of; Ray knows it."""
_MOMENT_SECONDS = 0.5
"""How often is looked whether a person wants to stop."""
_CONNECT_SECONDS = 10.0
_LONGEST_REASON = 300


class RayEngine(Engine):
    """The workers of a cluster, by default as many as it has CPUs.

    Each runs in the environment of its node: its keys, its installed upskill.
    """

    def __init__(self, task: Task, *, address: str, workers: int | None = None) -> None:
        super().__init__()
        require_token(address, os.environ)
        self._task = task
        self._address = address
        self._asked = workers
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Connect to the cluster. Raises `EngineError` where that is not possible."""
        _require_answer(os.environ.get("RAY_ADDRESS", AUTO) if self._address == AUTO else self._address)
        _set_environment(self._address)
        ray = _imported()
        with ExitStack() as opened:
            # Ray prints what happens to nodes and workers; stdout is for the result.
            opened.enter_context(redirect_stdout(_FirstLines()))
            # Workers import from the folder that Ray is started in: not from the one that is worked in.
            empty = opened.enter_context(TemporaryDirectory(prefix="upskill-ray-"))
            terminated = signal.getsignal(signal.SIGTERM)
            try:
                with chdir(empty):
                    ray.init(
                        address=self._address,
                        log_to_driver=False,
                        configure_logging=False,
                        logging_level=logging.ERROR,
                        **({"include_dashboard": False} if self._address == NEW_HERE else {}),
                    )
            except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
                raise EngineError(
                    f"the Ray cluster at {self._address} cannot be used ({_short(error)})",
                    hint="every node, and this command, needs the same token and the same versions of Ray and Python",
                ) from None
            opened.callback(ray.shutdown)
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, terminated)  # Ray's own would end the command without a word
            cpus = float(ray.cluster_resources().get("CPU", 0))
            self.workers = self._asked or max(1, int(cpus))
            self._open = opened.pop_all()
        self._remote = ray.remote(
            # Ray repeats nothing by itself: the money for a repeat has to be there first.
            max_retries=0,
            max_calls=JOBS_PER_WORKER,
            num_cpus=cpu_share(cpus, self.workers),
            scheduling_strategy="SPREAD",
        )(_in_folder)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def _begin(self, text: str) -> Any:
        folder = str(Path.cwd()) if self._address == NEW_HERE else None
        return self._remote.remote(folder, self._task, text)

    def _interrupt(self, one: Any) -> None:
        _imported().cancel(one, force=False)

    def _kill(self, one: Any) -> None:
        _imported().cancel(one, force=True)

    def _ended(self, running: Mapping[Any, str]) -> Iterator[tuple[Any, str | Lost]]:
        ray = _imported()
        ready, _ = ray.wait(list(running), num_returns=1, timeout=_MOMENT_SECONDS)
        for reference in ready:
            yield reference, _end(ray, reference)


class _FirstLines(TextIOBase):
    """Passes the first line of each message on to stderr: of a node that dies Ray prints the end of its log."""

    def write(self, text: str, /) -> int:
        if first := text.strip().partition("\n")[0]:
            print_lines(first[:_LONGEST_REASON], err=True)
        return len(text)


def require_token(address: str, environment: Mapping[str, str]) -> None:
    """Raise where a cluster may be open to everybody who reaches its ports, and nobody has said that this is meant."""
    if address.startswith("ray://"):
        raise UsageError(
            f"{address}: Ray's client protocol is not used",
            hint="run the command on a node of the cluster, with --ray auto (deploy/rayjob.yaml does this)",
        )
    if address != NEW_HERE and environment.get("RAY_AUTH_MODE") not in ("token", "disabled"):
        raise UsageError(
            "RAY_AUTH_MODE is not set: whoever reaches a port of the cluster could run programs on it",
            hint="set RAY_AUTH_MODE=token here, and on every node before `ray start`; RAY_AUTH_MODE=disabled says that "
            "nobody else can reach its ports (docs/how-to/sweep-many-skills.md)",
        )


def _require_answer(address: str) -> None:
    """Raise where nobody listens: Ray would wait for minutes."""
    if address in (AUTO, NEW_HERE):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"{address}: is not the address of a cluster", hint="write HOST:PORT, auto or local")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise EngineError(
            f"nobody answers at {address} ({_short(error)})",
            hint="start the head with `ray start --head --include-dashboard=false`, which prints its address",
        ) from None


def cpu_share(cpus: float, workers: int) -> float:
    """The CPUs of one job. More workers than CPUs share them: an evaluation waits for models most of the time."""
    return 1.0 if workers <= cpus or cpus <= 0 else int(cpus / workers * 10_000) / 10_000


def _set_environment(address: str) -> None:
    """What Ray reads when it is imported and started; what the user has set stays."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_COLOR_PREFIX", "0")
    if address == NEW_HERE and os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
        # For this cluster alone: Ray would write one to the home folder.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"--ray needs Ray ({error})", hint="install it: python -m pip install ray") from None
    return ray


def _in_folder(folder: str | None, task: Task, text: str) -> str:
    """Run an assignment, on this machine in the folder where the command was typed: paths count from there."""
    if folder is not None:
        os.chdir(folder)
    return task(text)


def _end(ray: Any, reference: Any) -> str | Lost:
    try:
        return str(ray.get(reference))
    except ray.exceptions.TaskCancelledError:
        return Lost(why="it was ended before it began, or too late")
    except ray.exceptions.RayTaskError as error:
        raise EngineError(
            f"a worker of the cluster cannot run an evaluation ({_short(error.cause)})",
            hint="install the same version of upskill on every node",
        ) from None
    except ray.exceptions.RayError as error:
        # The node or the worker died, or its memory was full.
        return Lost(why=f"{type(error).__name__}: {_short(error)}")


def _short(error: BaseException) -> str:
    return on_one_line(str(error))[:_LONGEST_REASON]


_GOODBYE_SECONDS = 10.0
"""A worker that has nothing to do ends in less."""


class LocalEngine(Engine):
    """So many processes, each of which runs many jobs, one after the other.

    A process that dies takes one job with it, and no other.
    """

    def __init__(self, task: Task, *, workers: int) -> None:
        super().__init__(workers=workers)
        self._task = f"{task.__module__}:{task.__qualname__}"
        self._ends: SimpleQueue[tuple[_Worker, str | None]] = SimpleQueue()
        self._idle: list[_Worker] = []

    def run(self, take: Take) -> Iterator[tuple[str, str | Lost]]:
        """The ends in the order in which they come."""
        try:
            yield from super().run(take)
        finally:
            for worker in self._idle:
                worker.close()
            self._idle.clear()

    def _begin(self, text: str) -> "_Worker":
        """A worker that has been given the job: one that has nothing to do and lives, or a new one."""
        while self._idle:
            worker = self._idle.pop()
            if worker.give(text):
                return worker
            worker.close()
        worker = _Worker(self._task, self._ends)
        worker.give(text)
        return worker

    def _interrupt(self, one: "_Worker") -> None:
        one.interrupt()

    def _kill(self, one: "_Worker") -> None:
        one.kill()

    def _ended(self, running: "Mapping[_Worker, str]") -> "Iterator[tuple[_Worker, str | Lost]]":
        try:
            worker, end = self._ends.get(timeout=_MOMENT_SECONDS)
        except Empty:
            return
        if worker not in running:  # it died with nothing to do
            return
        if end is None or worker.jobs >= JOBS_PER_WORKER:
            worker.close()
        else:
            self._idle.append(worker)
        yield worker, worker.lost() if end is None else end


class _Worker:
    """One process, and a thread that waits for what it says: the ends of its jobs, then `None`."""

    def __init__(self, task: str, ends: "SimpleQueue[tuple[_Worker, str | None]]") -> None:
        self._process = start_worker(__name__, task)
        self._ends = ends
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.jobs = 0

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        for line in out:
            if line.endswith(b"\n"):  # a line that its process did not finish is no end
                self._ends.put((self, json.loads(line)))
        self._ends.put((self, None))

    def give(self, text: str) -> bool:
        """Begin a job; `False` if the process has died."""
        self.jobs += 1
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(json.dumps(text).encode() + b"\n")
            pipe.flush()
        except OSError:
            return False
        return self._process.poll() is None

    def lost(self) -> Lost:
        """How the process ended, which has ended."""
        code = self._process.wait()
        return Lost(
            why=f"its process was killed by signal {-code}" if code < 0 else f"its process ended with code {code}"
        )

    def interrupt(self) -> None:
        """Ask for the end of the job; where a signal cannot be handled this ends the process."""
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End the process, which has nothing to do: its input ends."""
        with suppress(OSError):  # what a dead process was not given cannot be flushed
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()


def _serve(task: Task) -> None:
    """The life of a worker: a job, its end, the next job, until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ends = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the result of the command is on stdout, and nothing else
    jobs: SimpleQueue[str | None] = SimpleQueue()
    working = threading.Event()
    threading.Thread(target=_listen, args=(jobs, working), daemon=True).start()
    with suppress(OSError, KeyboardInterrupt):  # nobody is there any more, or wants to hear of this job
        while (text := jobs.get()) is not None:
            working.set()
            end = _interruptible(task, text)
            working.clear()
            ends.write(json.dumps(end).encode() + b"\n")
            ends.flush()


def _listen(jobs: "SimpleQueue[str | None]", working: threading.Event) -> None:
    """Hand on every job. When the input ends in the middle of one, that job keeps what it has and ends."""
    for line in sys.stdin.buffer:
        jobs.put(json.loads(line))
    jobs.put(None)
    if working.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


def _interruptible(task: Task, text: str) -> str:
    """Run a job; SIGTERM interrupts it as Ctrl-C would, once."""
    interruption = Interruption()

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        if not interruption.requested and not interruption.request():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        return interruption.reaches(partial(task, text))
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    module, _, function = sys.argv[1].partition(":")
    _serve(getattr(import_module(module), function))
