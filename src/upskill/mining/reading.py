"""Reads many sessions: finds the files, shares them among processes, and keeps what each brought by its content.

What is kept has gone through the redactor. The same files bring the same sessions in the same order, however many
processes read them. Run as a module it is one of these processes: a file asked for on each line of its input, what it
brought on each line of its output.
"""

import hashlib
import json
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill import __version__, disk, processes
from upskill.core.progress import SILENT, Progress
from upskill.errors import UpskillError
from upskill.interruption import raise_if_interrupted
from upskill.mining.episodes import Episodes
from upskill.mining.moments import MinedSession
from upskill.redaction import redactor_from, secrets_in
from upskill.traces.claude_code import files_beside
from upskill.traces.readers import TEXT, read_traces, recordings_below
from upskill.traces.recording import LONGEST_LINE
from upskill.traces.sessions import sessions_of_all_folders
from upskill.traces.trace import Trace
from upskill.traces.work import with_subagents, work_of

EXTRACTION = 6
"""Part of the key of what is kept. Changes whenever the same recording brings other moments."""
_KEPT_SECONDS = 60 * 86_400
"""After which what was kept is removed."""
LONGEST_OUTPUT = 65_536
"""Characters of one text of a session that are read; a longer one is skipped and counted."""
MOST_FILES = 100_000
_LARGE = 24_000_000
"""Bytes of a file whose lines are looked at before it is read: a single document of this size takes gigabytes."""
_MOST_SECONDS = 600
"""For one file; a process that takes longer is ended."""
_WORTH_PROCESSES = 3_000_000
"""Bytes of sessions below which the start of processes takes longer than the reading."""
_CHUNK = 2**20

_SESSIONS = TypeAdapter(tuple[MinedSession, ...])


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionFile:
    """A file that may be a session; `name` tells it from others on every machine."""

    name: str
    path: Path
    written_at: float
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionsRead:
    """All sessions in the order in which they began, each once."""

    sessions: tuple[MinedSession, ...]
    paths: Mapping[str, Path]
    """The file of each session, by its name."""
    skipped: tuple[str, ...]
    """Files that were not read, with the reason."""
    files: int
    bytes: int
    copies: int
    """Sessions that were left out because another file has the same work."""
    cached: int


def files_below(folder: Path) -> tuple[list[SessionFile], list[str]]:
    """The files of a folder that may be sessions, in the order of their names, and those that were refused."""
    found: list[SessionFile] = []
    refused: list[str] = []
    for path in recordings_below(folder):
        name = path.relative_to(folder).as_posix()
        if disk.is_file(path):
            found.append(_file(name, path))
        else:
            refused.append(f"{name}: is a link, or no ordinary file")
    return sorted(found[:MOST_FILES], key=lambda file: file.name), refused


def files_of_agents(environment: Mapping[str, str]) -> tuple[list[SessionFile], list[str]]:
    """The sessions that coding agents keep on this machine, and where was looked."""
    found, looked = sessions_of_all_folders(environment=environment)
    files = []
    for session, name in found:
        with suppress(OSError):
            files.append(_file(name, session.path))
    return sorted(files, key=lambda file: file.name)[:MOST_FILES], looked


def _file(name: str, path: Path) -> SessionFile:
    found = path.stat()
    return SessionFile(name=name, path=path, written_at=found.st_mtime, size=found.st_size)


def read_sessions(
    files: Sequence[SessionFile],
    *,
    environment: Mapping[str, str],
    cache: Path | None,
    workers: int = 1,
    progress: Progress = SILENT,
) -> SessionsRead:
    """Read these files, or recall what they brought; a file that cannot be read is named and does no harm."""
    if cache is not None:
        _remove_expired(cache)
    total = sum(file.size for file in files)
    answers: dict[str, _Answer] = {}
    done = 0

    def arrived(file: SessionFile, answer: "_Answer") -> None:
        nonlocal done
        answers[file.name] = answer
        done += file.size
        progress.step(
            f"reading sessions, MB ({len(answers):,} of {len(files):,} files)", done // 1_000_000, total // 1_000_000
        )

    reader = _FileReader(environment, cache)
    waiting: list[SessionFile] = []
    for file in files:
        raise_if_interrupted()
        kept = reader.recalled(file.path)  # to recall here takes less than to send it from another process
        if kept is None:
            waiting.append(file)
        else:
            arrived(file, kept)
    if workers > 1 and sum(file.size for file in waiting) >= _WORTH_PROCESSES:
        _read_in_processes(waiting, workers, cache, arrived)
    else:
        for file in waiting:
            raise_if_interrupted()
            arrived(file, reader.read(file.path))
    return _joined(files, answers)


