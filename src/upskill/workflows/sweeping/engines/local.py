"""Runs assignments in processes of this machine, one at a time in each.

A worker is this module, started as a program: a job is a line of JSON on its standard input, its end a line on its
standard output. It ends with the one who started it, because its input ends.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Self

from upskill.interruption import Interruption
from upskill.processes import start_worker
from upskill.workflows.sweeping.engines import JOBS_PER_WORKER, Lost, Take, Task

_MOMENT_SECONDS = 0.5
"""How often is looked whether a person wants to stop."""
_GOODBYE_SECONDS = 10.0
"""A worker that has nothing to do ends in less."""


class LocalEngine:
    """So many processes, each of which runs many jobs, one after the other.

    A process that dies takes one job with it, and no other.
    """

    def __init__(self, task: Task, *, workers: int) -> None:
        self.workers = workers
        self._task = f"{task.__module__}:{task.__qualname__}"
        self._stopped = False

    def run(self, take: Take) -> Iterator[tuple[str, str | Lost]]:
        """The ends in the order in which they come."""
        ends: SimpleQueue[tuple[_Worker, str | None]] = SimpleQueue()
        idle: list[_Worker] = []
        busy: dict[_Worker, str] = {}
        asked_to_end = False
        try:
            while True:
                while len(busy) < self.workers and not self._stopped and (job := take()) is not None:
                    identity, text = job
                    busy[self._given(text, idle, ends)] = identity
                if not busy:
                    return
                if self._stopped and not asked_to_end:
                    asked_to_end = True
                    for worker in busy:
                        worker.interrupt()
                try:
                    worker, end = ends.get(timeout=_MOMENT_SECONDS)
                except Empty:
                    continue
                if worker not in busy:  # it died with nothing to do
                    continue
                identity = busy.pop(worker)
                if end is None or worker.jobs >= JOBS_PER_WORKER:
                    worker.close()
                else:
                    idle.append(worker)
                yield identity, worker.lost() if end is None else end
        finally:
            for worker in busy:  # the caller has gone: nobody will hear of their end
                worker.kill()
            for worker in idle:
                worker.close()

    def _given(self, text: str, idle: "list[_Worker]", ends: "SimpleQueue[tuple[_Worker, str | None]]") -> "_Worker":
        """A worker that has been given the job: one that has nothing to do and lives, or a new one."""
        while idle:
            worker = idle.pop()
            if worker.give(text):
                return worker
            worker.close()
        worker = _Worker(self._task, ends)
        worker.give(text)
        return worker

    def stop(self) -> None:
        """Take no more, and ask the workers to end in good order."""
        self._stopped = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


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
