"""The same sandbox as an Inspect sandbox environment, named `upskill`: a thin layer over the blocking calls.

Importing this module registers it. Nothing else of upskill imports it, so that a sandbox needs no engine.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import anyio
from anyio import to_thread
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel, ConfigDict

from upskill.sandbox.backends import open_sandbox
from upskill.sandbox.contract import (
    HOME,
    WORKSPACE,
    CommandResult,
    FileRefused,
    Limits,
    Mount,
    Sandbox,
    SandboxGone,
    SandboxSpec,
    SandboxUnavailable,
)

NAME = "upskill"
NO_TIMEOUT_SECONDS = 86_400.0
_T = TypeVar("_T")


class SandboxConfig(BaseModel):
    """What a task may ask of its sandboxes: limits by name, and folders of the host by where they are seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: dict[str, int | None] = {}
    mounts: dict[str, Path] = {}

    def __hash__(self) -> int:
        """The engine keeps configurations in tables."""
        return hash(self.model_dump_json())

    def spec(self) -> SandboxSpec:
        known = {entry.name for entry in fields(Limits)}
        unknown = sorted(set(self.limits) - known)
        if unknown:
            raise ValueError(f"no such limit: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        limits: Mapping[str, Any] = self.limits
        return SandboxSpec(
            limits=Limits(**limits),
            mounts=tuple(Mount(source=source, target=target) for target, source in self.mounts.items()),
        )


@sandboxenv(name=NAME)
class UpskillSandboxEnvironment(SandboxEnvironment):
    """One sandbox per sample. Every command is tried once, whatever the caller allows."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__()
        self.sandbox = sandbox
        # Commands of one sandbox wait for each other anyway: one thread each, and none taken from anybody else.
        self._thread = anyio.CapacityLimiter(1)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        if config is not None and not isinstance(config, SandboxConfig):
            raise ValueError(f"the sandbox `{NAME}` is configured by SandboxConfig, not by {config!r}")
        spec = config.spec() if config is not None else SandboxSpec()
        try:
            sandbox = await to_thread.run_sync(open_sandbox, spec)
        except (SandboxUnavailable, FileRefused) as error:
            raise SandboxUnavailableError(str(error)) from error
        return {"default": cls(sandbox)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        with anyio.CancelScope(shield=True):
            for environment in environments.values():
                await to_thread.run_sync(environment.as_type(UpskillSandboxEnvironment).sandbox.close)

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return SandboxConfig(**config)

    def default_polling_interval(self) -> float:
        return 0.2

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Raises `TimeoutError`, `OutputLimitExceededError`, `PermissionError`, `SandboxUnavailableError`."""
        if user is not None:
            raise SandboxUserUnsupportedError(f"everything in this sandbox runs as one user; not as {user!r}")
        ran = await self._call(
            partial(
                self.sandbox.run,
                cmd,
                seconds=NO_TIMEOUT_SECONDS if timeout is None else timeout,
                stdin=input.encode() if isinstance(input, str) else input or b"",
                environment=env,
                folder=WORKSPACE if cwd is None else str(Path(WORKSPACE) / cwd),
            )
        )
        return _result(ran, cmd)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        content = contents.encode() if isinstance(contents, str) else contents
        await self._call(partial(self.sandbox.put, {_path(file): content}))

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        most = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        content = await self._call(partial(self.sandbox.read, _path(file), most_bytes=most))
        return content.decode() if text else content

    async def _call(self, call: Callable[[], _T]) -> _T:
        """In a thread. When this task is cancelled, what runs inside is ended first; the files stay for scorers."""
        try:
            return await to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._thread)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self.sandbox.stop)
            raise
        except SandboxGone as error:
            raise SandboxUnavailableError(str(error)) from error
        except FileRefused as error:
            raise _error(error) from error


def _result(ran: CommandResult, cmd: list[str]) -> ExecResult[str]:
    stdout, stderr = ran.stdout.decode("utf-8", "replace"), ran.stderr.decode("utf-8", "replace")
    if ran.ended == "timeout":
        raise TimeoutError(f"{cmd[0]} was ended after {ran.seconds:.1f} s")
    if ran.ended == "output":
        raise OutputLimitExceededError(f"{len(ran.stdout) + len(ran.stderr)} bytes", stdout + stderr)
    if ran.ended == "gone":
        raise SandboxUnavailableError("the sandbox is gone")
    if ran.ended == "memory":
        stderr += "\nended: the sandbox was out of memory"
    code = 137 if ran.exit_code is None else ran.exit_code if ran.exit_code >= 0 else 128 - ran.exit_code
    if code == 126 and "Permission denied" in stderr:
        raise PermissionError(stderr.strip())
    return ExecResult(success=code == 0, returncode=code, stdout=stdout, stderr=stderr)


def _path(file: str) -> str:
    """`~` and `..` are worked out before the init process, which refuses them, sees the path."""
    import posixpath

    home = HOME + file[1:] if file == "~" or file.startswith("~/") else file
    return posixpath.normpath(posixpath.join(WORKSPACE, home))


def _error(error: FileRefused) -> Exception:
    if error.kind == "folder":
        return IsADirectoryError(str(error))
    if error.kind == "large":
        return OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
    return PermissionError(str(error))
