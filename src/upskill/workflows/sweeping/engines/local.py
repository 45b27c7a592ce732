"""Runs assignments in processes of this machine, one at a time in each."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Self

from upskill.interruption import Interruption
from upskill.workflows.sweeping.engines import JOBS_PER_WORKER, Lost, Take, Task

_MOMENT_SECONDS = 0.5
"""How often is looked whether a person wants to stop."""
_GOODBYE_SECONDS = 10.0
"""A worker that has nothing to do ends in less."""


class LocalEngine:
    """So many spawned processes, each of which runs many jobs, one after the other.

    A process that dies takes one job with it, and no other.
    """

    def __init__(self, task: Task, *, workers: int) -> None:
        self.workers = workers
        self._task = task
        self._stopped = False

    def run(self, take: Take) -> Iterator[tuple[str, str | Lost]]:
        """The ends in the order in which they come."""
        idle: list[_Worker] = []
        busy: dict[str, _Worker] = {}
        asked_to_end = False
        try:
            while True:
                while len(busy) < self.workers and not self._stopped and (job := take()) is not None:
                    identity, text = job
                    busy[identity] = _given(text, idle, self._task)
                if not busy:
                    return
                if self._stopped and not asked_to_end:
                    asked_to_end = True
                    for worker in busy.values():
                        worker.interrupt()
                ready = wait([end for worker in busy.values() for end in worker.ends], timeout=_MOMENT_SECONDS)
                for identity, worker in [(one, its) for one, its in busy.items() if not its.ends.isdisjoint(ready)]:
                    del busy[identity]
                    end = worker.receive()
                    if isinstance(end, Lost) or worker.jobs >= JOBS_PER_WORKER:
                        worker.close()
                    else:
                        idle.append(worker)
                    yield identity, end
        finally:
            for worker in busy.values():  # whoever iterated has gone: nobody will hear of their end
                worker.kill()
            for worker in idle:
                worker.close()

    def stop(self) -> None:
        """Take no more, and ask the workers to end in good order."""
        self._stopped = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _given(text: str, idle: "list[_Worker]", task: Task) -> "_Worker":
    """A worker that has been given the job: one that has nothing to do and lives, or a new one."""
    while idle:
        worker = idle.pop()
        if worker.give(text):
            return worker
        worker.close()
    worker = _Worker(task)
    worker.give(text)
    return worker


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, task: Task) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(task, theirs), name="upskill sweep worker")
        with _ignoring_interrupts():
            self._process.start()
        theirs.close()  # so that the pipe ends with the process
        self.jobs = 0

    @property
    def ends(self) -> "frozenset[Connection | int]":
        """What becomes ready when the job has ended, or the process."""
        return frozenset({self._pipe, self._process.sentinel})

    def give(self, text: str) -> bool:
        """Begin a job; `False` if the process has died."""
        self.jobs += 1
        try:
            self._pipe.send_bytes(text.encode())
        except OSError:
            return False
        return self._process.is_alive()

    def receive(self) -> str | Lost:
        """The end of the job, which is there."""
        try:
            return self._pipe.recv_bytes().decode()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode or 0
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            return Lost(why=f"its process {how}")

    def interrupt(self) -> None:
        """Ask for the end of the job; where a signal cannot be handled this ends the process."""
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End the process, which has nothing to do: its pipe ends."""
        self._pipe.close()
        self._process.join(_GOODBYE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal. Workers ignore it from their first instruction: they are asked."""
    if threading.current_thread() is not threading.main_thread():  # only there can a handler be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(task: Task, pipe: Connection) -> None:
    """The life of a worker: a job, its end, the next job, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):  # a closed terminal sends it to all; Windows has none
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.dup2(2, 1)  # the result of the command is on stdout, and nothing else
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # nobody is there any more, or wants to hear of this job
        while True:
            pipe.send_bytes(_interruptible(task, pipe.recv_bytes().decode()).encode())


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


def _end_with_parent() -> None:
    """A worker whose parent was killed keeps what it has and ends."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
