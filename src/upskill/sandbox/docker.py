"""A sandbox in a container of docker, for machines without bubblewrap. Asked for by name, and never fallen back to.

The container runs the same init process as every sandbox, so commands, files and ends are the same. It has no network,
no capabilities, a read-only root, file systems in memory of a fixed size, and limits of memory and processes. The wire
is the container's standard input and output.

**This was never run on a real engine**, only against a stand-in for the program `docker` in our tests. The quick probes
run before every evaluation here as well, and refuse what does not hold.
"""

import hashlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from upskill import processes
from upskill.sandbox import wire
from upskill.sandbox.bubblewrap import check
from upskill.sandbox.client import SandboxClient
from upskill.sandbox.contract import HOME, WORKSPACE, Limits, SandboxSpec, SandboxUnavailable
from upskill.sandbox.init_process import init_program
from upskill.sandbox.profile import ETC, PATH, SHARED_MEMORY_MB
from upskill.sandbox.programs import spawn

IMAGE_VARIABLE = "UPSKILL_SANDBOX_IMAGE"
"""The image. No file can name it: what runs in it decides what is measured."""
PROGRAM_FOLDERS = ("/usr/local/bin", "/opt/homebrew/bin")
INIT_PROGRAM = "/opt/upskill-init.py"
START_SECONDS = 60.0
ENVIRONMENT = {"PATH": PATH, "HOME": HOME, "LANG": "C.UTF-8"}
HINT = "see https://docs.docker.com/get-started/get-docker/ for docker, or install bubblewrap on Linux"


def open_docker(spec: SandboxSpec, *, program: str | None = None, image: str | None = None) -> SandboxClient:
    """A container with an init process that has said `ready`. Raises `SandboxUnavailable`, `FileRefused`."""
    check(spec)
    program, image = program or find_docker(), image or image_name()
    name = f"upskill-{secrets.token_hex(8)}"
    folder = Path(tempfile.mkdtemp(prefix="upskill-docker-"))
    with ExitStack() as on_failure:
        on_failure.callback(_remove, program, name, folder)
        folder.chmod(0o755)
        mounts = _lay_out(spec, folder)
        host, inside = socket.socketpair()
        to_init = wire.Wire(host)
        on_failure.callback(to_init.close)
        with inside, tempfile.TemporaryFile() as complaints:
            process = spawn(
                [program, *flags(spec.limits, name=name, mounts=mounts), image, *command()],
                stdin=inside.fileno(),
                stdout=inside.fileno(),
                stderr=complaints.fileno(),
                keep=(),
                kind="container",
            )
            inside.close()
            on_failure.callback(_kill, process)
            try:
                if to_init.answer(time.monotonic() + START_SECONDS, 0) != [b"ready"]:
                    raise wire.WireLost("a first word that is not `ready`")
            except (wire.WireLost, wire.WireSilent) as error:
                complaints.seek(0)
                said = complaints.read(4_000).decode("utf-8", "replace").strip().splitlines()
                raise _unavailable(said[-1] if said else f"the container did not start ({error})") from None
        client = SandboxClient(
            to_init,
            process=process,
            init_pid=process.pid,
            limits=spec.limits,
            environment=ENVIRONMENT,
            afterwards=partial(_remove, program, name, folder),
        )
        on_failure.pop_all()
        return client


def find_docker() -> str:
    """The program `docker`, from fixed folders only. Raises `SandboxUnavailable`."""
    candidates = [processes.find_system_program("docker"), *(f"{folder}/docker" for folder in PROGRAM_FOLDERS)]
    found = next((path for path in candidates if path is not None and os.access(path, os.X_OK)), None)
    if found is None:
        raise _unavailable("docker is not installed")
    return found


