"""Paths as a person would type them."""

import os
from pathlib import Path


def shown_path(path: Path) -> str:
    """A path as a person would type it: `./skills/x` where it is below the working folder."""
    try:
        below = path.resolve().relative_to(Path.cwd().resolve())
    except ValueError:
        try:
            return Path(os.path.relpath(path.resolve(), Path.cwd().resolve())).as_posix()
        except ValueError:
            return path.as_posix()
    return f"./{below.as_posix()}"
