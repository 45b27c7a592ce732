"""The folder of a hand-off: every question to a teacher is a file there, and its answer is another one beside it.

`cases/` holds what the case writer is asked and `skill/` what the skill writer is asked, so that each can be served by
a conversation that sees nothing of the other. The same question finds its folder again, so nothing is asked twice.
Knows files, not engines; what a usable answer is, its caller says.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from upskill import disk
from upskill.core.models.spending import Preview, Question
from upskill.core.nouns.answer_schemas import is_answer_schema
from upskill.core.settings.trust import is_own
from upskill.errors import EngineError, UpskillError, UsageError

Side = Literal["cases", "skill"]
SIDES: tuple[Side, ...] = ("cases", "skill")
State = Literal["running", "waiting", "stopped", "finished"]
"""The state of the command that asks: at work, ended with open questions (UPSKILL_WAIT=false), cut short, or done."""
QUESTION_FILE = "question.md"
SCHEMA_FILE = "schema.json"
STATE_FILE = "handoff.json"
FORMAT = "upskill.handoff/1"
MOST_ANSWER_BYTES = 2_000_000
SETTLED_SECONDS = 1.0
"""A text has no end that could be checked: it is whole when nobody wrote to it for so long."""
_CASE_PURPOSES = ("plan", "cases", "triggers", "trigger-review")
_NAME = re.compile(r"(?P<number>\d{3,})-(?P<purpose>[a-z-]+)-[0-9a-f]{8}(-\d+)?")

FormProblems = Callable[[str, Mapping[str, Any] | None], Sequence[str]]
"""Everything that is wrong with the form of an answer to a question with this schema; empty if it can be used."""


class HandoffOpen(UpskillError):
    """Questions are open, and nobody waits for their answers: the run goes on when it is resumed."""


class QuestionChanged(UsageError):
    """The file of a question is not what the run wrote: nobody is asked by it."""


class AnsweredAlready(UsageError):
    """A question has an answer: the first one stays."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HandoffQuestion:
    """One question of a hand-off, in a folder of its own."""

    number: int
    purpose: str
    side: Side
    path: Path

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the answer; `None` where it is a text. What upskill did not write is a `ValueError`."""
        text = read_safely(self.path / SCHEMA_FILE)
        if text is None:
            return None
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError):
            schema = None
        if not is_answer_schema(schema):
            raise ValueError(f"{SCHEMA_FILE} of question {self.number} was changed: upskill did not write this schema")
        return dict(schema)

    @property
    def answer_path(self) -> Path:
        """Where the answer lies, or will lie."""
        return self.path / ("answer.json" if os.path.lexists(self.path / SCHEMA_FILE) else "answer.md")

    @property
    def answered_at(self) -> str | None:
        """When the answer was taken; `None` while there is no file."""
        try:
            moment = self.answer_path.lstat().st_mtime
        except FileNotFoundError:
            return None
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def side_of(purpose: str) -> Side:
    """The side that is asked: the case writer, or the skill writer, who must never see a held-out case."""
    return "cases" if purpose in _CASE_PURPOSES else "skill"


def side_folders(folder: Path) -> list[Path]:
    """The folders with questions: both of a hand-off, or the one that was named. Raises where there is none."""
    found = [folder / side for side in SIDES if _is_folder(folder / side)]
    if not found and os.path.lexists(folder / STATE_FILE) and _is_folder(folder):
        found = [folder]
    if not found:
        raise UsageError(
            f"{folder}: {'is not a hand-off folder' if os.path.lexists(folder) else 'no such folder'}",
            hint="`upskill generate --model handoff` creates one in its run folder and prints its path",
        )
    for one in (folder, *found):
        _require_own(one)
    return found


def questions_in(folder: Path) -> tuple[HandoffQuestion, ...]:
    """Every question of a hand-off or of one of its two folders, by number. Links are not followed."""
    return tuple(sorted((one for side in side_folders(folder) for one in _in_side(side)), key=lambda one: one.number))


def _in_side(side: Path) -> Iterator[HandoffQuestion]:
    for path in disk.folders(side):
        if (match := _NAME.fullmatch(path.name)) is not None:
            purpose = match["purpose"]
            yield HandoffQuestion(number=int(match["number"]), purpose=purpose, side=side_of(purpose), path=path)


def _require_own(path: Path) -> None:
    """Raise where another user could ask or answer in a folder: questions hold material, and answers become a skill."""
    found = path.stat()
    if not is_own(found.st_uid) or (os.name == "posix" and found.st_mode & 0o022):
        raise UsageError(
            f"{path}: another user can write to this hand-off folder",
            hint=f"if it is yours: chmod go-w {quote(str(path))}; otherwise name another folder",
        )


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def make_side(folder: Path, side: Side) -> Path:
    """The folder for the questions of one side. What is new is for its owner alone: it holds material and cases."""
    path = folder / side
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        _require_own(folder)
        _require_own(path)
    except OSError as error:
        raise EngineError(f"{path}: cannot be written ({error.strerror})") from None
    return path


def prepare_side(folder: Path, side: Side) -> Path:
    """The folder for the questions of one side, with a page that tells whoever serves it what to do."""
    path = make_side(folder, side)
    try:
        if not _is_folder(path):
            raise UsageError(f"{path}: is a link; nothing is written through links", hint="name another folder")
        _replace(path / "README.md", disk.packaged("upskill.core.models", f"handoff_{side}.md"))
        write_state(path, "running")
    except OSError as error:
        raise EngineError(f"{path}: cannot be written ({error.strerror})") from None
    return path


def write_state(side: Path, state: State, outcome: str = "") -> None:
    """Tell whoever serves a folder whether more may be asked, and at the end what came of it."""
    _replace(side / STATE_FILE, json.dumps({"format": FORMAT, "state": state, "outcome": outcome}) + "\n")


def read_state(side: Path) -> tuple[State | None, str]:
    """What the command that asks said last, and the outcome; `None` where it said nothing that can be read."""
    try:
        said = json.loads(read_safely(side / STATE_FILE) or "")
        state: State = said["state"]
        return state, str(said.get("outcome", ""))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None, ""


def place_question(folder: Path, question: Question, *, repeat: int) -> HandoffQuestion:
    """The folder of a question: the one that was made for it before, or a new one, whole or not at all.

    `repeat` counts how often the same question is asked in a run: the second time it is a question of its own.
    """
    purpose = re.sub(r"[^a-z]+", "-", question.purpose.lower()).strip("-") or "question"
    side = side_of(purpose)
    end = f"-{purpose}-{question.digest[:8]}" + (f"-{repeat}" if repeat > 1 else "")
    there = questions_in(folder)
    here = (one for one in there if one.path.name == f"{one.number:03}{end}")
    known = next((one for one in here if one.path.parent.name == side), None)  # the other side must not answer it
    if known is not None:
        _require_schema(known, question)
        return known
    number = max((one.number for one in there), default=0) + 1
    made = HandoffQuestion(number=number, purpose=purpose, side=side, path=folder / side / f"{number:03}{end}")
    scratch = made.path.with_name(f".{made.path.name}.tmp")
    try:
        disk.remove_folder(scratch)  # what a kill left
        scratch.mkdir(mode=0o700)
        if question.schema is not None:
            _replace(scratch / SCHEMA_FILE, json.dumps(question.schema, indent=2, ensure_ascii=False) + "\n")
        _replace(scratch / QUESTION_FILE, question_text(question, number=number))
        disk.move(scratch, made.path)
    except OSError as error:
        raise EngineError(f"{made.path}: cannot be written ({error.strerror})") from None
    return made


def _require_schema(known: HandoffQuestion, question: Question) -> None:
    """Raise where the schema on disk is not that of the question: whoever answers would be held to another form."""
    wanted = None if question.schema is None else json.loads(json.dumps(question.schema))
    with suppress(ValueError):
        if known.schema == wanted:
            return
    raise QuestionChanged(
        f"{known.path}: {SCHEMA_FILE} of question {known.number} was changed",
        hint=f"remove {known.path} and resume the run; the question is then asked again",
    )


def question_text(question: Question, *, number: int) -> str:
    """All that is asked, in one Markdown text for a person or a model to read."""
    titles = {"user": "Question", "assistant": "Your earlier answer"}
    parts = [f"# Question {number} ({question.purpose}): instructions", question.system.strip()]
    for message in question.messages:
        parts += [f"# {titles[message.role]}", message.text.strip()]
    form = (
        f"One JSON object that fits `{SCHEMA_FILE}` in this folder, and nothing else."
        if question.schema is not None
        else "A text, and nothing else."
    )
    parts += [
        "# The form of your answer",
        f"{form} At most about {question.max_output_tokens:,} tokens. Write it to a file, then, in the folder that "
        f"holds the folder of this question:\n\n```sh\nupskill handoff . --answer {number} FILE\n```",
    ]
    return "\n\n".join(parts) + "\n"


def read_safely(path: Path) -> str | None:
    """The text of a file; `None` where there is none. A link, a pipe, or too much is a `ValueError` with a sentence."""
    try:
        return disk.read(path, most=MOST_ANSWER_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not UTF-8 text") from None


def answer_of(question: HandoffQuestion, problems: FormProblems) -> tuple[str | None, tuple[str, ...]]:
    """The answer, if it is there, whole and of the right form; else everything that is wrong with the file."""
    try:
        text = read_safely(question.answer_path)
        if text is None:
            return None, ()
        schema = question.schema
        if schema is not None:
            json.loads(text)  # half a file is no JSON
        elif time.time() - question.answer_path.lstat().st_mtime < SETTLED_SECONDS:
            return None, ()
    except json.JSONDecodeError as error:
        return None, (f"it is not valid JSON: {error.msg.lower()} at line {error.lineno}",)
    except RecursionError:
        return None, ("it is nested too deeply",)
    except ValueError as error:
        return None, (str(error),)
    found = tuple(problems(text, schema))
    return (None if found else text), found


def take_answer(question: HandoffQuestion, text: str) -> None:
    """Put an answer into its place, whole, unless there is one: of two that answer at once, one is refused."""
    target = question.answer_path
    try:
        disk.write_new(target, text.encode("utf-8", "replace"), mode=0o600)
    except FileExistsError:
        raise AnsweredAlready(
            f"question {question.number} ({question.purpose}) was already answered at {question.answered_at}",
            hint="the first answer counts",
        ) from None
    except OSError as error:
        raise EngineError(f"{target}: cannot be written ({error.strerror})") from None


def _replace(path: Path, text: str) -> None:
    """Write a file for its owner alone, whole or not at all. Halves of characters become question marks."""
    disk.write(path, text.encode("utf-8", "replace"), mode=0o600)


RequestKind = Literal["check", "count"]
"""What may be asked of the run about a text before it is handed in: whether it would do, or how many tokens it has."""
_REQUEST = re.compile(r"(?P<kind>check|count)-[0-9a-f]{16}\.txt")


def place_request(question: HandoffQuestion, kind: RequestKind, text: str) -> Path:
    """Leave a text in the folder of an open question: the file that will say what the run finds."""
    name = f"{kind}-{secrets.token_hex(8)}"
    try:
        _replace(question.path / f"{name}.txt", text)
    except OSError as error:
        raise EngineError(f"{question.path}: cannot be written ({error.strerror})") from None
    return question.path / f"{name}.json"


@dataclass(slots=True)
class Handoff:
    """Where questions are handed off in one run, and whether anybody waits for the answers."""

    folder: Path
    problems: FormProblems
    wait: bool = True
    report: Callable[[str], None] = lambda _: None
    """Receives lines for a person: what is waited for, and what to type."""
    count: Callable[[str], int] | None = None
    """Counts tokens as the students do; `None` where there are none."""
    _told: frozenset[Path] = frozenset()
    _looked_at: dict[Path, tuple[float, int]] | None = None

    def answer(self, question: HandoffQuestion) -> str | None:
        """The answer, once it can be used. What cannot is reported, once per change of the file."""
        try:
            status = question.answer_path.lstat()
        except FileNotFoundError:
            return None
        self._looked_at = self._looked_at or {}
        mark = (status.st_mtime, status.st_size)
        if self._looked_at.get(question.path) == mark:
            return None
        text, problems = answer_of(question, self.problems)
        if problems:
            self._looked_at[question.path] = mark
            self.report(f"{question.answer_path}: cannot be used: {'; '.join(problems)}")
        return text

    def serve_requests(self, question: HandoffQuestion, preview: Preview | None) -> None:
        """Say of each text that lies in the folder of a question what it would come to, or how long it is."""
        for path in [path for path in disk.listed(question.path) if _REQUEST.fullmatch(path.name)]:
            try:
                text = read_safely(path) or ""
                asks = self._counted if path.name.startswith("count") else partial(self._tried, question, preview)
                usable, lines = asks(text)
            except ValueError as error:
                usable, lines = False, (str(error),)
            found = {"usable": usable, "lines": list(lines)}
            with suppress(OSError):  # somebody who removed what they asked wants no answer
                disk.remove(path)
                _replace(path.with_suffix(".json"), json.dumps(found, ensure_ascii=False) + "\n")

    def _tried(self, question: HandoffQuestion, preview: Preview | None, text: str) -> tuple[bool, Sequence[str]]:
        problems = self.problems(text, question.schema)
        return (False, problems) if problems else (True, ()) if preview is None else preview(text)

    def _counted(self, text: str) -> tuple[bool, Sequence[str]]:
        if self.count is None:
            return False, ("no model is known that counts tokens",)
        return True, (f"{self.count(text):,} tokens, as the student counts them",)

    def report_open(self, waiting: Sequence[HandoffQuestion]) -> None:
        """Tell what is waited for, where that is more than was told before."""
        paths = frozenset(one.path for one in waiting)
        if paths <= self._told:
            return
        known = {path.parent for path in self._told}
        self._told |= paths
        for side in sorted({one.path.parent for one in waiting}):
            self.report(open_line([one for one in waiting if one.path.parent == side], where=f"({side.name})"))
            if side not in known:
                here = side.relative_to(Path.cwd()) if side.is_relative_to(Path.cwd()) else side
                self.report("  answer from another terminal, or let a coding agent do it:")
                self.report(f"  upskill handoff {quote(str(here))}")


def open_line(waiting: Sequence[HandoffQuestion], *, where: str | None = None) -> str:
    """Which questions of one folder are open, in a line; `where` stands for the path of the folder."""
    named = ", ".join(f"{one.number} ({one.purpose})" for one in sorted(waiting, key=lambda one: one.number))
    answers = "an answer" if len(waiting) == 1 else f"{len(waiting)} answers"
    return f"waiting for {answers} {where or f'in {waiting[0].path.parent}'}: {named}"
