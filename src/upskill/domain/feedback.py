"""What a person said of answers of a run: comments as they are saved, and the same beside the answer they are about."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from upskill.domain.trial import Arm, TrialKey

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
