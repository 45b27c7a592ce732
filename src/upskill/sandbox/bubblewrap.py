"""A sandbox made by bubblewrap: one namespace that lives until it is closed, with the init process as its process 1."""

import json
import os
import platform
import select
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache

from upskill import disk, processes
from upskill.sandbox import profile, wire
from upskill.sandbox.backends import unavailable
from upskill.sandbox.client import SandboxClient
from upskill.sandbox.contract import HOME, MOST_READ_ONLY, FileRefused, Mount, SandboxSpec
from upskill.sandbox.memory import POOL, MemoryGroup, find_controllers, make_group
from upskill.sandbox.programs import StagedSpec, compiled, spawn, stage

START_SECONDS = 30.0
OLDEST = (0, 8)
ENVIRONMENT = {"PATH": profile.PATH, "HOME": HOME, "LANG": "C.UTF-8"}


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedSandbox:
    """What there is once the init process has said `ready`."""

    process: "subprocess.Popen[bytes]"
    to_init: wire.Wire
    init_pid: int
    """The number that the host knows the init process by."""

    def undo(self) -> None:
        _kill(self.process)
        self.to_init.close()


@cache
def version(program: str) -> str | None:
    """As it says itself, once per process."""
    words = processes.run("sandbox", [program, "--version"], seconds=START_SECONDS).stdout.decode().split()
    return words[1] if len(words) > 1 else None


def launcher(recipe: profile.Recipe = profile.HARDENED) -> list[str]:
    """The command that starts bubblewrap. A superuser drops all privileges first."""
    bwrap = processes.find_system_program("bwrap")
    if bwrap is None:
        raise unavailable("bubblewrap is not installed")
    if os.geteuid() != 0 or not recipe.drops_rights:
        return [bwrap]
    setpriv = processes.find_system_program("setpriv")
    if setpriv is None:
        raise unavailable("setpriv is not installed, and root needs it to drop its privileges")
    nobody = str(profile.UNPRIVILEGED)
    return [setpriv, "--reuid", nobody, "--regid", nobody, "--clear-groups", "--no-new-privs", bwrap]


def open_bubblewrap(
    spec: SandboxSpec, *, recipe: profile.Recipe = profile.HARDENED, interpreter: profile.Interpreter | None = None
) -> SandboxClient:
    """A new namespace with an init process that has said `ready`. Raises `SandboxUnavailable`, `FileRefused`."""
    check(spec)
    words = launcher(recipe)
    if not profile.supported(platform.machine()):
        raise unavailable(f"there is no system call filter for {platform.machine()}")
    interpreter = interpreter or profile.find_interpreter()
    if interpreter.prefix is not None:
        own = Mount(source=interpreter.prefix, target=profile.OWN_PYTHON)
        spec = replace(spec, mounts=(own, *spec.mounts))
    init_process = compiled(recipe.init_process, program=interpreter.program, prefix=interpreter.prefix)
    staged = stage(spec) if os.geteuid() == 0 else StagedSpec(spec=spec)
    with ExitStack() as in_any_case, ExitStack() as on_failure:
        in_any_case.callback(staged.clear)
        give_back = POOL.take(spec.limits.memory_mb) if recipe.pooled else _nothing
        on_failure.callback(give_back)
        controllers = find_controllers() if recipe.grouped else None
        group = make_group(spec.limits, controllers) if controllers else None
        if group is not None:
            on_failure.callback(group.remove)
        started = _start([*staged.before, *words], staged.spec, interpreter, recipe, init_process, group)
        on_failure.callback(started.undo)
        try:
            client = SandboxClient(
                started.to_init,
                process=started.process,
                init_pid=started.init_pid,
                limits=spec.limits,
                environment=ENVIRONMENT,
                python=interpreter.program,
                group=group,
                afterwards=give_back,
            )
        except ProcessLookupError:
            raise unavailable("the sandbox exited as soon as it started") from None
        on_failure.pop_all()
        return client


def _nothing() -> None:
    return


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def describe_bubblewrap() -> tuple[str, str]:
    """Its version and the digest of the profile. Raises `SandboxUnavailable` when it is missing or too old."""
    program = launcher()[-1]
    found = version(program)
    if found is None or tuple(int(part) for part in found.split(".")[:2] if part.isdigit()) < OLDEST:
        raise unavailable(f"bubblewrap {found or 'of unknown version'} is too old; it must be 0.8.0 or later")
    if not profile.supported(platform.machine()):
        raise unavailable(f"there is no system call filter for {platform.machine()}")
    return found, profile.digest(profile.HARDENED, profile.compile_filter(platform.machine()))