def _remove_expired(cache: Path) -> None:
    with suppress(OSError):
        for place in [*disk.below(cache, "*.json", depth=1)]:
            if time.time() - place.stat().st_mtime > _KEPT_SECONDS:
                disk.remove(place)


def _joined(files: Sequence[SessionFile], answers: Mapping[str, "_Answer"]) -> SessionsRead:
    sessions: list[MinedSession] = []
    paths: dict[str, Path] = {}
    skipped: list[str] = []
    for file in files:
        answer = answers[file.name]
        if answer.problem is not None:
            skipped.append(f"{file.name}: {answer.problem}")
        for number, session in enumerate(answer.sessions, 1):
            name = file.name if len(answer.sessions) == 1 else f"{file.name}#{number}"
            began = _named_day(file.name) if session.began is None else session.began
            sessions.append(replace(session, name=name, began=began))
            paths[name] = file.path
    sessions.sort(key=lambda session: (session.began is None, session.began or 0.0, session.name))
    first: dict[str, MinedSession] = {}
    for session in sessions:
        first.setdefault(session.fingerprint, session)
    return SessionsRead(
        sessions=tuple(_without_replays(list(first.values()))),
        paths=paths,
        skipped=tuple(skipped),
        files=len(files),
        bytes=sum(file.size for file in files),
        copies=len(sessions) - len(first),
        cached=sum(answer.cached for answer in answers.values()),
    )


_DAY = re.compile(r"(20\d\d)-(\d\d)-(\d\d)")


def _named_day(name: str) -> float | None:
    """The day in the name of a file, for recordings without times."""
    found = _DAY.search(name.rpartition("/")[2])
    try:
        return datetime(*map(int, found.groups()), tzinfo=UTC).timestamp() if found else None  # type: ignore[arg-type,misc]
    except ValueError:
        return None


def _without_replays(sessions: Sequence[MinedSession]) -> Iterator[MinedSession]:
    """Moments belong to the first session that has them: one that resumes or forks another repeats its records."""
    seen: set[tuple[float, str, str]] = set()
    for session in sessions:
        mine = []
        for moment in session.moments:
            mark = None if moment.at is None else (moment.at, moment.kind, moment.quote)
            if mark is None or mark not in seen:
                mine.append(moment)
        seen.update((moment.at, moment.kind, moment.quote) for moment in mine if moment.at is not None)
        yield session if len(mine) == len(session.moments) else replace(session, moments=tuple(mine))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    """What one file brought, or why it brought nothing."""

    sessions: tuple[MinedSession, ...] = ()
    problem: str | None = None
    cached: bool = False


class _FileReader:
    """Reads single files. Its redactor knows the keys of the environment; they are part of the key of what is kept."""

    def __init__(self, environment: Mapping[str, str], cache: Path | None) -> None:
        self._redactor = redactor_from(environment)
        self._cache = cache
        self._salt = repr((EXTRACTION, __version__, sorted(secrets_in(environment)))).encode("utf-8", "surrogateescape")
        self._long = 0

    def recalled(self, path: Path) -> _Answer | None:
        """What was kept of a file with this content; `None` where nothing was."""
        with suppress(OSError, ValidationError):
            place = self._place(self._key(path))
            if place is not None:
                return _Answer(sessions=_SESSIONS.validate_json(disk.read(place)), cached=True)
        return None

    def read(self, path: Path) -> _Answer:
        """The sessions of a file. Raises nothing for what is wrong with it."""
        try:
            key = self._key(path)
            if path.stat().st_size > _LARGE and _first_line_is_long(path):
                return _Answer(problem=f"one document of more than {LONGEST_LINE // 1_000_000} MB, skipped")
            self._long = 0
            reading = read_traces(path, clean=self._clean)
            if reading.recorder == TEXT:
                return _Answer(problem="plain text, not a session")
            sessions = tuple(self._session(trace) for trace in reading.traces)
            if sessions:
                sessions = (replace(sessions[0], skipped_outputs=self._long), *sessions[1:])
        except UpskillError as error:
            return _Answer(problem=error.message.removeprefix(f"{path}: "))
        except (OSError, MemoryError, RecursionError) as error:
            return _Answer(problem=f"cannot be read ({getattr(error, 'strerror', None) or type(error).__name__})")
        self._keep(key, sessions)
        return _Answer(sessions=sessions)

    def _clean(self, text: str) -> str:
        if len(text) > LONGEST_OUTPUT:
            self._long += 1
            return f"[{len(text):,} characters skipped]"
        return self._redactor.clean(text)

    def _session(self, trace: Trace) -> MinedSession:
        work = work_of(trace, number=1)
        found = Episodes(work)
        moments = found.moments()
        times = [step.at for step in trace.steps if step.at is not None]
        return MinedSession(
            name="",
            recorder=trace.recorder,
            fingerprint=_fingerprint(trace),
            began=min(times, default=None),
            folder=trace.folder,
            moments=moments,
            loads=found.loads(),
            edited=tuple(sorted(path for path in found.edited if path)[:1_000]),
            flaky=found.flaky,
        )

    def _key(self, path: Path) -> str:
        """A digest of all that the result rests on: the content, also of subagents' files, our version, the keys."""
        content = hashlib.sha256(self._salt)
        for file in (path, *files_beside(path)):
            with disk.opened(file) as opened:
                size = os.fstat(opened.fileno()).st_size
                content.update(f"\0{file.name}\0{size}\0".encode("utf-8", "surrogateescape"))
                while chunk := opened.read(_CHUNK):
                    content.update(chunk)
        return content.hexdigest()

    def _place(self, key: str) -> Path | None:
        return None if self._cache is None else self._cache / key[:2] / f"{key}.json"

    def _keep(self, key: str, sessions: tuple[MinedSession, ...]) -> None:
        place = self._place(key)
        if place is not None:
            with suppress(OSError):  # without a cache the next run takes longer, and nothing else
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                disk.write(place, _SESSIONS.dump_json(sessions), mode=0o600)


