"""Asks a teacher and reads its answers as values. Reports what was wrong, asks again, and then gives up.

A weak local teacher must not crash anything: every fault of its answers becomes a value or one line of error.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from upskill.domain.thinking import without_thinking
from upskill.errors import UpskillError
from upskill.models import Ask, Message, Question, Reply
from upskill.teaching.answer_value import UnusableAnswer, value_in

__all__ = ["REPAIRS", "TeacherUnusable", "UnusableAnswer", "ask_for", "ask_for_each", "value_in"]

REPAIRS = 2
MOST_QUOTED = 60_000
"""Characters of an unusable answer that its writer is shown again: enough to repair it instead of rewriting it."""
MOST_QUOTED_OF_ENDLESS = 2_000
LARGE_ANSWER = 8_192
"""Output tokens from which a window is assumed to be large enough for an answer and another one after it."""
T = TypeVar("T")


class TeacherUnusable(UpskillError):
    """A teacher gave no usable answer in any of its tries. Nothing of what it said was saved."""


def ask_for(ask: Ask, question: Question, read: Callable[[str], T], *, repairs: int = REPAIRS) -> T:
    """The answer to one question, as `read` makes it. Raises `TeacherUnusable` after so many repairs.

    `read` is given the text without thoughts; where the question has a schema, the text is exactly one JSON object
    that fits it, so `json.loads` cannot fail. It raises `UnusableAnswer`, whose problems go to the teacher.
    """
    (answer,) = ask_for_each(ask, [question], read, repairs=repairs)
    if isinstance(answer, UnusableAnswer):
        raise TeacherUnusable(
            f"the teacher gave no usable answer ({question.purpose}, asked {repairs + 1} times): {_told(answer)}",
            hint="choose a stronger teacher with --model",
        )
    return answer


def ask_for_each(
    ask: Ask,
    questions: Sequence[Question],
    read: Callable[[str], T],
    *,
    repairs: int = REPAIRS,
    enough: Mapping[str, Any] | None = None,
) -> list[T | UnusableAnswer]:
    """The answers in the order of the questions, asked at the same time; `UnusableAnswer` where the last try failed.

    Where `enough` is given, an answer that fits it is read: a question may ask for more than its answer must have.
    """
    first = [_with_schema(question) for question in questions]
    answers: dict[int, T | UnusableAnswer] = {}
    open_questions = dict(enumerate(first))
    for _ in range(repairs + 1):
        if not open_questions:
            break
        replies = ask(tuple(open_questions.values()))
        for number, reply in zip(tuple(open_questions), replies, strict=True):
            answers[number] = answer = _read(first[number], reply, read, enough)
            if isinstance(answer, UnusableAnswer):
                open_questions[number] = _again(first[number], reply, answer)
            else:
                del open_questions[number]
    return list(answers.values())


def _read(
    question: Question, reply: Reply, read: Callable[[str], T], enough: Mapping[str, Any] | None
) -> T | UnusableAnswer:
    """The value of the answer, or why there is none. A cut answer is reported as that: it explains what follows."""
    try:
        if question.schema is not None:
            value = value_in(reply.text, enough or question.schema, cut=reply.cut)
            return read(json.dumps(value, ensure_ascii=False))
        text = without_thinking(reply.text)
        if not text:
            raise UnusableAnswer(["it is empty"])
        if reply.cut:
            raise UnusableAnswer([])
        return read(text)
    except UnusableAnswer as unusable:
        if reply.cut:
            return UnusableAnswer([f"it was cut at {question.max_output_tokens:,} tokens: be much shorter"])
        return unusable


def _with_schema(question: Question) -> Question:
    """The question with the schema of its answer in the text, for models that cannot be constrained by it."""
    if question.schema is None:
        return question
    form = (
        "Answer with one JSON object and nothing else: no fence, no words before or after it. "
        f"It must fit this JSON Schema:\n{json.dumps(question.schema, ensure_ascii=False, separators=(',', ':'))}"
    )
    *before, last = question.messages
    if last.role == "user":
        return replace(question, messages=(*before, replace(last, text=f"{last.text}\n\n{form}")))
    return question.followed_by(Message(role="user", text=form))


def _again(question: Question, reply: Reply, unusable: UnusableAnswer) -> Question:
    """The first question, the last answer and its problems: the conversation does not grow with each try."""
    most = MOST_QUOTED_OF_ENDLESS if reply.cut else _quotable(question)
    said = reply.text.strip() or "(nothing)"
    if len(said) > most:
        said = f"{said[:most]}\n[… {len(said) - most:,} more characters]"
    problems = "\n".join(f"- {problem}" for problem in unusable.problems)
    form = (
        "the whole JSON object, mended, and nothing else" if question.schema is not None else "the whole answer, mended"
    )
    return question.followed_by(
        Message(role="assistant", text=said),
        Message(role="user", text=f"This answer cannot be used:\n{problems}\n\nAnswer again: {form}."),
    )


def _quotable(question: Question) -> int:
    """Characters of an answer that fit into the next question: few where short answers suggest a small window."""
    tokens = question.max_output_tokens
    return min(MOST_QUOTED, 4 * tokens) if tokens >= LARGE_ANSWER else tokens


def _told(unusable: UnusableAnswer) -> str:
    return " ".join(unusable.problems[0].split()) if unusable.problems else "no reason"
