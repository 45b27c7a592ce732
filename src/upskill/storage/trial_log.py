"""`trials.jsonl`: one finished trial per line, appended by one `write`, so that kill -9 loses nothing finished."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter, ValidationError

from upskill.domain import Trial
from upskill.errors import EngineError

_TRIAL = TypeAdapter(Trial)


class TrialLog:
    """The trials of a run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> "TrialWriter":
        """Open for appending; use it in a `with` block."""
        return TrialWriter(self.path)

    def read(self) -> Iterator[Trial]:
        """The trials in the order they finished, one at a time.

        An unterminated last line is what a kill leaves behind and is dropped; damage anywhere else raises.
        """
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    yield _TRIAL.validate_json(line)
                except ValidationError as error:
                    raise EngineError(
                        f"{self.path}: line {number} is damaged: {error.errors()[0]['msg']}",
                        hint="the lines before it are sound; remove the damaged one to read the rest",
                    ) from None


class TrialWriter:
    """Appends trials. `append` returns when the kernel has the line; a thread brings it to the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        self._written = threading.Event()
        self._closing = False
        # fsync takes milliseconds and would stall every call in flight if it ran on the event loop.
        self._syncer = threading.Thread(target=self._sync, name="trial-log-sync", daemon=True)
        self._syncer.start()

    def append(self, trial: Trial) -> None:
        """Write one trial. A disk that takes only part of it is an error, and the part is taken back."""
        line = _TRIAL.dump_json(trial, exclude_none=True) + b"\n"
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise EngineError(f"{self._path}: cannot be written: {error.strerror}") from error
        if written != len(line):
            os.ftruncate(self._file, before)
            raise EngineError(
                f"{self._path}: the disk is full", hint="free some space; everything finished so far is kept"
            )
        self._written.set()

    def _sync(self) -> None:
        while True:
            self._written.wait()
            self._written.clear()
            os.fsync(self._file)
            if self._closing:
                return

    def close(self) -> None:
        """Bring everything to the disk and let go of the file."""
        self._closing = True
        self._written.set()
        self._syncer.join()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
