"""No sandbox at all, where a person asks for that by name: a folder, limits, and an end for the whole process tree.

Programs see the host's files and network. The environment is still empty: keys are not handed to anybody.
"""

import os
import socket
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from upskill import disk
from upskill.sandbox import wire
from upskill.sandbox.client import SandboxClient
from upskill.sandbox.contract import HOME, WORKSPACE, SandboxSpec, SandboxUnavailable
from upskill.sandbox.init_process import init_program
from upskill.sandbox.programs import compiled, spawn

START_SECONDS = 30.0


def open_unconfined(spec: SandboxSpec, scratch: Path) -> SandboxClient:
    """A folder below `scratch` takes the place of the root; it is removed when the sandbox is closed."""
    scratch.mkdir(parents=True, exist_ok=True)
    root = Path(mkdtemp(prefix="unconfined-", dir=scratch.resolve()))
    try:
        _lay_out(root, spec)
        init_process = root / "init.pyc"
        disk.write_scratch(init_process, compiled(init_program(), program=sys.executable, prefix=None))
        ours, theirs = socket.socketpair()
        with theirs:
            words = [sys.executable, "-I", "-S", "-B", str(init_process), str(root)]
            process = spawn(words, stdin=theirs.fileno(), keep=(), folder=str(root))
        to_init = wire.Wire(ours)
        try:
            to_init.first_word(time.monotonic() + START_SECONDS)
        except (wire.WireLost, wire.WireSilent) as error:
            to_init.close()
            process.kill()
            process.wait()
            raise SandboxUnavailable(f"no place to run programs in {scratch}: {error or 'no answer'}") from None
    except BaseException:
        disk.remove_folder(root)
        raise
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(root) + HOME,
        "LANG": "C.UTF-8",
        "TMPDIR": str(root / "tmp"),
    }
    # The kernel would count all other processes of this user too.
    limits = replace(spec.limits, processes=0)
    return SandboxClient(
        to_init,
        process=process,
        init_pid=process.pid,
        limits=limits,
        environment=environment,
        python=sys.executable,
        root=str(root),
        confined=False,
        afterwards=partial(disk.remove_folder, root),
    )


def _lay_out(root: Path, spec: SandboxSpec) -> None:
    for folder in (WORKSPACE, HOME, "/tmp"):
        (root / folder.lstrip("/")).mkdir(parents=True)
    for path, content in spec.read_only.items():
        wire.check_name(path)
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        disk.write_scratch(file, content)
        file.chmod(0o555 if path in spec.executable else 0o444)
    for mount in (*spec.mounts, *spec.sockets):
        wire.check_name(mount.target)
        link = root / mount.target.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        disk.link(link, mount.source)
