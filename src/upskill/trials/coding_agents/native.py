"""Finds the program behind what a package manager installs: a sandbox has no interpreter for a wrapper."""

from collections.abc import Sequence
from pathlib import Path

from upskill.errors import UsageError

_ELF = b"\x7fELF"


def native_program(found: Path, *, beside: Sequence[str], install: str) -> Path:
    """The program itself, every link followed. Where a script starts it, it is looked for `beside` that script's
    package: paths below a `node_modules` folder. Raises `UsageError` where this machine cannot run it."""
    real = found.resolve()
    if _is_native(real):
        return real
    for folder in real.parents:
        for path in beside:
            for candidate in (folder / path, folder / "node_modules" / path):
                if _is_native(candidate):
                    return candidate.resolve()
    raise UsageError(f"{found}: there is no program for this machine behind it", hint=f"install it again: `{install}`")


def _is_native(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False
