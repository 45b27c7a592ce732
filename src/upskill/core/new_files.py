"""Several new files in one folder: all of them are written, or none."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from upskill.errors import UsageError


def write_new_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write every text under its relative path below `folder`, which may be new.

    Raises `UsageError` if one of the paths exists, or cannot be written. Then the folder is as it was.
    """
    there = [name for name in texts if os.path.lexists(folder / name)]
    if there:
        raise UsageError(
            f"{folder}: nothing was written, because {len(there)} of the files already exist",
            problems=[f"{folder / name} exists" for name in there],
            hint="name a new folder: upskill init DIR",
        )
    if linked := [name for name in texts if not (folder / name).parent.resolve().is_relative_to(folder.resolve())]:
        raise UsageError(
            f"{folder / linked[0]}: a link leads out of {folder}", hint="name a new folder: upskill init DIR"
        )
    written: list[Path] = []
    made: list[Path] = []
    try:
        for name, text in texts.items():
            path = folder / name
            for parent in reversed([one for one in path.parents if not one.exists()]):
                parent.mkdir()
                made.append(parent)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        for parent in reversed(made):
            with suppress(OSError):
                parent.rmdir()
        raise UsageError(
            f"{folder}: the files cannot be written to it ({error.strerror})", hint="name another folder"
        ) from None