def image_name() -> str:
    """The image that a person chose. Never from a file: what runs in it decides what is measured."""
    image = os.environ.get(IMAGE_VARIABLE, "").strip()
    if not image or image.startswith("-"):
        raise SandboxUnavailable(
            f"no sandbox: ${IMAGE_VARIABLE} names no image",
            hint=f"set {IMAGE_VARIABLE} to an image that you have pulled, with sh and python3 on its search path",
        )
    return image


def describe_docker(*, program: str | None = None, image: str | None = None) -> tuple[str, str]:
    """The version of the engine, and a digest of all that is set for each container alike."""
    program, image = program or find_docker(), image or image_name()
    words = [program, "version", "--format", "{{.Server.Version}}"]
    try:
        done = processes.run("container", words, seconds=START_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unavailable(f"docker does not run ({error})") from None
    if done.returncode != 0 or not done.stdout.strip():
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _unavailable(said[-1] if said else "docker has no engine")
    whole = "\0".join([*flags(Limits(), name="name", mounts=()), image, *command()]).encode() + init_program()
    return done.stdout.decode("utf-8", "replace").strip(), f"sha256:{hashlib.sha256(whole).hexdigest()}"


def flags(limits: Limits, *, name: str, mounts: Sequence[tuple[str, str]]) -> list[str]:
    """Everything that confines a container. `mounts` are paths of the host and where they are seen, read-only."""

    def tmpfs(target: str, megabytes: int, *, mode: str, owned: bool = True) -> list[str]:
        owner = ",uid=1000,gid=1000" if owned else ""
        return ["--tmpfs", f"{target}:rw,exec,nosuid,nodev,size={megabytes}m,mode={mode}{owner}"]

    words = [
        *("run", "--rm", "--interactive", "--pull", "never", "--name", name),
        *("--network", "none", "--ipc", "private", "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--user", "1000:1000"),
        *("--memory", f"{limits.memory_mb}m", "--memory-swap", f"{limits.memory_mb}m"),
        # The limit counts the init process too.
        *("--pids-limit", str(limits.processes + 1), "--shm-size", f"{SHARED_MEMORY_MB}m"),
        *tmpfs("/tmp", limits.tmp_mb, mode="1777", owned=False),
        *tmpfs(HOME, limits.home_mb, mode="755"),
        *tmpfs(WORKSPACE, limits.workspace_mb, mode="755"),
        *("--workdir", WORKSPACE, "--entrypoint", "python3"),
    ]
    for key, value in ENVIRONMENT.items():
        words += ["--env", f"{key}={value}"]
    for source, target in mounts:
        words += ["--mount", f"type=bind,source={source},target={target},readonly"]
    return words


def command() -> list[str]:
    """What the entry point, python3, is given: the init process, isolated, with pipes for a wire."""
    return ["-I", "-S", "-B", INIT_PROGRAM, "piped"]


def _lay_out(spec: SandboxSpec, folder: Path) -> list[tuple[str, str]]:
    """Write what is read-only into a folder of the host, and say what is mounted where."""
    contents = {INIT_PROGRAM: init_program(), **ETC, **spec.read_only}
    mounts: list[tuple[str, str]] = []
    for number, (target, data) in enumerate(contents.items()):
        file = folder / str(number)
        file.write_bytes(data)
        file.chmod(0o555 if target in spec.executable else 0o444)
        mounts.append((str(file), target))
    mounts += [(str(mount.source.resolve()), mount.target) for mount in (*spec.mounts, *spec.sockets)]
    if odd := next((path for pair in mounts for path in pair if "," in path or '"' in path), None):
        raise SandboxUnavailable(f"no sandbox: docker cannot mount a path with a comma or a quotation mark: {odd}")
    return mounts


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def _remove(program: str, name: str, folder: Path) -> None:
    """End the container, whatever became of the program that started it. One that is gone already is no fault."""
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        processes.run("container", [program, "rm", "--force", name], seconds=START_SECONDS)


def _unavailable(what: str) -> SandboxUnavailable:
    return SandboxUnavailable(f"no sandbox: {what}", hint=HINT)
