"""`trials.jsonl`: one finished trial per line, appended by one `write`, so that kill -9 loses nothing finished.

The trial store keeps a trial as the same JSON. The files that a student left stand in it by their path: text as text,
anything else as `{"base64": "…"}`.
"""

import base64
import binascii
import errno
import gc
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from upskill import disk
from upskill.core.nouns import Files, Trial
from upskill.core.nouns.skill import files_as_json
from upskill.core.skills.skill_files import file_errors, is_spending
from upskill.errors import EngineError

MOST_LINE_BYTES = 100_000_000
_TRIAL = TypeAdapter(Trial)
_FILES_KEY = b'"files":{'
"""Inside a text the quotes would be escaped, so this is found only where the key is."""
_FULL_DISK_HINT = "free some space; all finished answers are saved"
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""Not a disk: there is nothing to bring anything to."""


class UnreadableTrial(ValueError):
    """These bytes are no trial. Says why, in a few words."""


class NotText(ValueError):
    """The trial holds a lone surrogate, which has no UTF-8."""


def trial_json(trial: Trial, *, lossy: bool = False) -> bytes:
    """One line of JSON, without its end. A lone surrogate raises `NotText`, or becomes a question mark."""
    try:
        line = _TRIAL.dump_json(trial, exclude_none=True, exclude={"files", "kept_digest"})
    except PydanticSerializationError:
        if not lossy:
            raise NotText("a lone surrogate has no UTF-8") from None
        value = _TRIAL.dump_python(trial, mode="json", exclude_none=True, exclude={"files", "kept_digest"})
        line = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    if not trial.files:
        return line
    # A path comes out of the sandbox and may be no UTF-8 either: there the escaped form is kept.
    files = json.dumps(files_as_json(trial.files), separators=(",", ":"))
    return line[:-1] + b',"files":' + files.encode("ascii") + b"}"


def trial_from_json(line: bytes) -> Trial:
    """The trial of a line. Raises `UnreadableTrial`."""
    files: Files = {}
    try:
        if _FILES_KEY in line:
            value = json.loads(line)
            files = {str(path): _read(data) for path, data in value.pop("files").items()}
            line = json.dumps(value).encode("ascii")
        trial = _TRIAL.validate_json(line)
    except ValidationError as error:
        raise UnreadableTrial(error.errors()[0]["msg"]) from None
    except (ValueError, AttributeError, RecursionError) as error:
        raise UnreadableTrial(str(error)) from None
    usage = trial.usage
    if not is_spending(trial.calls, trial.lost, usage.input_tokens, usage.output_tokens, usage.cost):
        raise UnreadableTrial("its cost is negative")
    return replace(trial, files=files) if files else trial


def _read(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, dict) and isinstance(encoded := value.get("base64"), str):
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error:
            pass
    raise ValueError("a file is neither text nor base64")


@contextmanager
def collector_paused() -> Iterator[None]:
    """The garbage collector looks at every living object again and again; while many are made and none dies, that is
    most of the time spent."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class TrialLog:
    """The trials of a run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> "TrialWriter":
        """Open for appending; use it in a `with` block."""
        return TrialWriter(self.path)

    def load(self) -> list[Trial]:
        """Every trial, without its answer and files, so that memory does not grow with what the students left."""
        with collector_paused():
            return [emptied(trial) for trial in self.read()]

    def read(self) -> Iterator[Trial]:
        """The trials in the order they finished, one at a time.

        An unterminated last line is what a kill leaves behind and is dropped; damage anywhere else raises.
        """
        with suppress(FileNotFoundError), file_errors(self.path), disk.opened(self.path) as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES + 1), b""), 1):
                if len(line) > MOST_LINE_BYTES:
                    raise EngineError(
                        f"{self.path}: line {number} is larger than {MOST_LINE_BYTES // 1_000_000} MB",
                        hint="this line was not written by a run",
                    )
                if not line.endswith(b"\n"):
                    return
                try:
                    trial = trial_from_json(line)
                except UnreadableTrial as error:
                    raise EngineError(
                        f"{self.path}: line {number} is damaged: {error}",
                        hint="the lines before it are intact; remove the damaged one to read the rest",
                    ) from None
                yield trial


def emptied(trial: Trial) -> Trial:
    """Without what the student left. For a trial that was just read and that nobody else has seen: it is emptied in
    place, because copies of 100,000 would cost seconds."""
    object.__setattr__(trial, "kept_digest", trial.answer_digest)
    object.__setattr__(trial, "answer", "")
    object.__setattr__(trial, "earlier", None)
    object.__setattr__(trial, "files", {})
    object.__setattr__(trial, "trajectory", None)
    return trial


class TrialWriter:
    """Appends trials. `append` returns when the kernel has the line; a thread brings it to the disk."""

    def __init__(self, path: Path, *, sync: Callable[[int], None] = os.fsync) -> None:
        self._path = path
        self._bring_to_disk = sync
        try:
            with file_errors(path, "opened"):
                self._file = disk.for_appending(path)
                with suppress(OSError):  # a file system without locks: then only the quiet hour speaks for the run
                    disk.lock(self._file, wait=False, shared=True)
                disk.drop_unterminated(self._file)
        except FileNotFoundError as error:
            raise EngineError(f"{path}: cannot be opened ({error.strerror})") from error
        self._written = threading.Event()
        self._closed = False
        self._sync_error: OSError | None = None
        # fsync takes milliseconds and would stall every call in flight if it ran on the event loop.
        self._syncer = threading.Thread(target=self._sync, name="trial-log-sync", daemon=True)
        self._syncer.start()

    def append(self, trial: Trial) -> None:
        """Write one trial. A disk that takes only part of it is an error, and the part is taken back."""
        if self._closed:
            raise EngineError(f"{self._path}: was closed already")
        self._require_synced()
        # A server can send a lone surrogate, which has no UTF-8: it becomes a question mark.
        line = trial_json(trial, lossy=True) + b"\n"
        try:
            whole = disk.append(self._file, line, sync=False)
        except OSError as error:
            raise EngineError(f"{self._path}: cannot be written ({error.strerror})", hint=_FULL_DISK_HINT) from error
        if not whole:
            raise EngineError(f"{self._path}: the disk is full", hint=_FULL_DISK_HINT)
        self._written.set()

    def _sync(self) -> None:
        while True:
            self._written.wait()
            self._written.clear()
            # Looked at before the sync: what was written before closing is then certainly in it.
            closing = self._closed
            try:
                self._bring_to_disk(self._file.fileno())
            except OSError as error:
                if error.errno not in _CANNOT_SYNC:
                    self._sync_error = error
                return
            if closing:
                return

    def _require_synced(self) -> None:
        if self._sync_error is not None:
            raise EngineError(
                f"{self._path}: cannot be written to disk ({self._sync_error.strerror})",
                hint="the last answers may be lost if the machine stops now",
            ) from self._sync_error

    def close(self) -> None:
        """Bring everything to the disk and let go of the file. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        self._written.set()
        self._syncer.join()
        self._file.close()
        self._require_synced()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
