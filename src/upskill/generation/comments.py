"""Comments of a person on answers of a run: as a browser saved them from a report (`upskill-feedback.json`), and beside
the answers they are about. The file may be a stranger's, and is read strictly."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from upskill.core.foreign_json import parse_json
from upskill.core.nouns.text import count, on_one_line
from upskill.core.nouns.trial import Arm, TrialKey
from upskill.errors import UsageError

Opinion = Literal["right", "wrong", "unclear"]
Subject = Literal["the skill", "another version", "no skill"]
"""Whose doing an answer is: that of the skill that is improved, of another version of it, or of neither."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    """What a person said of one answer. The answer itself is in the run."""

    case: str
    case_digest: str | None = None
    """The case as it was on the page; `None` where the page did not know it."""
    model: str
    arm: Arm
    repeat: int
    line: int | None = None
    """Of the trial in `trials.jsonl`, from 1."""
    opinion: Opinion | None = None
    note: str = ""

    @property
    def key(self) -> TrialKey:
        """Which answer it is about."""
        return self.model, self.case, self.arm, self.repeat


@dataclass(frozen=True, kw_only=True, slots=True)
class Feedback:
    """The comments of one file, at most one for each answer."""

    run: str
    """The name of the run folder; of an evaluation in a `generate`, with its path in it."""
    skill_name: str
    skill_digest: str
    comments: tuple[Comment, ...]


def last_of_each(comments: Iterable[Comment]) -> tuple[Comment, ...]:
    """One comment for each answer: the last, in the place of the first."""
    return tuple({comment.key: comment for comment in comments}.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class CommentedAnswer:
    """A comment with the task and the answer it is about, without secrets, as a teacher is shown it."""

    case_id: str
    prompt: str
    answer: str
    model: str
    subject: Subject
    passed: bool | None
    """What the checks said; `None` where the case has other checks now, or the trial errored."""
    opinion: Opinion | None
    note: str

    @property
    def doubts_checks(self) -> bool:
        """Whether the person and the checks disagree: the case may be at fault, and not the answer."""
        return (self.opinion, self.passed) in (("right", False), ("wrong", True))

    @property
    def is_wish(self) -> bool:
        """Whether it asks for a change: anything but an answer that is called right, without a note."""
        return self.opinion in ("wrong", "unclear") or bool(self.note)


FEEDBACK_FORMAT: Literal["upskill.feedback/1"] = "upskill.feedback/1"
MOST_BYTES = 1_000_000
MOST_COMMENTS = 1_000
MOST_NOTE = 4_000
"""Characters of one note; the page lets nobody write more."""
MOST_PROBLEMS = 10
_HOW = "save it with `Save comments` in the report of a run; see docs/how-to/improve-a-skill.md"

_Name = Annotated[str, Field(min_length=1, max_length=500)]
_Count = Annotated[int, Field(ge=1, le=10_000_000)]
_Digest = Annotated[str, Field(min_length=8, max_length=128)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _SkillEntry(_Strict):
    """The skill that was measured."""

    name: _Name
    digest: _Digest


class _CommentEntry(_Strict):
    case: _Name
    case_digest: _Digest | None = None
    model: _Name
    arm: Arm
    repeat: _Count
    line: _Count | None = None
    opinion: Opinion | None = None
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""


class FeedbackFile(_Strict):
    """The file as it is saved by the page of a run."""

    schema_: Literal["upskill.feedback/1"] = Field(alias="schema")
    run: _Name
    skill: _SkillEntry
    comments: Annotated[list[_CommentEntry], Field(min_length=1, max_length=MOST_COMMENTS)]


def read_feedback(path: Path) -> Feedback:
    """The comments of a file; of several on one answer, the last. Raises `UsageError` with every problem found."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{on_one_line(str(path))}: is not a file", hint=_HOW)
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{on_one_line(str(path))}: cannot be read ({error.strerror})", hint=_HOW) from None
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"{path}: is larger than {MOST_BYTES // 1_000_000} MB, too large for saved comments", hint=_HOW
        )
    try:
        found = FeedbackFile.model_validate(parse_json(data))
    except ValidationError as error:
        raise _damaged(path, [_problem(one["loc"], one["msg"]) for one in error.errors()]) from None
    except ValueError as error:
        raise _damaged(path, [str(error)]) from None
    return Feedback(
        run=found.run,
        skill_name=found.skill.name,
        skill_digest=found.skill.digest,
        comments=last_of_each(_comment(one) for one in found.comments),
    )


def _comment(entry: _CommentEntry) -> Comment:
    return Comment(
        case=entry.case,
        case_digest=entry.case_digest,
        model=entry.model,
        arm=entry.arm,
        repeat=entry.repeat,
        line=entry.line,
        opinion=entry.opinion,
        note=entry.note.strip(),
    )


def _problem(place: tuple[int | str, ...], said: str) -> str:
    """`comment 3, opinion: Input should be 'right', 'wrong' or 'unclear'`."""
    first, *rest = place or ("the file",)
    if first == "comments" and rest and isinstance(rest[0], int):
        first, *rest = f"comment {rest[0] + 1}", *rest[1:]
    return on_one_line(f"{', '.join(map(str, (first, *rest)))}: {said}")


def _damaged(path: Path, problems: list[str]) -> UsageError:
    shown = problems[:MOST_PROBLEMS]
    if more := len(problems) - len(shown):
        shown.append(f"and {count(more, 'more problem')}")
    return UsageError(f"{path}: cannot be read as {FEEDBACK_FORMAT}", problems=shown, hint=_HOW)
