"""Answers of a teacher that were bought by a command without a run folder: kept beside the trial store, for a while.

What is killed before it could save anything finds them when it is typed again. Whoever has saved what they were for, or
cannot use them, drops them. It is a cache: where it cannot be had, everything works, and a kill costs its calls.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from upskill.domain import digest_of
from upskill.errors import EngineError
from upskill.storage.journal import Journal
from upskill.storage.trial_store import default_store_path

if sys.platform != "win32":
    import fcntl

FOLDER = "teacher"


class KeptAnswers:
    """A journal, and whether it stays when the block ends."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.stays = True

    def drop(self) -> None:
        """They are of no use to anybody any more."""
        self.stays = False


@contextmanager
def kept_answers(purpose: object, *, age_limit: timedelta | None) -> Iterator[KeptAnswers]:
    """The answers for a purpose, any value that JSON can hold. Without an age limit nothing outlives the block.

    Two processes with the same purpose do not share: the second has answers of its own, which do not outlive it.
    """
    path = default_store_path().parent / FOLDER / f"{digest_of(purpose)}.jsonl"
    held = None if age_limit is None else _hold(path, age_limit)
    if held is None:
        with tempfile.TemporaryDirectory(prefix="upskill-") as scratch:
            yield KeptAnswers(Journal(Path(scratch) / path.name))
        return
    kept: KeptAnswers | None = None
    try:
        kept = KeptAnswers(_read(path))
        yield kept
    finally:
        os.close(held)
        if kept is not None and not (kept.stays and kept.journal.all()):
            path.unlink(missing_ok=True)


def _hold(path: Path, age_limit: timedelta) -> int | None:
    """The file, made where it is not there, for this process alone; `None` where that cannot be had."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _forget_old(path.parent, age_limit)
        # What was asked and answered is in it: for its owner only.
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return None
    return file


def _forget_old(folder: Path, age_limit: timedelta) -> None:
    oldest = time.time() - age_limit.total_seconds()
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _read(path: Path) -> Journal:
    """What is damaged is bought again."""
    try:
        return Journal(path)
    except EngineError:
        os.truncate(path, 0)
        return Journal(path)
