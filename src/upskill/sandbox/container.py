"""A sandbox in a container of podman or docker, for machines without bubblewrap. Asked for by name, no fallback.

The container runs the same init process as every sandbox, under the same filter of system calls, so commands, files and
ends are the same. It has no network, no capabilities, a read-only root, file systems in memory of a fixed size, and
limits of memory and processes. The wire is its standard input and output, which reach into a virtual machine as well;
sockets of the host are carried over it. When the wire is cut, by us or by our death, the init process ends, and with it
the container.
"""

import hashlib
import os
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path, PurePosixPath

from upskill import disk, processes
from upskill.sandbox import profile, wire
from upskill.sandbox.bubblewrap import check
from upskill.sandbox.client import SandboxClient
from upskill.sandbox.contract import HOME, WORKSPACE, Engine, Limits, SandboxSpec, SandboxUnavailable
from upskill.sandbox.init_process import init_program
from upskill.sandbox.memory import POOL
from upskill.sandbox.programs import require_readable, spawn

IMAGE_VARIABLE = "UPSKILL_SANDBOX_IMAGE"
IMAGE = "upskill"
PROGRAM_FOLDERS = ("/usr/local/bin", "/opt/homebrew/bin", "/opt/podman/bin")
FILTERS = "/run/filters"
START_SECONDS = 120.0
ENVIRONMENT = {"PATH": profile.PATH, "HOME": HOME, "LANG": "C.UTF-8"}
MOST_PROCESSES = 32_768
"""Of the user inside, who is one user of the kernel in all containers: each is bounded by its own count. No more than
podman sets for itself, or an engine without the right to raise limits refuses to start."""
_FOLDER = "upskill-container-"
_NAME = "upskill-"


def open_container(engine: Engine, spec: SandboxSpec) -> SandboxClient:
    """A container with an init process that has said `ready`. Raises `SandboxUnavailable`, `FileRefused`."""
    check(spec)
    for mount in spec.mounts:
        require_readable(mount)
    program, image = find_engine(engine), image_name()
    _sweep(program)
    mine = f"{os.getpid()}-{secrets.token_hex(8)}"
    name, folder = f"{_NAME}{mine}", Path(tempfile.gettempdir(), f"{_FOLDER}{mine}")
    folder.mkdir(mode=0o700)
    with ExitStack() as on_failure:
        on_failure.callback(_remove, program, name, folder, None)
        give_back = POOL.take(spec.limits.memory_mb)
        on_failure.callback(give_back)
        folder.chmod(0o755)
        mounts = _lay_out(spec, folder)
        host, inside = socket.socketpair()
        to_init = wire.Wire(host)
        on_failure.callback(to_init.close)
        words = flags(engine, spec.limits, name=name, mounts=mounts)
        with inside, tempfile.TemporaryFile() as complaints:
            process = spawn(
                [program, *words, image, *command(mount.target for mount in spec.sockets)],
                stdin=inside.fileno(),
                stdout=inside.fileno(),
                stderr=complaints.fileno(),
                keep=(),
                kind="container",
            )
            inside.close()
            on_failure.callback(_kill, process)
            try:
                to_init.first_word(time.monotonic() + START_SECONDS)
            except (wire.WireLost, wire.WireSilent) as error:
                complaints.seek(0)
                said = complaints.read(4_000).decode("utf-8", "replace").splitlines()
                # docker ends with an advice about its own help.
                causes = [line for line in said if line.strip() and not line.startswith("Run 'docker")]
                raise _unavailable(engine, causes[-1] if causes else f"the container did not start ({error})") from None
        client = SandboxClient(
            to_init,
            process=process,
            init_pid=None,
            limits=replace(spec.limits, processes=0),  # the engine counts those of this container
            environment=ENVIRONMENT,
            python="python3",
            carried=wire.CarriedSockets({mount.target: mount.source for mount in spec.sockets}),
            afterwards=partial(_remove, program, name, folder, process, give_back),
        )
        on_failure.pop_all()
        return client


def find_engine(engine: Engine) -> str:
    """The program of this name, from fixed folders only. Raises `SandboxUnavailable`."""
    candidates = [processes.find_system_program(engine), *(f"{folder}/{engine}" for folder in PROGRAM_FOLDERS)]
    found = next((path for path in candidates if path is not None and os.access(path, os.X_OK)), None)
    if found is None:
        raise _unavailable(engine, f"{engine} is not installed")
    return found


def image_name() -> str:
    """The image that a person chose. Never from a file: what runs in it decides what is measured."""
    image = os.environ.get(IMAGE_VARIABLE, "").strip() or IMAGE
    if image.startswith("-"):
        raise SandboxUnavailable(f"no sandbox: ${IMAGE_VARIABLE} names no image", hint=f"unset {IMAGE_VARIABLE}")
    return image


def describe_container(engine: Engine) -> tuple[str, str]:
    """The version of the engine, and a digest of the image and of all that is set for each container alike."""
    program, image = find_engine(engine), image_name()
    version = _asked(engine, [program, "version", "--format", "{{.Server.Version}}"])
    try:
        identity = _asked(engine, [program, "image", "inspect", "--format", "{{.Id}}", image])
    except SandboxUnavailable:
        raise SandboxUnavailable(
            f"no sandbox: {engine} {version} has no image {image}",
            hint=f"build it with `{engine} build -t {IMAGE} .` in a checkout of upskill, or name in {IMAGE_VARIABLE} "
            "an image that you have, with sh and python3 on its search path",
        ) from None
    words = [*flags(engine, Limits(), name="name", mounts=()), identity, *command(())]
    whole = "\0".join(words).encode() + init_program() + filters()
    return version, f"sha256:{hashlib.sha256(whole).hexdigest()}"


