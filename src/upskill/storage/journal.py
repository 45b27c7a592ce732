"""`teacher.jsonl`: every answer of a teacher, appended by one write as it comes, so that kill -9 loses none.

The same question has the same digest; asked again, it is the second of its kind. So a run that is gone on with
finds every answer it bought, in whatever order they came.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill.errors import EngineError
from upskill.models.question import Question, Reply


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """One question that was paid for, as it was sent, and its answer."""

    teacher: str
    """Who was asked: the engine's name of the model, and where it is served."""
    digest: str
    """Of the question."""
    question: Question
    reply: Reply
    at: str
    calls: int = 1
    """Requests that it took."""
    tokens: int = 0
    """In and out together, estimated where the provider did not say."""
    cost: float | None = None
    """Dollars; `None` where the price is unknown."""


_ANSWERED = TypeAdapter(Answered)


class Journal:
    """All that teachers answered in one run. Safe to append to after a kill; not made for two processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[tuple[str, str], list[Answered]] = defaultdict(list)
        for answered in self._read():
            self._known[answered.teacher, answered.digest].append(answered)

    def answers(self, teacher: str, digest: str) -> tuple[Answered, ...]:
        """What a teacher answered to a question, in the order in which it was asked again."""
        return tuple(self._known.get((teacher, digest), ()))

    def all(self) -> tuple[Answered, ...]:
        """Everything, by question."""
        return tuple(answered for several in self._known.values() for answered in several)

    def append(self, answered: Answered) -> None:
        """Keep an answer. It is on the disk when this returns, or there is an error."""
        line = _ANSWERED.dump_json(answered) + b"\n"
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
            try:
                size = os.fstat(file).st_size
                if os.write(file, line) != len(line):
                    os.ftruncate(file, size)
                    raise EngineError(f"{self.path}: the disk is full", hint="free some space, then resume the run")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise EngineError(
                f"{self.path}: cannot be written ({error.strerror})", hint="free some space, then resume the run"
            ) from error
        self._known[answered.teacher, answered.digest].append(answered)

    def _read(self) -> Iterator[Answered]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise EngineError(f"{self.path}: cannot be read ({error.strerror})") from error
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            # What a kill left of a last line would swallow the next one.
            os.truncate(self.path, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                yield _ANSWERED.validate_json(line)
            except ValidationError as error:
                raise EngineError(
                    f"{self.path}: line {number} is damaged: {error.errors()[0]['msg']}",
                    hint="the other lines are sound; remove the damaged one, and only that question is asked again",
                ) from None
