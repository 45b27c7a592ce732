"""`teacher.jsonl`: every answer of a teacher, appended by one write as it comes, so that kill -9 loses none.

The same question has the same digest; asked again, it is the second of its kind. So a resumed run finds every answer it
bought, in whatever order they came.

A command without a run folder keeps its answers beside the trial store for a while: after a kill, it finds them again
when it is typed once more. They are dropped once what they were for is saved. Where that cache cannot be made, a kill
costs the calls made so far.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter, ValidationError

from upskill import disk
from upskill.core.models.spending import Question, Reply
from upskill.core.nouns import digest_of
from upskill.core.runs.trial_store import default_store_path
from upskill.core.skills.skill_files import file_errors, is_spending, read_plain
from upskill.errors import EngineError

FOLDER = "teacher"
MOST_BYTES = 500_000_000


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
            with disk.for_appending(self.path) as file:
                whole = disk.append(file, line)
        except OSError as error:
            raise EngineError(
                f"{self.path}: cannot be written ({error.strerror})", hint="free some space, then resume the run"
            ) from error
        if not whole:
            raise EngineError(f"{self.path}: the disk is full", hint="free some space, then resume the run")
        self._known[answered.teacher, answered.digest].append(answered)

    def _read(self) -> Iterator[PaidAnswer]:
        try:
            data = read_plain(self.path, most=MOST_BYTES)
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            # What a kill left of a last line would swallow the next one.
            with file_errors(self.path, "written"), disk.for_appending(self.path) as file:
                disk.drop_unterminated(file)
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
        lock.close()
        if cache is not None and not (cache.stays and cache.journal.all()):
            disk.remove(path)


def _hold(path: Path, age_limit: timedelta) -> IO[bytes] | None:
    """The file, made where it is not there, for this process alone; `None` where that cannot be had."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _forget_old(path.parent, age_limit)
        # What was asked and answered is in it: for its owner only.
        file = disk.for_appending(path)
    except OSError:
        return None
    with suppress(OSError):
        if disk.lock(file, wait=False):
            return file
    file.close()
    return None


def _forget_old(folder: Path, age_limit: timedelta) -> None:
    oldest = time.time() - age_limit.total_seconds()
    for path in disk.plain_files(folder, "*.jsonl"):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                disk.remove(path)


def _read(path: Path) -> Journal:
    """What is damaged is bought again."""
    try:
        return Journal(path)
    except EngineError:
        disk.write(path, b"", mode=0o600)
        return Journal(path)
