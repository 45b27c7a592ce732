"""The programs that build and keep a sandbox: where they are, and the keeper as bytecode, so that no start is spent on
parsing it."""

import os
import subprocess
from functools import cache
from pathlib import Path

from upskill.sandbox.refusals import unavailable

SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin")


def find_program(name: str) -> str | None:
    """From the system's own folders only: never through a PATH that somebody else can write."""
    for folder in SYSTEM_FOLDERS:
        path = Path(folder) / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return None


_COMPILE = """
import marshal, sys
from importlib._bootstrap_external import MAGIC_NUMBER
code = compile(sys.stdin.buffer.read(), "keeper", "exec", dont_inherit=True, optimize=1)
sys.stdout.buffer.write(MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


@cache
def compiled(source: bytes, *, program: str, prefix: Path | None) -> bytes:
    """Once per process. `prefix` is where the program lies outside, if not where it lies inside."""
    outside = program if prefix is None else str(prefix / "bin" / Path(program).name)
    try:
        done = subprocess.run(
            [outside, "-I", "-S", "-B", "-c", _COMPILE],
            input=source,
            capture_output=True,
            check=False,
            env={},
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise unavailable(f"{outside} does not run ({error})") from None
    if done.returncode != 0 or not done.stdout:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise unavailable(f"{outside} cannot run the program that keeps a sandbox ({why[-1] if why else 'no output'})")
    return done.stdout
