"""Where a student with tools works: its sandbox, the three tools over it, and what it leaves there.

Every call of the sandbox blocks, so each goes to a thread. A thread that nobody waits for any more, after Ctrl-C or at
the end of the student's time, ends with the sandbox.
"""

import posixpath
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from functools import partial
from typing import Any, NamedTuple, TypeVar

import anyio
import anyio.to_thread
from inspect_ai.tool import Tool, ToolDef, ToolError, ToolParam, ToolParams

from upskill.core.nouns import Case, Files, Skill, SkillUse
from upskill.core.nouns.text import whole_characters
from upskill.core.trials.trajectory import READ_FILE, SHELL, WRITE_FILE, SkillWatch, ToolSpec
from upskill.core.trials.trial_run import TrialLimits
from upskill.sandbox import WORKSPACE, CommandResult, FileRefused, Sandbox, SandboxGone, SandboxSpec, SandboxSpent

OpenSandbox = Callable[[SandboxSpec], Sandbox]
"""Opens a new sandbox. Raises where there can be none."""

_Result = TypeVar("_Result")


class SandboxLost(Exception):
    """The sandbox did not open, or ended under the student without its doing: nothing was measured."""


class OpenSandboxes:
    """Every sandbox of a run that is open, so that none is left when the run ends, however it ends."""

    def __init__(self, open_sandbox: OpenSandbox) -> None:
        self._open_sandbox = open_sandbox
        self._lock = threading.Lock()
        self._open: set[Sandbox] = set()
        self._closed = False

    def open(self, spec: SandboxSpec) -> Sandbox:
        """A new sandbox. Blocks."""
        sandbox = self._open_sandbox(spec)
        with self._lock:
            late = self._closed
            if not late:
                self._open.add(sandbox)
        if late:
            # It opened in a thread that nobody waited for any more.
            sandbox.close()
        return sandbox

    def close(self, sandbox: Sandbox) -> None:
        """End everything in it. Blocks."""
        sandbox.close()
        with self._lock:
            self._open.discard(sandbox)

    def close_all(self) -> None:
        """End everything in every sandbox that is open."""
        with self._lock:
            self._closed = True
            left = tuple(self._open)
        for sandbox in left:
            self.close(sandbox)


class Threads:
    """Threads enough for every trial in flight: a command that sleeps must not make another student wait."""

    def __init__(self, in_flight: int) -> None:
        self._most = 4 * in_flight + 8
        self._limiter: anyio.CapacityLimiter | None = None

    async def call(self, work: Callable[[], _Result]) -> _Result:
        """Do blocking work in a thread. Whoever is cancelled does not wait for it."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._most)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)


class AnswerFiles(NamedTuple):
    """What a student left: new and changed files, and which of the case's are gone."""

    files: Files
    removed: tuple[str, ...]


def take_files(sandbox: Sandbox, case: Case, limits: TrialLimits, *, own: Sequence[str] = ()) -> AnswerFiles:
    """What a student left in a sandbox in which nothing runs any more; files of `own` patterns are an agent's. Blocks.

    Raises `FileRefused` where there are more than are taken.
    """
    given = case.files
    left = sandbox.take(
        most_files=limits.files + len(given),
        most_bytes=limits.file_bytes + sum(len(path.encode()) + len(data) for path, data in given.items()),
    )
    theirs = {path: data for path, data in left.items() if not any(fnmatch(path, pattern) for pattern in own)}
    # A name that is no UTF-8 could be neither asked for by a check nor printed.
    return AnswerFiles(
        files={whole_characters(path): data for path, data in theirs.items() if given.get(path) != data},
        removed=tuple(path for path in given if path not in left),
    )


def mounted_skills(
    skills: Iterable[Skill], contents: Mapping[str, Files], folder: str
) -> tuple[dict[str, bytes], frozenset[str]]:
    """The files of skills below a folder of the sandbox, by their paths, and which of them may be run."""
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    for skill in skills:
        files |= {f"{folder}/{skill.name}/{path}": data for path, data in contents[skill.digest].items()}
        executable |= {f"{folder}/{skill.name}/{file.path}" for file in skill.files if file.executable}
    return files, frozenset(executable)


