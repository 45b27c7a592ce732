"""Run folders: one per run, readable at any moment, also after kill -9.

`runs/<time>-<skill>-<short id>/` holds `run.json` (what was planned, with which versions, and what came out),
`trials.jsonl` (one line per finished trial, appended) and `logs/` (the engine's own logs). Here is where they are,
which of them are being written, and how they are made and removed.
"""

import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from upskill import disk
from upskill.core.nouns.skill import RECORD_FILES, RUN_FILE, TEACHING_FILE
from upskill.core.runs.own_runs import seal_of
from upskill.core.runs.records import HELD_OUT, JOURNAL_FILE, RUN_RECORD, TRIALS_FILE, RunRecord, keep_text, record_text
from upskill.core.runs.trial_log import TrialLog
from upskill.core.skills.skill_files import file_errors, not_plain
from upskill.errors import EngineError, UsageError

QUIET_SECONDS = 3600.0
"""A run that says of itself that it is running, and that nobody holds, is taken for killed after so long."""
RESERVED_BYTES = 65_536
ENGINE_FOLDER = "engine"
"""The engine's scratch files: removed before a run goes on, and never read."""
_APPENDED = ".jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFolder:
    """One run's folder. Everything a run writes is in it."""

    path: Path

    @property
    def logs(self) -> Path:
        """Where the engine keeps its logs: every prompt and answer, for `inspect view`."""
        return self.path / "logs"

    @property
    def engine_data(self) -> Path:
        """Where the engine's own scratch files go instead of the user's home."""
        return self.path / ENGINE_FOLDER

    def clear_engine_data(self) -> None:
        """Remove what the engine of a killed run left: it is never read again, whoever made it."""
        disk.remove_folder(self.engine_data)

    @property
    def trials(self) -> TrialLog:
        """The append-only log of finished trials."""
        return TrialLog(self.path / TRIALS_FILE)

    def set_space_aside(self) -> None:
        """Hold a little space, so that a run on a disk that fills up can still write how it ended."""
        try:
            disk.write(self._reserve, b"\0" * RESERVED_BYTES)
        except OSError as error:
            raise EngineError(
                f"{self.path}: there is no space for a run ({error.strerror})", hint="free some space first"
            ) from None

    def release_space(self) -> None:
        """Give it back, before the last words are written."""
        disk.remove(self._reserve)

    @property
    def _reserve(self) -> Path:
        return self.path / ".reserve"

    def sealed(self, record: RunRecord) -> RunRecord:
        """The record of a run that the user starts or resumes here, sealed as their own."""
        return replace(record, seal=seal_of(self.path, record_text(RUN_RECORD, record)))

    def write_record(self, record: RunRecord) -> None:
        """Replace `run.json`, whole or not at all."""
        keep_text(self.path / RUN_FILE, record_text(RUN_RECORD, record))


def create_run(runs_dir: Path, *, skill_name: str) -> RunFolder:
    """Make a new run folder. Two runs in the same second get different ones."""
    return run_folder_at(new_folder(runs_dir, skill_name))


