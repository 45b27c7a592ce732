"""Paths as a person would type them."""

import os
from pathlib import Path, PurePosixPath

from upskill.storage.teaching_runs import TeachingRecord


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


def shown_skill(record: TeachingRecord, previous: Path | None) -> str | None:
    """The skill that was to be improved, as it would be typed here; `previous` is the copy that the run kept."""
    sources = record.order.get("sources")
    if previous is None or not isinstance(sources, list):
        return None
    typed = [one for one in sources if isinstance(one, str)]
    return next((shown_path(Path(one)) for one in typed if previous.name in PurePosixPath(one).parts), None)