def _first_line_is_long(path: Path) -> bool:
    with disk.opened(path) as file:
        return not file.readline(LONGEST_LINE).endswith(b"\n")


def _fingerprint(trace: Trace) -> str:
    """Equal for equal work: a session can be there twice, once compressed."""
    content = hashlib.sha256()
    for step in (step for each in with_subagents(trace) for step in each.steps):
        parts = [step.source, step.text, *(call.arguments for call in step.calls)]
        parts += [observation.content for observation in step.observations]
        content.update("\0".join([*parts, str(step.at)]).encode("utf-8", "surrogatepass") + b"\1")
    return content.hexdigest()[:32]


def _read_in_processes(
    files: Sequence[SessionFile], number: int, cache: Path | None, arrived: Callable[[SessionFile, _Answer], None]
) -> None:
    """Share the files among processes of ours, and call `arrived` for each that is done. One that dies is replaced."""
    free: queue.SimpleQueue[processes.Worker | None] = queue.SimpleQueue()
    for _ in range(number):
        free.put(None)
    started: list[processes.Worker] = []
    ended = threading.Event()

    def read(file: SessionFile) -> tuple[SessionFile, _Answer]:
        worker = free.get()
        if worker is None:
            worker = processes.start_worker(__name__, "" if cache is None else str(cache))
            started.append(worker)
        answer = None if ended.is_set() else _asked(worker, file.path)
        if answer is None:
            _end(worker)
        free.put(None if answer is None else worker)
        return file, answer or _Answer(problem="the process that read it died or took too long, skipped")

    with ThreadPoolExecutor(number) as pool:
        try:
            # The largest must not come last.
            waiting = [pool.submit(read, file) for file in sorted(files, key=lambda file: (-file.size, file.name))]
            for done in as_completed(waiting):
                raise_if_interrupted()
                arrived(*done.result())
        finally:
            # An interrupt waits for none of them.
            pool.shutdown(wait=False, cancel_futures=True)
            ended.set()
            for worker in started:
                worker.kill()
            pool.shutdown()
            for worker in started:
                _end(worker)


def _asked(worker: processes.Worker, path: Path) -> _Answer | None:
    """What a process says of a file; `None` where it says nothing in time."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    limit = threading.Timer(_MOST_SECONDS, worker.kill)
    limit.start()
    try:
        worker.stdin.write(json.dumps(os.fsdecode(path)).encode() + b"\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
        return _ANSWER.validate_json(line) if line else None
    except (OSError, ValidationError):
        return None
    finally:
        limit.cancel()


def _end(worker: processes.Worker) -> None:
    worker.kill()
    with suppress(OSError):
        worker.communicate()


_ANSWER = TypeAdapter(_Answer)


def main(arguments: Sequence[str]) -> None:
    """Answer for each file on a line of the input. What goes wrong here is told by whoever asked."""
    sys.excepthook = lambda *_: None
    reader = _FileReader(os.environ, Path(arguments[0]) if arguments[0] else None)
    for line in sys.stdin.buffer:
        answer = reader.read(Path(json.loads(line)))
        sys.stdout.buffer.write(_ANSWER.dump_json(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