def check(spec: SandboxSpec) -> None:
    """What would be wrong inside, said before anything is started."""
    if len(spec.read_only) > MOST_READ_ONLY:
        raise FileRefused(
            f"{len(spec.read_only)} read-only files, more than {MOST_READ_ONLY}; mount their folder instead"
        )
    targets = [*spec.read_only, *(mount.target for mount in (*spec.mounts, *spec.sockets))]
    for target in targets:
        wire.check_name(target)
        if not target.startswith("/"):
            raise FileRefused(f"{target!r}: a file of a sandbox has an absolute path inside")
        if target.split("/")[1] in ("", "proc", "sys", "dev", "usr", "run", "bin", "sbin", "lib", "lib64"):
            raise FileRefused(f"{target!r}: this part of a sandbox is its system's")
    for mount in (*spec.mounts, *spec.sockets):
        if not mount.source.is_absolute() or not mount.source.exists():
            raise FileRefused(f"{mount.source}: there is nothing to mount at {mount.target}")


def _start(
    words: Sequence[str],
    spec: SandboxSpec,
    interpreter: profile.Interpreter,
    recipe: profile.Recipe,
    init_process: bytes,
    group: MemoryGroup | None,
) -> StartedSandbox:
    with ExitStack() as ours, ExitStack() as on_failure:
        theirs = ours.enter_context(ExitStack())
        sending = ours.enter_context(ExitStack())
        host, inside = socket.socketpair()
        to_init = wire.Wire(host)
        on_failure.callback(to_init.close)
        theirs.callback(inside.close)
        status, status_end = _pipe(ours, theirs)
        complaints, complaints_end = _pipe(ours, theirs)
        flags, flags_end = _pipe(theirs, sending)
        inherited = [status_end, flags]

        def data(content: bytes) -> int:
            descriptor = os.memfd_create("upskill")
            theirs.callback(os.close, descriptor)
            inherited.append(descriptor)
            _write_all(descriptor, content)
            os.lseek(descriptor, 0, os.SEEK_SET)
            return descriptor

        settings = profile.flags(
            spec,
            recipe=recipe,
            init_process=init_process,
            status=status_end,
            filter_=data(profile.compile_filter(platform.machine())) if recipe.filtered else None,
            data=data,
        )
        process = spawn(
            [*words, "--args", str(flags), *profile.command(interpreter)],
            stdin=inside.fileno(),
            stdout=subprocess.DEVNULL if group is None else theirs.enter_context(disk.opened(group.counter)).fileno(),
            stderr=complaints_end,
            keep=inherited,
        )
        theirs.close()
        on_failure.callback(_kill, process)
        try:
            if group is not None:
                # It has read no flag yet, so it has no child that could be left outside.
                group.enter(process.pid)
            _write_all(flags_end, b"".join(os.fsencode(word) + b"\0" for word in settings))
            sending.close()
            to_init.first_word(time.monotonic() + START_SECONDS)
            init_pid = _child(status)
        except (wire.WireLost, wire.WireSilent, OSError, ValueError) as error:
            on_failure.close()
            raise unavailable(_read_available(complaints) or f"the sandbox did not start ({error})") from None
        on_failure.pop_all()
        return StartedSandbox(process=process, to_init=to_init, init_pid=init_pid)


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """A pipe; its two ends are closed with these stacks."""
    source, target = os.pipe()
    reading.callback(os.close, source)
    writing.callback(os.close, target)
    return source, target


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BrokenPipeError:
            return


def _child(status: int) -> int:
    """The number of the init process on the host, which bubblewrap wrote before that process could say a word."""
    text = b""
    poll = select.poll()
    poll.register(status, select.POLLIN)
    while b"\n" not in text and poll.poll(5_000):
        chunk = os.read(status, 4096)
        if not chunk:
            break
        text += chunk
    try:
        return int(json.loads(text.split(b"\n")[0])["child-pid"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"bubblewrap did not name its child: {error}") from None


def _read_available(descriptor: int) -> str:
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 65536).decode("utf-8", "replace").strip()
    except BlockingIOError:
        return ""
