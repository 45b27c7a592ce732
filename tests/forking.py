"""The command, many times over, without importing the engine each time: a process that has it all, and forks.

What is forked behaves like the installed command, and can be killed by its id. Nothing runs in the parent but waiting.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, Self

COMMAND = os.environ.get("INSTALLED_UPSKILL", str(Path(sys.executable).parent / "upskill"))


@contextmanager
def started(
    command: list[str], *, ignored: tuple[int, ...] = (), cwd: Path | None = None, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process group of its own, which ignores these signals from the start and is ended whatever happens."""

    def ignore() -> None:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=ignore,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


_PROGRAM = r"""
import json, os, sys
import upskill.evaluation.command, upskill.generation.command, upskill.terminal.progress
import upskill.evaluation.skills_command, upskill.evaluation.runs_command
import upskill.traces.command
import jinja2
import upskill.generation.generate, upskill.core.trials.engine, upskill.core.models.metering
import inspect_ai, inspect_ai.model, inspect_ai.model._model_info, inspect_ai._eval.eval, openai
from upskill.core.models.metering import leave_out_clients
leave_out_clients()
inspect_ai.model._model_info._get_lookup_index()  # seconds of reading lists, once
print("ready", flush=True)
codes = {}
for line in sys.stdin:
    asked = json.loads(line)
    if "wait_for" in asked:
        child = asked["wait_for"]
        if child not in codes:
            codes[child] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(asked["number"], codes[child], flush=True)
        continue
    child = os.fork()
    if child == 0:
        os.chdir(asked["cwd"])
        os.umask(0o022)
        os.environ.clear()
        os.environ.update(asked["environment"])
        for number, path in ((1, asked["stdout"]), (2, asked["stderr"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if encoding := asked["environment"].get("PYTHONIOENCODING"):  # read when an interpreter starts, which it has
            sys.stdout.reconfigure(encoding=encoding)
            sys.stderr.reconfigure(encoding=encoding)
        sys.argv = ["upskill", *asked["words"]]
        from upskill.cli import main
        try:
            main()
        except SystemExit as end:
            sys.stdout.flush(); sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else 1)
        os._exit(0)
    codes.pop(child, None)  # of an earlier one with the same id
    print(asked["number"], child, flush=True)
"""


Done = subprocess.CompletedProcess[str]


def run_program(command: Sequence[str], *, timeout: float = 120, **options: Any) -> Done:
    """Run a program to its end, however it ends, with what it printed as text."""
    done: Done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, **options)
    return done


class Forker:
    """Types commands until the block ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = self._asked = 0
        self.home = folder / "home"
        """Of commands that are given no other."""
        self.child: int | None = None
        """The process id of the command that is running."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [str(Path(COMMAND).parent / "python"), "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, *words: str, cwd: Path, **variables: str) -> Done:
        """Types a command and waits for it, however it ends. It has a home and a path."""
        self.home.mkdir(exist_ok=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **variables}
        return self.run_with(environment, *words, cwd=cwd)

    def run_with(self, environment: Mapping[str, str], *words: str, cwd: Path) -> Done:
        """The same, with these variables and no others."""
        with self.started(environment, *words, cwd=cwd) as command:
            self.child = command.pid
            try:
                return command.wait()
            finally:
                self.child = None

    @contextmanager
    def started(self, environment: Mapping[str, str], *words: str, cwd: Path) -> "Iterator[Started]":
        """A command that runs beside the test, with these variables and no others, and is ended whatever happens."""
        self._count += 1
        out, err = (self._folder / f"{self._count}.{name}" for name in ("out", "err"))
        asked = {
            "words": words,
            "cwd": str(cwd),
            "environment": dict(environment),
            "stdout": str(out),
            "stderr": str(err),
        }
        command = Started(self, self._told(asked), words, out=out, err=err)
        try:
            yield command
        finally:
            if command.done is None:
                command.send(signal.SIGKILL)
                command.wait()

    def ended(self, child: int, *, seconds: float) -> int:
        """The code of a child, once it has ended; one that takes longer is killed."""
        stuck = Timer(seconds, os.kill, (child, signal.SIGKILL))
        stuck.start()
        try:
            return self._told({"wait_for": child})
        finally:
            stuck.cancel()

    def _told(self, asked: Mapping[str, object]) -> int:
        """The answer to this question. That to an earlier one, for which a wait was interrupted, is skipped."""
        self._asked += 1
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**asked, "number": self._asked}) + "\n")
        self._process.stdin.flush()
        number = 0
        while number != self._asked:
            number, told = map(int, self._line().split())
        return told


class Started:
    """A command that was forked and is running, or has ended: then it is `done`."""

    def __init__(self, forker: Forker, pid: int, words: Sequence[str], *, out: Path, err: Path) -> None:
        assert pid > 1, "no process group is meant"
        self._forker, self._words, self._out, self._err = forker, list(words), out, err
        self.pid = pid
        self.done: Done | None = None

    def send(self, number: int) -> None:
        """Send a signal to it alone."""
        os.kill(self.pid, number)

    @property
    def stderr(self) -> str:
        """What it has printed there so far."""
        return self._err.read_text() if self._err.exists() else ""

    def wait(self, *, seconds: float = 120) -> Done:
        """Its end, however it ends."""
        if self.done is None:
            code = self._forker.ended(self.pid, seconds=seconds)
            self.done = Done(self._words, code, self._out.read_text(), self._err.read_text())
        return self.done
