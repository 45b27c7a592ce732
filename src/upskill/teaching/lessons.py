"""Finds lessons in material that exceeds a teacher's context window: piece by piece, then merged by support.

Material that fits needs none: the draft is made from it directly, which saves a call and loses nothing.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from upskill.domain import Lesson, LessonKind
from upskill.domain.answer_schemas import TEXT, TEXTS, list_of, object_of, one_of
from upskill.errors import UsageError
from upskill.models import Ask, Message, Question
from upskill.teaching.answers import TeacherUnusable, UnusableAnswer, ask_for_each
from upskill.teaching.citations import KnownCitations
from upskill.teaching.context_window import answer_tokens, fits, material_budget
from upskill.teaching.draft_rules import Clean, clean_by_patterns, without_hidden
from upskill.teaching.markdown import pieces
from upskill.teaching.material import Material
from upskill.teaching.prompts import prompt, quoted

MOST_PIECES = 60
MOST_LESSON = 600
"""Characters of one lesson."""
LESSONS_OF_A_PIECE = 12
ALIKE = 0.6
"""Two lessons that share this part of their words, and all of their numbers and code, are one."""

SCHEMA = object_of(lessons=list_of(object_of(kind=one_of(*get_args(LessonKind)), text=TEXT, sources=TEXTS)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """A part of the material, and the citations that a lesson from it may name."""

    title: str
    text: str
    citations: frozenset[str]


def find_lessons(
    material: Material, ask: Ask, *, window: int | None, clean: Clean = clean_by_patterns
) -> tuple[Lesson, ...]:
    """The lessons of a material that exceeds the window, best supported first; none, and no call, where it fits.

    A piece whose answer is unusable is passed over; if all are, `TeacherUnusable` says why.
    """
    parts = _pieces_of(material, window)
    if not parts:
        return ()
    known = KnownCitations(material)
    questions = [_question(material, part, window) for part in parts]
    answers = ask_for_each(ask, questions, lambda text: json.loads(text)["lessons"])
    unusable = [answer for answer in answers if isinstance(answer, UnusableAnswer)]
    if len(unusable) == len(answers):
        raise TeacherUnusable(
            f"the teacher gave no usable answer (lessons, {len(answers)} pieces): {unusable[-1].problems[0]}",
            hint="a stronger teacher may: choose one with --model",
        )
    found = [
        _read(answer, part, known, clean)
        for answer, part in zip(answers, parts, strict=True)
        if not isinstance(answer, UnusableAnswer)
    ]
    return merge_lessons(found)


def lesson_calls(material: Material, *, window: int | None) -> int:
    """How many questions `find_lessons` asks, if no answer must be repaired."""
    return len(_pieces_of(material, window))


def _pieces_of(material: Material, window: int | None) -> list[_Piece]:
    if fits(material, window):
        return []
    known = KnownCitations(material)
    budget = material_budget(window)
    found: list[_Piece] = []
    if material.digest is not None:
        for text in pieces(material.digest.text, most_tokens=budget):
            citations = frozenset(known.named_in(_heads(text))) & known.of_traces
            found.append(_Piece(title="the digest of recorded work", text=text, citations=citations))
    for document in material.documents:
        name = f"document {document.name}"
        for text in pieces(document.text, most_tokens=budget):
            found.append(_Piece(title=name, text=text, citations=frozenset({name})))
    if len(found) > MOST_PIECES:
        raise UsageError(
            f"the material fills the teacher's window {len(found)} times; at most {MOST_PIECES} are read",
            hint="name fewer or smaller sources, or a teacher with a larger window",
        )
    return found


def _heads(text: str) -> Iterable[str]:
    """The brackets at the end of headings and items, where a digest names its steps."""
    for match in re.finditer(r"^(?![>` ]).*\(([^()]*(?:step|line)s? [^()]*)\):?[ \t]*$", text, re.MULTILINE):
        yield from match[1].split(";")


def _question(material: Material, piece: _Piece, window: int | None) -> Question:
    is_document = piece.title.startswith("document ")
    text = prompt(
        "lessons",
        task=quoted(material.task.strip() or "(not said)"),
        title=piece.title,
        material=quoted(piece.text),
        sources=f"`{piece.title}`" if is_document else "the steps in brackets, such as `step 14`",
    )
    return Question(
        purpose="lessons",
        system=prompt("lessons_system", most=LESSONS_OF_A_PIECE),
        messages=(Message(role="user", text=text),),
        schema=SCHEMA,
        max_output_tokens=answer_tokens(window),
    )


def _read(listed: Sequence[Any], piece: _Piece, known: KnownCitations, clean: Clean) -> list[Lesson]:
    """The lessons of one piece. One that cites nothing in this piece is not taken."""
    lessons: list[Lesson] = []
    for item in listed[: 2 * LESSONS_OF_A_PIECE]:
        text = " ".join(clean(without_hidden(item["text"])).split())
        steps = tuple(name for name in known.named_in(item["sources"]) if name in piece.citations)
        if text and len(text) <= MOST_LESSON and steps:
            lessons.append(Lesson(kind=item["kind"], text=text, steps=steps))
    return lessons


def merge_lessons(found: Iterable[Sequence[Lesson]]) -> tuple[Lesson, ...]:
    """One lesson for all that say the same; support counts the pieces it was found in. Best supported first."""
    merged: list[_MergedLesson] = []
    for number, lessons in enumerate(found):
        for lesson in lessons:
            words = _words_of(lesson)
            same = next((other for other in merged if _alike(words, other.words)), None)
            if same is None:
                merged.append(_MergedLesson(lesson=lesson, words=words, pieces={number}))
                continue
            same.pieces.add(number)
            shorter = min((same.lesson.text, lesson.text), key=len)
            steps = tuple(dict.fromkeys((*same.lesson.steps, *lesson.steps)))
            same.lesson = replace(same.lesson, text=shorter, steps=steps)
    counted = [replace(one.lesson, support=max(one.lesson.support, len(one.pieces))) for one in merged]
    return tuple(sorted(counted, key=lambda lesson: -lesson.support))


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a lesson, for comparison; `exact` and `denies` may not differ at all."""

    plain: frozenset[str]
    exact: frozenset[str]
    denies: bool


@dataclass(kw_only=True, slots=True)
class _MergedLesson:
    lesson: Lesson
    words: _Words
    """Those of the first lesson that was found."""
    pieces: set[int]
    """Where it was found."""


_DENIALS = frozenset({"not", "never", "no", "avoid", "without", "don", "dont", "cannot", "instead"})
_LITTLE = frozenset({"the", "and", "for", "with", "that", "this", "are", "was", "you", "use", "from", "when", "before"})


def _words_of(lesson: Lesson) -> _Words:
    code = re.findall(r"`([^`]+)`", lesson.text)
    numbers = re.findall(r"\d+(?:\.\d+)*", lesson.text)
    words = frozenset(re.findall(r"[^\W\d_]{2,}", lesson.text.lower()))
    return _Words(
        plain=words - _LITTLE,
        exact=frozenset(code) | frozenset(numbers),
        denies=lesson.kind == "avoid" or bool(words & _DENIALS),
    )


def _alike(one: _Words, other: _Words) -> bool:
    if one.exact != other.exact or one.denies != other.denies:
        return False
    both, either = len(one.plain & other.plain), len(one.plain | other.plain)
    return either == 0 or both / either >= ALIKE
