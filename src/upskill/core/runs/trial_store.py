"""The trial store of a user: one SQLite file, shared by every process of that user.

It is a cache of scored answers, with the number of answers that were lost before them: whatever goes wrong with it
costs calls, never a run and never a number. It knows identities, and nothing about plans, checks or what a fingerprint
is made of.
"""

import contextlib
import os
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import IO, Self, TypeVar

from upskill import disk
from upskill.core.nouns import Scored, Trial, digest_of
from upskill.core.nouns.text import on_one_line
from upskill.core.runs.sqlite_file import (
    BUSY_SECONDS,
    COLUMNS,
    FAILURES,
    StoredTrial,
    connect,
    is_busy,
    is_damage,
    microseconds,
    prepare,
    row_of,
    transaction,
    trial_of,
)
from upskill.errors import EngineError

if sys.platform != "win32":
    import fcntl


KEPT = timedelta(days=90)
"""How long answers are kept. For how long one may be used in a new evaluation, whoever asks decides."""
LOSSES_KEPT = timedelta(days=7)
"""How long lost answers are counted against a trial that is asked for again."""
MOST_BYTES = 5_000_000_000
_CENTURY = timedelta(days=36_500)
ONE_TIME = timedelta(hours=1)
"""Answers so close to each other came from one model, also where the server does not say which it serves."""
_AHEAD = timedelta(days=1)
"""A trial stored later than this from now was stored under a wrong clock, and would never grow old."""
_MOMENT_SECONDS = 2.0
"""How long `keep`, on the engine's event loop, waits for another process that writes: a write takes a few ms."""
_PAUSE_SECONDS = 0.1
"""After a wait in vain nobody waits again for so long, and twice as long after each further one in a row; what was
handed in meanwhile is written together."""
_LONGEST_PAUSE_SECONDS = 20.0
_MOST_WAITING = 20_000
_PRUNE_SECONDS = 1.0
_FIND = f"SELECT {COLUMNS} FROM trials WHERE id = ? AND fingerprint IS ? AND stored_at > ? AND stored_at < ?"
_KEEP = f"INSERT OR REPLACE INTO trials ({COLUMNS}, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
_LOST = "SELECT lost FROM losses WHERE id = ? AND fingerprint = ? AND expires_at > ?"
_LOSE = (
    "INSERT INTO losses (id, fingerprint, lost, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT (id, fingerprint)"
    " DO UPDATE SET lost = lost + excluded.lost, expires_at = excluded.expires_at"
)
_PRUNE = "DELETE FROM trials WHERE rowid IN (SELECT rowid FROM trials {which} ORDER BY expires_at LIMIT 2000)"
_NOTHING = "no answers are reused or cached"
_HELD = "is locked by another process; some answers were not cached"
_Waiting = tuple[Trial, str | None, datetime, timedelta]
"""A trial, the digest of its fingerprint, when it was handed in, and how old an earlier one may be to stay."""
T = TypeVar("T")
_PLACES = 2**60


