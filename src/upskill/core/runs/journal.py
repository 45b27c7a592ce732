"""`teacher.jsonl`: every answer of a teacher, appended by one write as it comes, so that kill -9 loses none.

The same question has the same digest; asked again, it is the second of its kind. So a resumed run finds every answer it
bought, in whatever order they came.

A command without a run folder keeps its answers beside the trial store for a while: after a kill, it finds them again
when it is typed once more. They are dropped once what they were for is saved. Where that cache cannot be made, a kill
costs the calls made so far.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill.core.models.spending import Question, Reply
from upskill.core.nouns import digest_of
from upskill.core.runs.trial_store import default_store_path
from upskill.core.skills.skill_files import is_spending, open_plain, read_plain
from upskill.errors import EngineError

FOLDER = "teacher"
MOST_BYTES = 500_000_000
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@dataclass(frozen=True, kw_only=True, slots=True)
class PaidAnswer:
    """One question that was paid for, as it was sent, and its answer."""

    teacher: str
    """The model that was asked: the engine's name of the model, and where it is served."""
    digest: str
    """The digest of the question."""
    question: Question
    reply: Reply
    at: str
    calls: int = 1
    """Requests that it took."""
    tokens: int = 0
    """In and out together, estimated where the provider did not say."""
    cost: float | None = None
    """Dollars; `None` where the price is unknown."""


_ANSWERED = TypeAdapter(PaidAnswer)


class Journal:
    """All that teachers answered in one run. Safe to append to after a kill; not made for two processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[tuple[str, str], list[PaidAnswer]] = defaultdict(list)
        for answered in self._read():
            self._known[answered.teacher, answered.digest].append(answered)

    def answers(self, teacher: str, digest: str) -> tuple[PaidAnswer, ...]:
        """What a teacher answered to a question, in the order in which it was asked again."""
        return tuple(self._known.get((teacher, digest), ()))

    def all(self) -> tuple[PaidAnswer, ...]:
        """Everything, by question."""
        return tuple(answered for several in self._known.values() for answered in several)

    def append(self, answered: PaidAnswer) -> None:
        """Keep an answer. It is on the disk when this returns, or there is an error."""
        line = _ANSWERED.dump_json(answered, exclude={"question": {"preview"}}) + b"\n"
        try:
            with os.fdopen(open_plain(self.path, _APPEND, 0o600), "ab", buffering=0) as file:
                size = file.tell()
                if file.write(line) != len(line):
                    file.truncate(size)
                    raise EngineError(f"{self.path}: the disk is full", hint="free some space, then resume the run")
                os.fsync(file.fileno())
        except OSError as error:
            raise EngineError(
                f"{self.path}: cannot be written ({error.strerror})", hint="free some space, then resume the run"
            ) from error
        self._known[answered.teacher, answered.digest].append(answered)

    def _read(self) -> Iterator[PaidAnswer]:
        try:
            data = read_plain(self.path, most=MOST_BYTES)
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            # What a kill left of a last line would swallow the next one.
            with os.fdopen(open_plain(self.path, os.O_RDWR), "r+b") as file:
                file.truncate(len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                yield _paid(line)
            except ValueError as error:
                problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
                raise EngineError(
                    f"{self.path}: line {number} is damaged: {problem}",
                    hint="the other lines are intact; remove the damaged one, and only that question is asked again",
                ) from None


def _paid(line: bytes) -> PaidAnswer:
    answer = _ANSWERED.validate_json(line)
    if not is_spending(answer.calls, answer.tokens, answer.cost):
        raise ValueError("its cost is negative")
    return answer


if sys.platform != "win32":
    import fcntl


class AnswerCache:
    """A journal, and whether it outlives the block."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.stays = True

    def drop(self) -> None:
        """Forget the answers when the block ends: what they were for is saved, or they cannot be used."""
        self.stays = False


@contextmanager
def answer_cache(purpose: object, *, age_limit: timedelta | None) -> Iterator[AnswerCache]:
    """The answers for a purpose, any value that JSON can hold. Without an age limit nothing outlives the block.

    Two processes with the same purpose do not share: the second has answers of its own, which do not outlive it.
    """
    path = default_store_path().parent / FOLDER / f"{digest_of(purpose)}.jsonl"
    lock = None if age_limit is None else _hold(path, age_limit)
    if lock is None:
        with tempfile.TemporaryDirectory(prefix="upskill-") as scratch:
            yield AnswerCache(Journal(Path(scratch) / path.name))
        return
    cache: AnswerCache | None = None
    try:
        cache = AnswerCache(_read(path))
        yield cache
    finally:
        os.close(lock)
        if cache is not None and not (cache.stays and cache.journal.all()):
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
