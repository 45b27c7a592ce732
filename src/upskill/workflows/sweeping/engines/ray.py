"""Runs assignments on a Ray cluster. Ray places them; whether a lost one runs again is decided by whoever pays."""

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from upskill.domain.text import on_one_line
from upskill.errors import EngineError, UsageError
from upskill.workflows.sweeping.engines import JOBS_PER_WORKER, Lost, Take, Task

NEW_HERE = "local"
"""The address of a cluster that does not exist yet: on this machine, for this command."""
AUTO = "auto"
"""That of the cluster which this machine is a part of; Ray knows it."""
_MOMENT_SECONDS = 0.5
_CONNECT_SECONDS = 10.0
_LONGEST_REASON = 300


class RayEngine:
    """The workers of a cluster, by default as many as it has CPUs.

    Each runs in the environment of its node: its keys, its installed upskill.
    """

    def __init__(self, task: Task, *, address: str, workers: int | None = None) -> None:
        require_token(address, os.environ)
        self._task = task
        self._address = address
        self._asked = workers
        self._stopped = False
        self._open = ExitStack()
        self.workers = 0

    def __enter__(self) -> Self:
        """Connect to the cluster. Raises `EngineError` where that is not possible."""
        _require_answer(os.environ.get("RAY_ADDRESS", AUTO) if self._address == AUTO else self._address)
        _set_environment(self._address)
        ray = _imported()
        with ExitStack() as opened:
            # Ray prints what happens to nodes and workers; stdout is for the result.
            opened.enter_context(redirect_stdout(sys.stderr))
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

    def run(self, take: Take) -> Iterator[tuple[str, str | Lost]]:
        """The ends in the order in which they come."""
        ray = _imported()
        folder = str(Path.cwd()) if self._address == NEW_HERE else None
        running: dict[Any, str] = {}
        asked_to_end = False
        try:
            while True:
                while len(running) < self.workers and not self._stopped and (job := take()) is not None:
                    identity, text = job
                    running[self._remote.remote(folder, self._task, text)] = identity
                if not running:
                    return
                if self._stopped and not asked_to_end:
                    asked_to_end = True
                    for reference in running:
                        ray.cancel(reference, force=False)
                ready, _ = ray.wait(list(running), num_returns=1, timeout=_MOMENT_SECONDS)
                for reference in ready:
                    identity = running.pop(reference)
                    yield identity, _end(ray, reference)
        finally:
            for reference in running:  # whoever iterated has gone: nobody will hear of their end
                ray.cancel(reference, force=True)

    def stop(self) -> None:
        """Take no more, and ask the workers to end in good order."""
        self._stopped = True


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
