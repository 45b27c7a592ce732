"""Starts the programs of a sandbox, and compiles the init process, so that no start is spent on parsing it.
One thread starts them all, and never ends.

"Die with the parent" means: with the *thread* that forked. A sandbox started by a worker thread would be killed as soon
as that worker is let go.
"""

import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from upskill import processes
from upskill.sandbox.refusals import unavailable

_COMPILE = """
import marshal, sys
from importlib._bootstrap_external import MAGIC_NUMBER
code = compile(sys.stdin.buffer.read(), "init", "exec", dont_inherit=True, optimize=1)
sys.stdout.buffer.write(MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""
_lock = threading.Lock()


@cache
def compiled(source: bytes, *, program: str, prefix: Path | None) -> bytes:
    """Once per process. `prefix` is where the program lies outside, if not where it lies inside."""
    outside = program if prefix is None else str(prefix / "bin" / Path(program).name)
    try:
        done = processes.run("sandbox", [outside, "-I", "-S", "-B", "-c", _COMPILE], said=source, seconds=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise unavailable(f"{outside} does not run ({error})") from None
    if done.returncode != 0 or not done.stdout:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise unavailable(f"{outside} cannot run the program that keeps a sandbox ({why[-1] if why else 'no output'})")
    return done.stdout


@cache
def _spawner(process: int) -> ThreadPoolExecutor:
    """The thread that starts all programs of a process. A fork has no threads, and gets a new one by its number."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"upskill-sandboxes-{process}")


def spawn(
    words: Sequence[str],
    *,
    stdin: int,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    keep: Sequence[int],
    folder: str = "/",
    kind: processes.Kind = "sandbox",
) -> "subprocess.Popen[bytes]":
    """Start a program, by default with an empty environment, in a session of its own, with no descriptors but the ones
    named."""
    with _lock:  # two threads that ask at once must get the same one
        spawner = _spawner(os.getpid())

    def start() -> "subprocess.Popen[bytes]":
        return processes.start(
            kind, words, cwd=folder, stdin=stdin, stdout=stdout, stderr=stderr, keep=keep, apart=True
        )

    return spawner.submit(start).result()
