"""Reads recorded work: one file, a folder of them, what is piped in, or the newest session of a folder."""

import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from upskill import disk
from upskill.core.nouns.text import count, size_words
from upskill.core.progress import SILENT, Progress
from upskill.errors import UpskillError, UsageError
from upskill.redaction import redactor_from
from upskill.traces.digest import DEFAULT_BUDGET, SMALLEST_BUDGET, Digester
from upskill.traces.readers import TEXT, Reading, cleaned_lines, detect, read_traces, recordings_below
from upskill.traces.recording import Recording
from upskill.traces.sessions import AGENTS, Session, agent_named, export_opencode, find_sessions
from upskill.traces.trace import TraceSource, TraceSummary

MOST_FILES = 5_000
_RECENT_SECONDS = 60
_TRIED = 20
_LARGE = 1_000_000
"""Bytes of a file that takes a person's time, and is named before it is read."""
_CHUNK = 2**20
_MOST_PIPED = 4_000_000_000


def read_trace(
    *asked: str,
    budget: int = DEFAULT_BUDGET,
    folder: Path,
    environment: Mapping[str, str],
    now: float,
    progress: Progress = SILENT,
    piped: BinaryIO | None = None,
) -> TraceSource:
    """What `asked` names, read, redacted and digested as one source: a lesson that several of them hold is kept once.

    Each is a path, `last`, `last:AGENT`, or `-` for what is piped in. Raises `UsageError` where there is nothing to
    read.
    """
    if budget < SMALLEST_BUDGET:
        raise UsageError(
            f"a budget of {budget} tokens is too small for a digest", hint=f"give at least {SMALLEST_BUDGET}"
        )
    source = _Source(budget=budget, folder=folder, environment=environment, now=now, progress=progress, piped=piped)
    return source.finished(", ".join([source.read(one) for one in asked]))


class _Source:
    """One source of lessons while it is found and read. Holds no trace, only what was found in each."""

    def __init__(
        self,
        *,
        budget: int,
        folder: Path,
        environment: Mapping[str, str],
        now: float,
        progress: Progress,
        piped: BinaryIO | None,
    ) -> None:
        self._folder = folder
        self._environment = environment
        self._now = now
        self._progress = progress
        self._piped = piped
        self._redactor = redactor_from(environment)
        # Findings are redacted again: joined texts could show a secret that their pieces did not.
        self._again = redactor_from(environment)
        self._digesting = Digester(budget=budget, clean=self._again.clean)
        self.traces: list[TraceSummary] = []
        self.notes: list[str] = []
        self.refused: list[str] = []
        """Files of a folder that could not be read, with the reasons."""
        self._bytes = 0
        self._bad_lines = 0

    def read(self, asked: str) -> str:
        """Read one; returns where it was."""
        if asked == "last" or asked.startswith("last:"):
            return self._read_last(asked)
        if asked == "-":
            with _spooled(self._piped) as path:
                self.read_file(path, name="stdin", called="stdin")
            return "stdin"
        path = Path(asked).expanduser()
        mode = _mode(path, asked)
        if stat.S_ISDIR(mode):
            _read_folder(path, self)
        elif stat.S_ISFIFO(mode):
            # What a shell makes of `<(command)`.
            with disk.pipe(path) as pipe, _spooled(pipe) as spooled:
                self.read_file(spooled, name=path.name, called=asked)
        else:
            self.read_file(disk.named(path), name=path.name)
        return path.as_posix()

    def _read_last(self, asked: str) -> str:
        if (self._folder / asked).exists():
            self._progress.note(f"there is also a file named {asked} here; to read it, type ./{asked}")
        agent = agent_named(asked.removeprefix("last:")) if asked != "last" else None
        sessions, looked = find_sessions(self._folder, environment=self._environment, agent=agent)
        refused: list[str] = []
        for session in sessions[:_TRIED]:
            try:
                return self._read_session(session)
            except UsageError as error:
                # The newest session can still be empty.
                self._progress.note(f"skipped: {error.message}")
                refused.append(error.message)
        raise UsageError(
            f"{asked}: no session was recorded in this folder ({self._folder})",
            hint="name the file of the session; it may have been recorded in another folder",
            problems=[*refused, *(f"searched {where}" for where in looked)],
        )

    def _read_session(self, session: Session) -> str:
        if session.id is not None:
            self._progress.note(f"newest session: {session.id} of opencode, as `opencode export` prints it")
            exported = export_opencode(session, folder=self._folder, environment=self._environment)
            with tempfile.TemporaryDirectory(prefix="upskill-") as place:
                path = Path(place) / f"{session.id}.json"
                disk.write_new(path, exported, mode=0o600)
                self.read_file(path, name=session.id, called=f"opencode session {session.id}")
            return session.id
        growing = ", still being written" if self._now - session.written_at < _RECENT_SECONDS else ""
        self._progress.note(f"newest session: {session.path} ({AGENTS[session.agent]}{growing})")
        self.read_file(session.path, name=session.path.name)
        return session.path.as_posix()

    def read_file(self, path: Path, *, name: str, called: str | None = None) -> None:
        """Read all traces of one file. `called` names it in errors where its path means nothing to a person."""
        if path.is_file() and (size := path.stat().st_size) >= _LARGE:
            self._progress.step(f"reading {called or name}, {size_words(size)}", 0, None)
        try:
            reading = read_traces(path, clean=self._redactor.clean)
            if reading.recorder == TEXT:
                self._add_text(Recording(path, clean=self._redactor.clean), name=name)
            else:
                self._add_traces(reading, path, name=name)
        except UsageError as error:
            if called is None:
                raise
            # A temporary file of ours: its name says nothing to a person.
            raise UsageError(error.message.replace(str(path), called), hint=error.hint) from error

    def _add_text(self, recording: Recording, *, name: str) -> None:
        self.traces.append(self._digesting.add_text(cleaned_lines(recording), name=name))
        self._bytes += recording.size

    def _add_traces(self, reading: Reading, path: Path, *, name: str) -> None:
        for number, trace in enumerate(reading.traces, start=1):
            each = name if len(reading.traces) == 1 else f"{name}#{number}"
            self.traces.append(self._digesting.add(trace, name=each))
        # A log inside an archive is not counted while it is read.
        self._bytes += reading.size or path.stat().st_size
        self.notes.extend(reading.notes)
        self._bad_lines += reading.bad_lines

    def finished(self, place: str) -> TraceSource:
        """The source as a value."""
        return TraceSource(
            place=place,
            traces=tuple(self.traces),
            digest=self._digesting.digest(),
            bytes=self._bytes,
            bad_lines=self._bad_lines,
            redactions=_summed(self._redactor.found.by_kind, self._again.found.by_kind),
            notes=tuple(dict.fromkeys(self.notes)),
            refused=tuple(self.refused),
        )


