"""Where run folders are, which of them are being written, and how they are removed. Knows nothing of their records."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from upskill.errors import EngineError, UsageError

if sys.platform != "win32":
    import fcntl

RUN_FORMAT = "upskill.run/1"
TEACHING_FORMAT = "upskill.generate/1"
RUN_FILE = "run.json"
TEACHING_FILE = "generate.json"
"""In the folder of a `generate`, instead of the record of an evaluation."""
TRIGGER_FORMAT = "upskill.trigger_run/1"
TRIGGER_FILE = "trigger.json"
"""In the folder of a `trigger`, instead of the record of an evaluation."""
JOURNAL_FILE = "teacher.jsonl"
TRIALS_FILE = "trials.jsonl"
HELD_OUT = "trials/held-out"
"""In the folder of a `generate`: the run that its skill is judged by."""
QUIET_SECONDS = 3600.0
"""A run that says of itself that it is running, and that nobody holds, is taken for killed after so long."""


def runs_in(runs_dir: Path, *, marked_by: tuple[str, ...] = (RUN_FILE,)) -> Iterator[Path]:
    """Run folders, newest first: those in which a file of such a name lies."""
    try:
        with os.scandir(runs_dir) as children:
            names = sorted((child.name for child in children if child.is_dir()), reverse=True)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise EngineError(f"{runs_dir}: cannot be listed ({error.strerror})") from None
    for name in names:
        if any((runs_dir / name / marker).exists() for marker in marked_by):
            yield runs_dir / name


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


def hold(file: int) -> None:
    """Mark an open log as being written to, until it is closed or the process ends, however it ends."""
    if sys.platform != "win32":
        with suppress(OSError):  # a file system without locks: then only the quiet hour speaks for the run
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextmanager
def only_one_in(folder: Path) -> Iterator[None]:
    """Work in a run folder as the only one, until the block or the process ends, however it ends.

    Two that go on with the same run would buy everything twice.
    """
    file = os.open(folder, os.O_RDONLY) if sys.platform != "win32" else None
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
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)  # `is_held` of another process holds it for a moment
        except OSError:  # a file system without locks
            return True
        else:
            return True
    return False


def is_at_work(folder: Path) -> bool:
    """Whether somebody may still be writing there."""
    logs = [folder / TRIALS_FILE, *folder.glob(f"trials/*/{TRIALS_FILE}")]
    files = [*logs, *(folder / name for name in (RUN_FILE, TEACHING_FILE, TRIGGER_FILE, JOURNAL_FILE))]
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
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; links are not followed."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(where, name).lstat().st_size
            except OSError:
                continue
    return total


def remove(folder: Path) -> None:
    """Take a run folder away. Cut short, it leaves a hidden folder that is no run, never half a run."""
    marker = next((name for name in (RUN_FILE, TEACHING_FILE, TRIGGER_FILE) if (folder / name).is_file()), None)
    if folder.is_symlink() or marker is None:
        raise EngineError(f"{folder}: is not a run folder and was not removed")
    hidden = folder.with_name(f".removing-{folder.name}")
    try:
        folder.rename(hidden)
        (hidden / marker).unlink()
        shutil.rmtree(hidden)
    except OSError as error:
        raise EngineError(f"{folder}: cannot be removed ({error.strerror})") from None
