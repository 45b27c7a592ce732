"""The SQLite file of a trial store: its format, how it is opened, and what a row holds. Knows nothing about who asks.

`synchronous` is NORMAL in WAL mode: what is committed survives kill -9; the loss of power may take the last commits,
and does not damage the file.
"""

import contextlib
import sqlite3
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from upskill.core.nouns import Scored, Trial
from upskill.core.runs.trial_log import NotText, UnreadableTrial, trial_from_json, trial_json

STORE_FORMAT = 1
"""Kept as the file's `user_version`. Other tables are another number."""
APPLICATION = 0x7570736B
"""`upsk`, kept as the file's `application_id`: tells our files from a stranger's."""
BUSY_SECONDS = 30.0
_LEAST_BYTES = 512
State = Literal["ours", "empty", "other", "foreign", "damaged"]
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TABLES = (
    "CREATE TABLE losses (id TEXT NOT NULL, fingerprint TEXT NOT NULL, lost INTEGER NOT NULL,"
    " expires_at INTEGER NOT NULL, PRIMARY KEY (id, fingerprint))",  # lost answers by trial, scored or not
    "CREATE TABLE trials (id TEXT PRIMARY KEY, fingerprint TEXT, stored_at INTEGER NOT NULL,"
    " expires_at INTEGER NOT NULL, checksum INTEGER NOT NULL, trial BLOB NOT NULL)",
    "CREATE INDEX trials_by_end ON trials (expires_at)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {STORE_FORMAT}",
)
COLUMNS = "id, fingerprint, stored_at, checksum, trial"
FAILURES = (sqlite3.Error, UnicodeDecodeError)
"""What a statement may raise. A spoilt file can spoil the very message that says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTrial:
    """A cached answer with the names, the case and the grade of the run that asked for it."""

    trial: Trial
    stored_at: datetime


def connect(path: Path) -> sqlite3.Connection:
    """A connection that may change threads: its user sees to it that one thread uses it at a time."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")  # a damaged text is no exception
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")  # the engine moves the folder of temporary files
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(path: Path) -> State:
    """Make an empty file a store, and say what the file is. A file that is not ours is only looked at."""
    if 0 < path.stat().st_size < _LEAST_BYTES:
        return "damaged"  # SQLite would take it for empty and write over it
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with contextlib.closing(connect(path)) as connection:
                return _prepare(connection)
        except FAILURES as error:
            if is_damage(error):
                return "damaged"
            # A file that others are turning into a store says "locked" at once, whatever the timeout.
            if not is_busy(error) or time.monotonic() > until:
                raise
        time.sleep(0.02)


def _prepare(connection: sqlite3.Connection) -> State:
    with transaction(connection, reading=True):
        state = _look(connection)
    if state not in ("ours", "empty"):
        return state
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    with transaction(connection):  # also where nothing is to be made: it shows that the file can be written
        state = _look(connection)
        if state == "empty":
            for statement in _TABLES:
                connection.execute(statement)
            state = "ours"
    return state


def _look(connection: sqlite3.Connection) -> State:
    """To be asked inside a transaction: between two of these questions another process may make the store."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not application and not version and not tables:
        return "empty"
    if application != APPLICATION:
        return "foreign"
    if version != STORE_FORMAT:
        return "other"
    return "ours" if {"trials", "losses"} <= tables else "damaged"


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, *, reading: bool = False) -> Iterator[None]:
    """All of it or nothing; the only one that writes, or, for reading, all as of one moment."""
    connection.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether the file itself is spoilt, and not only out of reach."""
    return isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGE


def is_busy(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether another connection holds the file just now."""
    return _code(error) == sqlite3.SQLITE_BUSY


def _code(error: sqlite3.Error | UnicodeDecodeError) -> int:
    """The kind of an SQLite error, without its finer shades; 0 for one of the module's own."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def row_of(trial: Trial, *, fingerprint: str | None, stored_at: int) -> tuple[str, str | None, int, int, bytes] | None:
    """The values of `COLUMNS`. `None` for a lone surrogate: what came back would not be what was measured."""
    try:
        data = trial_json(trial)
    except NotText:
        return None
    return trial.id, fingerprint, stored_at, checksum_of(trial.id, fingerprint, stored_at, data), data


def trial_of(row: tuple[object, ...]) -> StoredTrial | None:
    """The trial of a row; `None` where the row is damaged in any way."""
    trial_id, fingerprint, stored_at, checksum, data = row
    if not (isinstance(trial_id, str) and isinstance(stored_at, int) and isinstance(data, bytes)):
        return None
    # SQLite does not notice a flipped bit in an answer, and a wrong answer would be a wrong number.
    if checksum != checksum_of(trial_id, fingerprint, stored_at, data):
        return None
    try:
        trial = trial_from_json(data)
    except UnreadableTrial:
        return None
    if trial.id != trial_id or not isinstance(trial.outcome, Scored):
        return None
    return StoredTrial(trial=trial, stored_at=_EPOCH + timedelta(microseconds=stored_at))


def checksum_of(trial_id: str, fingerprint: object, stored_at: int, data: bytes) -> int:
    """Over everything that decides whether a row is used."""
    return zlib.crc32(data, zlib.crc32(f"{trial_id}\0{fingerprint}\0{stored_at}\0".encode("utf-8", "replace")))


def microseconds(moment: datetime) -> int:
    """A moment as the file spells it: since 1970, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
