"""No sandbox at all, for who asks for it by name: a folder, limits, and an end for the whole tree of processes.

Programs see the host's files and network. The environment is still empty: keys are not handed to anybody.
"""

import os
import shutil
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

from upskill.sandbox import control
from upskill.sandbox.keeper import keeper_program
from upskill.sandbox.kept import KeptSandbox
from upskill.sandbox.place import HOME, WORKSPACE, Furnishing, SandboxUnavailable
from upskill.sandbox.programs import compiled, spawn

START_SECONDS = 30.0


def open_unconfined(furnishing: Furnishing, scratch: Path) -> KeptSandbox:
    """A folder below `scratch` takes the place of the root; it is removed when the sandbox is closed."""
    scratch.mkdir(parents=True, exist_ok=True)
    root = Path(mkdtemp(prefix="unconfined-", dir=scratch.resolve()))
    try:
        _furnish(root, furnishing)
        keeper = root / "keeper.pyc"
        keeper.write_bytes(compiled(keeper_program(), program=sys.executable, prefix=None))
        ours, theirs = socket.socketpair()
        with theirs:
            words = [sys.executable, "-I", "-S", "-B", str(keeper), str(root)]
            process = spawn(words, stdin=theirs.fileno(), keep=(), folder=str(root))
        line = control.Line(ours)
        try:
            line.answer(time.monotonic() + START_SECONDS, 0)
        except (control.LineLost, control.LineSilent) as error:
            line.close()
            process.kill()
            process.wait()
            raise SandboxUnavailable(f"no place to run programs in {scratch}: {error or 'no answer'}") from None
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(root) + HOME,
        "LANG": "C.UTF-8",
        "TMPDIR": str(root / "tmp"),
    }
    # The kernel would count all other processes of this user too.
    limits = replace(furnishing.limits, processes=0)
    return KeptSandbox(
        line,
        process=process,
        first=process.pid,
        limits=limits,
        environment=environment,
        root=str(root),
        confined=False,
        afterwards=lambda: shutil.rmtree(root, ignore_errors=True),
    )


def _furnish(root: Path, furnishing: Furnishing) -> None:
    for folder in (WORKSPACE, HOME, "/tmp"):
        (root / folder.lstrip("/")).mkdir(parents=True)
    for path, content in furnishing.read_only.items():
        control.check_name(path)
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o555 if path in furnishing.executable else 0o444)
    for mount in (*furnishing.mounts, *furnishing.sockets):
        control.check_name(mount.target)
        link = root / mount.target.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(mount.source)