def default_store_path() -> Path:
    """The default path of the cache. Call it before a run, because the engine gets another cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("upskill", appauthor=False) / "trials.sqlite3"


class SqliteStore:
    """The answer cache at `path`, created if it does not exist. Use it in a `with` block, from any thread.

    Opening never fails: without a usable file nothing is recalled or kept, and `notes` says why. `keep` commits, and
    committed answers survive kill -9. Only while another process holds the file for longer than any write takes,
    answers wait for a later `keep` or the end. `recall` sees the commits of all processes; `flush` commits.
    The engine's event loop calls it: each method returns soon, and raises nothing for what goes wrong with the file.
    """

    def __init__(
        self,
        path: Path,
        *,
        age_limit: timedelta = KEPT,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = path
        self.age_limit = min(age_limit, _CENTURY)
        self._clock = clock
        self._notes: list[str] = []
        self._closed = False
        self._damaged = False
        self._file_number = 0
        self._lock = threading.Lock()
        """Guards what follows."""
        self._waiting: list[_Waiting] = []
        self._to_release: list[str] = []
        self._not_before = 0.0
        self._pause = _PAUSE_SECONDS
        self._patience = BUSY_SECONDS
        self._reservations = Reservations(path.with_name(f"{path.name}-reserved"))
        self._connection = self._open()
        self._keeping = self._connection is not None
        self._try(lambda file: _prune(file, now=microseconds(clock()), most_bytes=most_bytes), patience=_PRUNE_SECONDS)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the report; complete once the cache is closed."""
        return tuple(self._notes)

    def recall(
        self, trial_id: str, *, fingerprint: str | None, newest_after: datetime | None = None
    ) -> StoredTrial | None:
        """The cached answer of this identity, if it is new enough and the endpoint serves the same model.

        Without `newest_after` the age limit of the cache applies. An unknown fingerprint equals only an unknown one.
        """
        self._require_open()
        now = self._clock()
        after, before = microseconds(newest_after or now - self.age_limit), microseconds(now + _AHEAD)
        wanted = trial_id, _hidden(fingerprint), after, before
        with self._lock:
            return None if self._damaged else self._try(lambda file: _find(file, *wanted), patience=BUSY_SECONDS)

    def named_like(self, prefix: str) -> tuple[Trial, ...]:
        """The cached answers whose identity begins so."""
        self._require_open()
        with self._lock:
            rows = None if self._damaged else self._try(lambda file: _like(file, prefix), patience=BUSY_SECONDS)
        return rows or ()

    def keep(self, trial: Trial, *, fingerprint: str | None, stays: timedelta | None = None) -> None:
        """Cache a scored answer; for an errored one, only count its lost answers. Commits, unless the file is held.

        An earlier answer stays, unless it is too old (older than `stays`, where that is given), damaged, or came from
        another model.
        """
        self._require_open()
        if not isinstance(trial.outcome, Scored) and not trial.lost_answers:
            return
        with self._lock:
            if not self._keeping:
                return
            if len(self._waiting) >= _MOST_WAITING:
                self._note(_HELD)
                return
            self._waiting.append((trial, _hidden(fingerprint), self._clock(), stays or self.age_limit))
            if time.monotonic() >= self._not_before:
                self._write(patience=_MOMENT_SECONDS)

    def lost_answers(self, trial_id: str, *, fingerprint: str | None) -> int:
        """Answers lost under this identity, including those not yet written."""
        self._require_open()
        served, now = _hidden(fingerprint), microseconds(self._clock())
        with self._lock:
            row = self._try(lambda file: _lost(file, trial_id, served, now), patience=BUSY_SECONDS)
            waiting = (trial for trial, by, *_ in self._waiting if trial.id == trial_id and by == served)
            return (row or 0) + sum(trial.lost_answers for trial in waiting)

    def reserve(self, trial_id: str, *, fingerprint: str | None) -> bool:
        """Whether this process may ask for an answer now; false while another process is asking for the same one.

        Without a usable file it is always true.
        """
        with self._lock:
            return not self._keeping or self._reservations.take(f"{trial_id} {_hidden(fingerprint)}")

    def release(self, trial_id: str, *, fingerprint: str | None) -> None:
        """End a reservation, once the answer is written."""
        with self._lock:
            self._to_release.append(f"{trial_id} {_hidden(fingerprint)}")
            if not self._waiting:
                self._release_all()

    def _release_all(self) -> None:
        for trial in self._to_release:
            self._reservations.release(trial)
        self._to_release.clear()

    def flush(self) -> None:
        """Return when everything kept so far is committed, or is known to be impossible to keep."""
        with self._lock:
            self._write(patience=BUSY_SECONDS)

    def close(self) -> None:
        """Commit what is waiting and close the file. Closing twice is harmless."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._write(patience=BUSY_SECONDS)
            if self._waiting and self._keeping:
                self._note(_HELD)
            self._reservations.close()
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        if self._damaged:
            self._move_aside("was damaged")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Opening

    def _open(self) -> sqlite3.Connection | None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            for _ in range(3):
                # Answers may not be for everyone; SQLite gives the files beside it the same mode.
                with disk.for_appending(disk.named(self.path)) as file:
                    self._file_number = os.fstat(file.fileno()).st_ino
                match prepare(self.path):
                    case "ours":
                        return connect(self.path)
                    case "other":
                        self._note(f"was written by another version of upskill; {_NOTHING}")
                        return None
                    case "foreign":
                        self._move_aside("was not a cache of upskill")
                    case _:
                        self._move_aside("was damaged")
            self._note(f"cannot be created; {_NOTHING}")
        except OSError as error:
            self._note(f"cannot be used ({error.strerror}); {_NOTHING}")
        except FAILURES as error:
            self._note(f"cannot be used ({error}); {_NOTHING}")
        return None

    def _move_aside(self, why: str) -> None:
        aside = f"{self.path.name}.aside-{secrets.token_hex(4)}"
        try:
            if self.path.stat().st_ino != self._file_number:
                return  # another process was faster, and this is already the new one
            disk.move(self.path, self.path.with_name(aside))
            for end in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    disk.move(self.path.with_name(self.path.name + end), self.path.with_name(aside + end))
        except FileNotFoundError:
            return
        except OSError as error:
            self._note(f"{why} and cannot be renamed ({error.strerror})")
            return
        self._note(f"{why}; it was renamed to {aside}, and a new one was created")

    def _note(self, text: str) -> None:
        note = on_one_line(f"cache {self.path}: {text}")
        if note not in self._notes:
            self._notes.append(note)

    def _require_open(self) -> None:
        if self._closed:
            raise EngineError(f"{self.path}: was closed already")

    # Writing, under the lock

    def _write(self, *, patience: float) -> None:
        if not self._waiting or not self._keeping:
            return

        def write(file: sqlite3.Connection) -> bool:
            with transaction(file):
                for trial, fingerprint, now, stays in self._waiting:
                    ends = microseconds(now + self.age_limit)
                    if trial.lost_answers:
                        until = microseconds(now + min(LOSSES_KEPT, self.age_limit))
                        file.execute(_LOSE, (trial.id, fingerprint or "", trial.lost_answers, until))
                    if not isinstance(trial.outcome, Scored):
                        continue
                    row = row_of(trial, fingerprint=fingerprint, stored_at=microseconds(now))
                    if row is not None and not _stays(file, *row[:3], stays):
                        file.execute(_KEEP, (*row, ends))
            return True

        if self._try(write, patience=patience):
            self._waiting.clear()
            self._release_all()
            self._pause = _PAUSE_SECONDS
        else:
            self._not_before = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)

    def _try(self, use: Callable[[sqlite3.Connection], T], *, patience: float) -> T | None:
        """What came of using the file; `None` where another process held it for too long, or it failed for good."""
        if self._connection is None:
            return None
        try:
            if patience != self._patience:
                self._connection.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")
                self._patience = patience
            return use(self._connection)
        except FAILURES as error:
            if is_damage(error):
                self._damaged, self._keeping = True, False
            elif not is_busy(error):
                self._keeping = False
                self._note(f"can no longer be used ({error}); no more answers are cached")
            return None


def _stays(file: sqlite3.Connection, trial_id: str, fingerprint: str | None, now: int, age: timedelta) -> bool:
    """Whether a trial of this identity is stored that is sound, young and of the same fingerprint."""
    moment = timedelta(microseconds=1)
    return _find(file, trial_id, fingerprint, now - age // moment, now + _AHEAD // moment) is not None


def _find(
    file: sqlite3.Connection, trial_id: str, fingerprint: str | None, after: int, before: int
) -> StoredTrial | None:
    """The sound trial of this identity and fingerprint that was stored between two moments."""
    row = file.execute(_FIND, (trial_id, fingerprint, after, before)).fetchone()
    return None if row is None else trial_of(row)


def _like(file: sqlite3.Connection, prefix: str) -> tuple[Trial, ...]:
    rows = file.execute(f"SELECT {COLUMNS} FROM trials WHERE id >= ? AND id < ?", (prefix, f"{prefix}~")).fetchall()
    return tuple(stored.trial for stored in map(trial_of, rows) if stored is not None)


def _lost(file: sqlite3.Connection, trial_id: str, fingerprint: str | None, now: int) -> int:
    row = file.execute(_LOST, (trial_id, fingerprint or "", now)).fetchone()
    return 0 if row is None else int(row[0])


def _prune(writer: sqlite3.Connection, *, now: int, most_bytes: int) -> None:
    """Delete what has expired, then what expires first while the file is too large; in short transactions."""
    until = time.monotonic() + _PRUNE_SECONDS
    while time.monotonic() < until and _delete(writer, "WHERE expires_at <= ?", now):
        pass
    if writer.execute("SELECT 1 FROM losses WHERE expires_at <= ? LIMIT 1", (now,)).fetchone() is not None:
        with transaction(writer):
            writer.execute("DELETE FROM losses WHERE expires_at <= ?", (now,))
    while time.monotonic() < until and _used_bytes(writer) > most_bytes and _delete(writer, ""):
        pass
    # Hands pages back to the system, at most 8 MB each time: a store that is opened to be closed is closed soon.
    # As a script, because `execute` would end after the first page.
    writer.executescript("PRAGMA incremental_vacuum(2000)")


def _delete(writer: sqlite3.Connection, which: str, *values: int) -> int:
    if writer.execute(f"SELECT 1 FROM trials {which} LIMIT 1", values).fetchone() is None:
        return 0
    with transaction(writer):
        return writer.execute(_PRUNE.format(which=which), values).rowcount


def _used_bytes(writer: sqlite3.Connection) -> int:
    pages, free, size = (
        int(writer.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


@lru_cache(maxsize=64)
def _hidden(fingerprint: str | None) -> str | None:
    """Only the digest is stored: whatever a fingerprint is made of cannot be read back."""
    return None if fingerprint is None else digest_of(fingerprint)


class Reservations:
    """Which trials are being bought just now, by any process of this machine: a lock for each, in a file.

    The system itself lets go of the locks of a process that ends, however it ends, so nothing has to expire. Locks of
    one process do not stop that process. Where the system has no such locks, nothing is ever reserved. The file is
    made when the first trial is reserved, and stays empty.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def take(self, trial: str) -> bool:
        """Reserve a trial; false where another process is buying it. Where nothing can be locked, all is free."""
        if sys.platform == "win32":
            return True
        try:
            if self._file is None:
                self._file = disk.for_appending(self._path)
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(trial))
        except (BlockingIOError, PermissionError):
            return self._file is None
        except OSError:
            return True
        return True

    def release(self, trial: str) -> None:
        """Let others have a trial. One that was not reserved is no error."""
        if sys.platform != "win32" and self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(trial))

    def close(self) -> None:
        """Let go of everything."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _place(trial: str) -> int:
    """The byte that stands for a trial. Two trials that share one wait for each other, which costs time only."""
    return int(digest_of(trial)[-15:], 16) % _PLACES
