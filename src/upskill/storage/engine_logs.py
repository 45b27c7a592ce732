"""The engine's logs: zip files of JSON, written by the engine while it runs. Searched by the names of their members,
and cleaned once the engine has ended of keys in what the user wrote; answers reach the engine without them."""

import os
import re
import secrets
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from upskill.domain.trial import ARMS
from upskill.errors import EngineError
from upskill.storage.plain_files import open_plain

_LOG = re.compile(r"-(\d+)_[^_]+\.eval$")
_MEMBER = re.compile(rf"samples/(\d{{6,}}-(.*)-({'|'.join(ARMS)})-(\d+))_epoch_\d+\.json$")
MOST_MEMBER_BYTES = 500_000_000
"""Unpacked: a few bytes of a stranger's log could become all memory."""
_Key = tuple[int, str, str, int]


class LogSamples:
    """The samples of a run's logs, by student, case, arm and repeat; of several tries the last."""

    def __init__(self, folder: Path, case_ids: Sequence[str]) -> None:
        """A log that cannot be opened holds nothing: an engine that was killed leaves one without its end."""
        names = [_member_name(case_id) for case_id in case_ids]
        self._ambiguous = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
        self._found: dict[_Key, tuple[str, str]] = {}
        for path in sorted(folder.glob("*.eval")):
            log = _LOG.search(path.name)
            if log is None:
                continue
            try:
                with open_log(path) as opened:
                    members = opened.namelist()
            except (OSError, EngineError, zipfile.BadZipFile):
                continue
            for member in sorted(members):
                sample = _MEMBER.match(member)
                if sample is not None:
                    key = (int(log[1]), sample[2], sample[3], int(sample[4]))
                    self._found[key] = (path.name, sample[1])

    def find(self, student: int, case_id: str, arm: str, repeat: int) -> tuple[str, str] | None:
        """The log and the name in it; `None` where there is none, or where it cannot be told. Students from 1."""
        name = _member_name(case_id)
        return None if name in self._ambiguous else self._found.get((student, name, arm, repeat))


@contextmanager
def open_log(path: Path) -> Iterator[zipfile.ZipFile]:
    """A log whose members can be read. Raises what a zip file raises, and `EngineError` for a link or a pipe."""
    with suppress(ImportError):
        # Logs are packed with zstd. Older interpreters learn it from this package, which comes with the engine; a run
        # that had nothing left to do has not loaded that.
        import_module("zipfile_zstd")
    with os.fdopen(open_plain(path), "rb") as file, zipfile.ZipFile(file) as log:
        yield log


def _member_name(case_id: str) -> str:
    """As the engine is told to name it."""
    return re.sub(r"[^\w.-]+", "_", case_id)[:60]


def clean_logs(folder: Path, clean: Callable[[str], str]) -> tuple[str, ...]:
    """Rewrite the logs in which `clean` finds something, each whole or not at all; a note for each it cannot read.

    An engine that was killed leaves a log without its end. That is no reason to lose a run.
    """
    notes: list[str] = []
    for path in sorted(folder.glob("*.eval")):
        try:
            _clean(path, clean)
        except (OSError, EngineError, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError):
            notes.append(
                f"{path.name}: incomplete, so it was not searched for your keys; remove it before you share the run"
            )
    return tuple(notes)


def _clean(path: Path, clean: Callable[[str], str]) -> None:
    with open_log(path) as log:
        members = log.infolist()
        if any(member.file_size > MOST_MEMBER_BYTES for member in members):
            raise zipfile.BadZipFile("the log is too large")
        if all(_text(log, member) == clean(_text(log, member)) for member in members):
            return
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            own = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(own, "w+b") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as cleaned:
                    for member in members:
                        cleaned.writestr(member, clean(_text(log, member)).encode("utf-8", "surrogatepass"))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def _text(log: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    return log.read(member).decode("utf-8", "surrogatepass")
