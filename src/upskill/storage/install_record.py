"""`.upskill-install.json` in an installed skill: what `upskill install` wrote there, so that it can be undone.

The record may be a stranger's, in a project that was cloned. It names no place: only the folder that it lies in can be
removed because of it.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill.domain.skill import INSTALL_RECORD, MOST_SHARED_BYTES, MOST_SHARED_FILES
from upskill.domain.text import on_one_line
from upskill.errors import EngineError
from upskill.storage.plain_files import open_plain, read_plain
from upskill.storage.records import record_text

FORMAT = "upskill.install-record/1"
MOST_RECORD_BYTES = 1_000_000
MOST_FOLDERS_MADE = 3
LEFT_BY_PROGRAMS = frozenset({"__pycache__", ".DS_Store"})
"""What appears in a folder by itself, and is removed with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallRecord:
    """What was installed: every file with its SHA-256, and how many folders above it were made for it."""

    format: str = FORMAT
    upskill: str
    """The version that wrote it."""
    name: str
    digest: str
    """Of the skill, as `upskill eval` and `evidence.json` have it."""
    files: Mapping[str, str]
    folders_made: int = 0
    """Of the folders above, the innermost first."""


_RECORD = TypeAdapter(InstallRecord)


def install_record_text(record: InstallRecord) -> str:
    """The record as it stands in its file: equal records have equal bytes."""
    return record_text(_RECORD, record)


def read_install_record(folder: Path) -> InstallRecord | None:
    """The record of an installed skill; `None` where there is none that can be read."""
    try:
        record = _RECORD.validate_json(read_plain(folder / INSTALL_RECORD, most=MOST_RECORD_BYTES))
    except (FileNotFoundError, ValidationError, EngineError):
        return None
    if record.format != FORMAT or not 0 <= record.folders_made <= MOST_FOLDERS_MADE:
        return None
    return record


def changes_since(folder: Path, record: InstallRecord) -> tuple[str, ...]:
    """What is not as it was installed, a sentence each; empty if everything is."""
    return changed_files(folder, record.files, besides=frozenset({INSTALL_RECORD}))


def changed_files(folder: Path, files: Mapping[str, str], *, besides: Collection[str]) -> tuple[str, ...]:
    """What of these files, each with its SHA-256, is otherwise in a folder, a sentence each.

    The names in `besides` may be there with any content.
    """
    found = dict(_walk(folder))
    changes = [f"{path} is missing" for path in files if path not in found]
    for path, what in found.items():
        if what is None:
            changes.append(f"{path} is not an ordinary file")
        elif path in besides:
            continue
        elif path not in files:
            changes.append(f"{path} was added")
        elif what != files[path]:
            changes.append(f"{path} was changed")
    return tuple(on_one_line(change) for change in sorted(changes))


def _walk(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Every file with its SHA-256; a link, and whatever else is no file, with `None`. Stops at too many."""
    entries = 0
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_BY_PROGRAMS)
        for name in sorted((*folders, *names)):
            path = Path(where, name)
            inside = path.relative_to(folder).as_posix()
            entries += 1
            if entries > 2 * MOST_SHARED_FILES:
                yield inside, None
                return
            if path.is_symlink():
                yield inside, None
            elif name in names and name not in LEFT_BY_PROGRAMS:
                yield inside, _sha256(path)


def _sha256(path: Path) -> str | None:
    try:
        with os.fdopen(open_plain(path), "rb") as file:
            if os.fstat(file.fileno()).st_size > MOST_SHARED_BYTES:
                return ""
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, EngineError):
        return None