def run_folder_at(path: Path) -> RunFolder:
    """The run folder at this very place, which is made where it is not there."""
    try:
        (path / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{path}: a run folder cannot be created here ({error.strerror})") from None
    return RunFolder(path=path)


def new_folder(runs_dir: Path, about: str) -> Path:
    """An empty folder named after the time and what it is about, where neither other users nor version control look."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", about)[:40].strip("-") or "skill"
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
        ignore = runs_dir / ".gitignore"
        if not ignore.exists():
            disk.write(ignore, "# Runs hold prompts and answers; keep them out of version control.\n*\n")
        while True:
            # The end grows within a second, so that the newest of several runs of one skill comes last by its name.
            moment = datetime.now()
            end = f"{moment.microsecond:05x}{secrets.randbelow(16):x}"
            folder = runs_dir / f"{moment:%Y-%m-%d-%H%M%S}-{name}-{end}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            break
    except OSError as error:
        raise EngineError(
            f"{runs_dir}: a run folder cannot be created here ({error.strerror})",
            hint="name another folder with UPSKILL_RUNS_DIR",
        ) from None
    return folder


def evaluation_in(folder: Path) -> Path:
    """Where the trials lie that a run is judged by: of a `generate` those on held-out cases, else the run itself."""
    if not (folder / TEACHING_FILE).is_file():
        return folder
    inner = folder / HELD_OUT
    if not (inner / RUN_FILE).is_file():
        raise UsageError(f"{folder}: this `generate` measured nothing on held-out cases, so there is nothing to show")
    return inner


def name_of_run(folder: Path) -> str:
    """A run as files outside it name it: its folder, of an evaluation in a `generate` with the path in that one."""
    folder = folder.resolve()
    outer = folder.parents[1] if len(folder.parts) > 2 else folder
    inner = folder.parent.name == "trials" and (outer / TEACHING_FILE).is_file()
    return f"{outer.name}/trials/{folder.name}" if inner else folder.name


def require_plain_folder(folder: Path) -> None:
    """Raise, before anything is written, where a run folder holds a link or anything but files and folders.

    What is written through a link changes a file somewhere else. A log with a second name is such a file, too.
    """
    with file_errors(folder):
        entries = disk.listed(folder)
    for path in entries:
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue  # another process is at work there, and is refused for that
        if stat.S_ISDIR(found.st_mode):
            # A killed run leaves sockets and links of students in the engine's.
            if path.name != ENGINE_FOLDER or not (folder / RUN_FILE).exists():
                require_plain_folder(path)
        elif not stat.S_ISREG(found.st_mode) or (found.st_nlink > 1 and path.name.endswith(_APPENDED)):
            raise not_plain(path)


@contextmanager
def only_one_in(folder: Path) -> Iterator[None]:
    """Work in a run folder as the only one, until the block or the process ends, however it ends.

    Two that go on with the same run would buy everything twice.
    """
    file = disk.folder_descriptor(disk.named(folder)) if sys.platform != "win32" else None
    try:
        if file is not None and not _lock(file):
            raise UsageError(
                f"{folder}: another process is using this run", hint="wait until it ends, or stop it first"
            )
        yield
    finally:
        if file is not None:
            os.close(file)


def _lock(file: int) -> bool:
    for pause in (0.02, 0.1, 0.0):
        try:
            if disk.lock(file, wait=False):
                return True
        except OSError:  # a file system without locks
            return True
        time.sleep(pause)  # `is_held` of another process holds it for a moment
    return False


def is_at_work(folder: Path) -> bool:
    """Whether somebody may still be writing there."""
    logs = [folder / TRIALS_FILE, *(inner / TRIALS_FILE for inner in disk.folders(folder / "trials"))]
    files = [*logs, *(folder / name for name in (*RECORD_FILES, JOURNAL_FILE))]
    return any(map(is_held, (folder, *logs))) or time.time() - max(map(_modified, files)) < QUIET_SECONDS


def _modified(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def is_held(path: Path) -> bool:
    """Whether a process marked it as its own; always `False` on Windows."""
    if sys.platform == "win32":
        return False
    try:
        file = disk.folder_descriptor(path) if path.is_dir() else disk.descriptor(path)
    except OSError:
        return False
    try:
        return not disk.lock(file, wait=False)
    except OSError:
        return True
    finally:
        os.close(file)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; links are not followed."""
    total = 0
    with suppress(OSError):
        for path in disk.below(folder):
            with suppress(OSError):
                total += path.lstat().st_size
    return total


def remove(folder: Path) -> None:
    """Take a run folder away. Cut short, it leaves a hidden folder that is no run, never half a run."""
    marker = next((name for name in RECORD_FILES if (folder / name).is_file()), None)
    if folder.is_symlink() or marker is None:
        raise EngineError(f"{folder}: is not a run folder and was not removed")
    hidden = folder.with_name(f".removing-{folder.name}")
    try:
        disk.move(folder, hidden)
        disk.remove(hidden / marker)
    except OSError as error:
        raise EngineError(f"{folder}: cannot be removed ({error.strerror})") from None
    disk.remove_folder(hidden)
    if hidden.exists():
        raise EngineError(f"{folder}: cannot be removed completely; what is left is in {hidden}")