def _summed(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {kind: first.get(kind, 0) + second.get(kind, 0) for kind in sorted({*first, *second})}


def _mode(path: Path, asked: str) -> int:
    """The mode of a file, folder or pipe. Raises for anything else."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise UsageError(
            f"{asked}: no such file or folder",
            hint="name a session, a folder of sessions, or `last` for the newest session of this folder",
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{asked}: cannot be read: {reason}", hint="check the path and its permissions") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode)):
        raise UsageError(f"{asked}: is neither a file nor a folder", hint="name a session, or pipe it in and pass -")
    return mode


def _read_folder(folder: Path, source: _Source) -> None:
    texts = found = 0
    for path in recordings_below(folder):
        found += 1
        if found > MOST_FILES:
            source.notes.append(f"{folder.as_posix()}: more than {MOST_FILES:,} files; the rest was not read")
            break
        name = path.relative_to(folder).as_posix()
        try:
            if _is_text(path):
                texts += 1
                continue
            source.read_file(path, name=name)
        except UpskillError as error:
            source.refused.append(f"{name}: {error.message.removeprefix(f'{path}: ')}")
    if texts:
        source.notes.append(f"{count(texts, 'plain text file')} not read; name a text file itself to read it")
    if not source.traces:
        raise UsageError(
            f"{folder.as_posix()}: contains no session",
            hint="name a file that an agent recorded, or `last` for the newest session of this folder",
            problems=[
                *source.refused[:10],
                *([f"and {len(source.refused) - 10} more"] if len(source.refused) > 10 else []),
            ],
        )


def _is_text(path: Path) -> bool:
    """Whether a file of a folder is plain text, which is read only if it is named itself."""
    return path.suffix in {".md", ".txt"} and detect(Recording(path)) == TEXT


@contextmanager
def _spooled(piped: BinaryIO | None) -> Iterator[Path]:
    """What is piped in, as a temporary private file: readers read more than once."""
    if piped is None:
        raise UsageError("-: nothing was piped in", hint="pipe a session in, or name its path")
    with tempfile.TemporaryDirectory(prefix="upskill-") as place:
        path = Path(place) / "stdin"
        size = 0
        with disk.for_appending(path) as file:
            while chunk := piped.read(_CHUNK):
                size += len(chunk)
                if size > _MOST_PIPED:
                    raise UsageError("-: more than 4 GB were piped in", hint="save it to a file and name the file")
                file.write(chunk)
        yield path