class SandboxTools:
    """One trial's sandbox. Whoever opens it closes it, whatever happens in between."""

    def __init__(
        self,
        sandbox: Sandbox,
        case: Case,
        *,
        trial_limits: TrialLimits,
        watch: SkillWatch | None,
        threads: Threads,
        close: Callable[[Sandbox], None],
    ) -> None:
        self._sandbox = sandbox
        self._case = case
        self._trial_limits = trial_limits
        self._watch = watch
        self._threads = threads
        self._close = close
        self._shell = _shell()
        self._broken = False

    async def lay_out(self) -> None:
        """Put the case's files into the working folder."""
        try:
            await self._call(partial(self._sandbox.put, self._case.files))
        except FileRefused as refusal:
            raise SandboxLost(f"the files of the case could not be written: {refusal}") from None

    @property
    def tools(self) -> list[Tool]:
        """The student's tools. They know the arm as little as the student does."""

        async def shell(command: str) -> str:
            return await self._run(whole_characters(command))

        async def read_file(path: str) -> str:
            return await self._read(whole_characters(path))

        async def write_file(path: str, content: str) -> str:
            return await self._write(whole_characters(path), whole_characters(content))

        return [_tool(SHELL, shell), _tool(READ_FILE, read_file), _tool(WRITE_FILE, write_file)]

    async def _run(self, command: str) -> str:
        if "\0" in command:
            raise ToolError("a command line cannot hold a null character")
        ran = await self._call(
            partial(self._sandbox.run, [self._shell, "-c", command], seconds=self._trial_limits.command_seconds)
        )
        if ran.ended == "gone":
            self._require_student_fault("the sandbox ended while a command ran in it")
        self._broken = self._broken or ran.ended in ("memory", "timeout")
        result = cut_middle(_result_text(ran, self._trial_limits), self._trial_limits.output_characters)
        if self._watch is not None:
            self._watch.ran(command, result, well=ran.exit_code == 0)
        return result

    async def _read(self, path: str) -> str:
        inside = _inside(path)
        try:
            data = await self._call(partial(self._sandbox.read, inside))
        except FileNotFoundError:
            raise ToolError(f"{path}: no such file") from None
        except FileRefused as refusal:
            raise ToolError(str(refusal)) from None
        if self._watch is not None:
            self._watch.read(inside)
        return cut_middle(_plain(data), self._trial_limits.output_characters)

    async def _write(self, path: str, content: str) -> str:
        data = content.encode("utf-8")
        try:
            await self._call(partial(self._sandbox.put, {_inside(path): data}))
        except FileRefused as refusal:
            raise ToolError(str(refusal)) from None
        return f"{len(data):,} bytes written"

    async def _call(self, work: Callable[[], _Result]) -> _Result:
        try:
            return await self._threads.call(work)
        except SandboxGone as error:
            self._broken = self._broken or isinstance(error, SandboxSpent)
            self._require_student_fault(str(error))
            raise ToolError("everything here has been ended, and the files are gone") from None

    def _require_student_fault(self, what: str) -> None:
        """A sandbox that went down with a command that had to be ended is the student's doing; any other is not."""
        if not self._broken:
            raise SandboxLost(what)

    @property
    def skill_use(self) -> SkillUse | None:
        """What became of the skill up to now; `None` where there is none."""
        return None if self._watch is None else self._watch.use()

    def end_turn(self, turn: int) -> None:
        """The turn of the model is over, counted from 1."""
        if self._watch is not None:
            self._watch.end_turn(turn)

    async def take(self) -> AnswerFiles:
        """What changed, after every process in the sandbox has been ended, also a command that still runs.

        Raises `FileRefused` where there are more than are taken.
        """
        await self._call(self._sandbox.stop)
        try:
            return await self._call(partial(take_files, self._sandbox, self._case, self._trial_limits))
        except ToolError:  # the student brought its sandbox down, and its files with it
            return AnswerFiles({}, ())

    async def close(self) -> None:
        """End everything in it."""
        await self._threads.call(partial(self._close, self._sandbox))


def _inside(path: str) -> str:
    """A path as the shell would take it in the working folder, also where it leads out of that."""
    return posixpath.normpath(posixpath.join(WORKSPACE, path))


def cut_middle(text: str, most: int) -> str:
    """The beginning and the end of a text that is too long, and how much is missing between them."""
    if len(text) <= most:
        return text
    head = most // 2
    tail = most - head
    return f"{text[:head]}\n[… {len(text) - most:,} characters left out …]\n{text[-tail:]}"


def _result_text(ran: CommandResult, trial_limits: TrialLimits) -> str:
    """The result of a command as the student reads it: what it printed, and how it ended."""
    parts = [_plain(ran.stdout).rstrip("\n")]
    if ran.stderr:
        parts.append(f"[stderr]\n{_plain(ran.stderr)}".rstrip("\n"))
    match ran.ended:
        case "timeout":
            parts.append(f"[ended after {trial_limits.command_seconds} seconds, the most a command may take]")
        case "output":
            parts.append("[ended: it printed too much]")
        case "memory":
            parts.append("[ended: it used too much memory; everything that was running has been ended]")
        case "gone":
            parts.append("[nothing can be run any more]")
        case _:
            parts.append(f"[exit code {ran.exit_code}]")
    return "\n".join(part for part in parts if part)


def _plain(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _shell() -> str:
    """The shell that the host's system folders, which are the sandbox's, hold."""
    return shutil.which("bash", path="/usr/bin:/bin") or "/bin/sh"


def _tool(spec: ToolSpec, execute: Callable[..., Any]) -> Tool:
    parameters = ToolParams(
        properties={name: ToolParam(type="string", description=words) for name, words in spec.parameters},
        required=[name for name, _ in spec.parameters],
    )
    # The engine must not cut a second time.
    return ToolDef(execute, name=spec.name, description=spec.description, parameters=parameters, max_output=0).as_tool()