def _asked(engine: Engine, words: Sequence[str]) -> str:
    """The one line that an engine answers. Raises `SandboxUnavailable`."""
    try:
        done = processes.run("container", words, seconds=START_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unavailable(engine, f"{engine} does not run ({error})") from None
    if done.returncode != 0 or not done.stdout.strip():
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _unavailable(engine, said[-1] if said else f"{engine} has no engine")
    return done.stdout.decode("utf-8", "replace").strip()


def flags(engine: Engine, limits: Limits, *, name: str, mounts: Sequence[tuple[str, str]]) -> list[str]:
    """Everything that confines a container. `mounts` are paths of the host and where they are seen, read-only."""
    # Each engine has its own word for who owns a file system in memory. podman would add some without a size.
    owner = ",U" if engine == "podman" else ",uid=1000,gid=1000"

    def tmpfs(target: str, megabytes: int, mode: str = f"755{owner}") -> str:
        return f"--tmpfs={target}:rw,exec,nosuid,nodev,size={megabytes}m,mode={mode}"

    open_files = max(limits.open_files, Limits().open_files)
    return [
        *("run", "--rm", "--interactive", "--pull=never", f"--name={name}", "--log-driver=none"),
        *("--network=none", "--ipc=private", "--cgroupns=private", "--hostname=sandbox"),
        *("--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only", "--user=1000:1000"),
        *(("--read-only-tmpfs=false",) if engine == "podman" else ()),
        *(f"--memory={limits.memory_mb}m", f"--memory-swap={limits.memory_mb}m"),
        # The limit counts the init process too.
        *(f"--pids-limit={limits.processes + 1}", f"--shm-size={profile.SHARED_MEMORY_MB}m"),
        *(f"--ulimit=nofile={open_files}:{open_files}", f"--ulimit=nproc={MOST_PROCESSES}:{MOST_PROCESSES}"),
        # What the engine shows of the machine's devices, and its message queues, are covered.
        *("--tmpfs=/sys:rw,size=64k,mode=755", "--tmpfs=/dev/mqueue:ro,size=4k,mode=555"),
        tmpfs("/tmp", limits.tmp_mb, mode="1777"),
        tmpfs(WORKSPACE, limits.workspace_mb),
        *(tmpfs(folder, limits.home_mb) for folder in _own_folders(target for _, target in mounts)),
        *(f"--workdir={WORKSPACE}", "--entrypoint=python3"),
        *(f"--env={key}={value}" for key, value in ENVIRONMENT.items()),
        *(f"--mount=type=bind,source={source},target={target},readonly" for source, target in mounts),
    ]


def _own_folders(targets: Iterable[str]) -> list[str]:
    """The home, and the folders in it that lead to what is mounted: an engine would make them as root."""
    parents = (parent for target in targets for parent in PurePosixPath(target).parents)
    return [HOME, *sorted({str(parent) for parent in parents if parent.is_relative_to(HOME)} - {HOME})]


def command(sockets: Iterable[str]) -> list[str]:
    """What the entry point, python3, is given: the init process, isolated, with pipes for a wire."""
    return ["-I", "-S", "-B", profile.INIT_PROGRAM, "container", FILTERS, *sockets]


@cache
def filters() -> bytes:
    """The filter of system calls for every machine that has one: the engine may run on another than ours."""
    return "".join(f"{machine} {profile.compile_filter(machine).hex()}\n" for machine in profile.MACHINES).encode()


def _lay_out(spec: SandboxSpec, folder: Path) -> list[tuple[str, str]]:
    """Write what is read-only into a folder of the host, and say what is mounted where."""
    contents = {profile.INIT_PROGRAM: init_program(), FILTERS: filters(), **profile.ETC, **spec.read_only}
    mounts: list[tuple[str, str]] = []
    for number, (target, data) in enumerate(contents.items()):
        file = folder / str(number)
        disk.write_scratch(file, data)
        file.chmod(0o555 if target in spec.executable else 0o444)
        mounts.append((str(file), target))
    mounts += [(str(mount.source.resolve()), mount.target) for mount in spec.mounts]
    if odd := next((path for pair in mounts for path in pair if "," in path or '"' in path), None):
        raise SandboxUnavailable(f"no sandbox: no engine can mount a path with a comma or a quotation mark: {odd}")
    return mounts


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def _remove(
    program: str,
    name: str,
    folder: Path,
    process: "subprocess.Popen[bytes] | None",
    give_back: Callable[[], None] = lambda: None,
) -> None:
    """End the container, unless the engine has said that it ended and was removed. One that is gone is no fault."""
    with ExitStack() as stack:
        stack.callback(give_back)
        stack.callback(disk.remove_folder, folder)
        if process is None or process.returncode != 0:
            processes.run("container", [program, "rm", "--force", name], seconds=START_SECONDS)


@cache
def _sweep(program: str) -> None:
    """Once per process: what a process left that was killed. A container that was just starting then may not have
    heard the end of its input, and runs on."""
    folders: list[Path] = []
    with suppress(OSError):  # others may fill it
        folders = disk.folders(Path(tempfile.gettempdir()), f"{_FOLDER}*-*")
    for folder in folders:
        left = folder.name.removeprefix(_FOLDER)
        try:
            os.kill(int(left.partition("-")[0]), 0)
        except (ProcessLookupError, ValueError):
            processes.run("container", [program, "rm", "--force", f"{_NAME}{left}"], seconds=START_SECONDS)
            disk.remove_folder(folder)
        except OSError:
            continue


def _unavailable(engine: Engine, what: str) -> SandboxUnavailable:
    return SandboxUnavailable(f"no sandbox: {what}", hint=f"install and start {engine}, or bubblewrap on Linux")
