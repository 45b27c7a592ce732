"""Finds lessons in long documents, and in recorded work that exceeds a teacher's window: piece by piece, merged by
support.

A digest of recorded work that fits needs none: it holds what was found already. Nor do documents that are one piece:
who writes the draft reads them whole.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

from upskill.core.models import Message, Question
from upskill.core.models.teacher_answers import UnusableAnswer, ask_for_each
from upskill.core.nouns import estimate_tokens
from upskill.core.nouns.answer_schemas import TEXT, TEXTS, list_of, object_of, one_of
from upskill.core.progress import SILENT, Progress
from upskill.core.skills.markdown import pieces
from upskill.errors import UsageError
from upskill.generation.citations import KnownCitations
from upskill.generation.draft import Clean, Lesson, LessonKind, without_hidden
from upskill.generation.material import Assignment, Document, Material, answer_tokens, fits, material_budget, numbered
from upskill.generation.prompts import prompt, quoted
from upskill.generation.student import student_told

MOST_PIECES = 60
MOST_LESSON = 600
"""Characters of one lesson."""
LESSONS_OF_A_PIECE = 12
DOCUMENT_TOKENS = 8_000
"""Tokens of documents in one piece: of more, twelve lessons would be too few. Of very long material, more."""
_MOST_OF_DOCUMENTS = 40
"""Pieces that documents are cut into, unless the window is too small for so few."""
ALIKE = 0.6
"""Two lessons that share this part of their words, and all of their numbers and code, are one."""

_BREAK = re.compile(r"\d+\| (?:#|\s*$)")
_BARE_LINES = re.compile(r"\s*lines?\s+\d", re.IGNORECASE)
_LINES_OF = re.compile(r" lines (\d+) to (\d+)")

SCHEMA = object_of(lessons=list_of(object_of(kind=one_of(*get_args(LessonKind)), text=TEXT, sources=TEXTS)))


class _Stretch(NamedTuple):
    """Lines of a document, each with its number in front."""

    document: str
    first: int
    last: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.document} lines {self.first} to {self.last}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """A part of the material, and the citations that a lesson from it may name: steps, or lines of its stretches."""

    title: str
    text: str
    citations: frozenset[str] = frozenset()
    stretches: tuple[_Stretch, ...] = ()


def find_lessons(assignment: Assignment, *, progress: Progress = SILENT) -> tuple[Lesson, ...]:
    """The lessons of long documents, and of recorded work that exceeds the window, best supported first.

    A piece whose answer is unusable is passed over. Where there is no lesson at all, a note says why, and the draft is
    made from the material itself.
    """
    material = assignment.material
    parts = _pieces_of(material, assignment.window)
    if not parts:
        return ()
    known = KnownCitations(material)
    questions = [_question(assignment, part) for part in parts]
    answers = ask_for_each(assignment.ask, questions, lambda text: json.loads(text)["lessons"])
    unusable = [answer for answer in answers if isinstance(answer, UnusableAnswer)]
    found = [
        _read(answer, part, known, assignment.clean)
        for answer, part in zip(answers, parts, strict=True)
        if not isinstance(answer, UnusableAnswer)
    ]
    lessons = merge_lessons(found)
    if not lessons:
        why = unusable[-1].problems[0] if unusable else "none cited a place in the material"
        progress.note(f"no lesson of the teacher was usable ({why}): the draft is written from the material itself")
    return lessons


def lesson_calls(material: Material, *, window: int | None) -> int:
    """How many questions `find_lessons` asks, if no answer must be repaired."""
    return len(_pieces_of(material, window))


def _pieces_of(material: Material, window: int | None) -> list[_Piece]:
    known = KnownCitations(material)
    budget = material_budget(window)
    found: list[_Piece] = []
    if material.digest is not None and not fits(material, window):
        for text in pieces(material.digest.text, most_tokens=budget):
            citations = frozenset(known.named_in(_heads(text))) & known.of_traces
            found.append(_Piece(title="the digest of recorded work", text=text, citations=citations))
    of_documents = _document_pieces(material.documents, budget=budget)
    found += of_documents if len(of_documents) > 1 or not fits(material, window) else []
    if len(found) > MOST_PIECES:
        raise UsageError(
            f"the material fills the teacher's context window {len(found)} times; the limit is {MOST_PIECES}",
            hint="name fewer or smaller sources, or a teacher with a larger context window",
        )
    return found


def _document_pieces(documents: Sequence[Document], *, budget: int) -> list[_Piece]:
    """Stretches of documents, several small ones in one piece."""
    most = min(budget, max(DOCUMENT_TOKENS, sum(estimate_tokens(one.text) for one in documents) // _MOST_OF_DOCUMENTS))
    found: list[list[_Stretch]] = []
    left = 0
    for stretch in (stretch for document in documents for stretch in _stretches(document, most_tokens=most)):
        tokens = estimate_tokens(stretch.text)
        if tokens > left:
            found.append([])
            left = most
        found[-1].append(stretch)
        left -= tokens
    return [
        _Piece(
            title=", ".join(dict.fromkeys(one.document for one in mine)),
            text="\n\n".join(f"{one.document}:\n\n{quoted(one.text)}" for one in mine),
            stretches=tuple(mine),
        )
        for mine in found
    ]


def _stretches(document: Document, *, most_tokens: int) -> Iterator[_Stretch]:
    """The whole document in stretches that fit, cut before a heading or at an empty line where there is one."""
    lines = [line[: 4 * most_tokens] for line in numbered(document.text).split("\n")]
    start = 0
    while start < len(lines) and document.text.strip():
        end, tokens = start, 0
        while end < len(lines) and (end == start or tokens + estimate_tokens(lines[end]) < most_tokens):
            tokens += estimate_tokens(lines[end]) + 1
            end += 1
        if end < len(lines):
            breaks = (at for at in range(end, start + (end - start) // 2, -1) if _BREAK.match(lines[at]))
            end = next(breaks, end)
        text = "\n".join(lines[start:end])
        yield _Stretch(document=f"document {document.name}", first=start + 1, last=end, text=text)
        start = end


def _heads(text: str) -> Iterable[str]:
    """The brackets at the end of headings and items, where a digest names its steps."""
    for match in re.finditer(r"^(?![>` ]).*\(([^()]*(?:step|line)s? [^()]*)\):?[ \t]*$", text, re.MULTILINE):
        yield from match[1].split(";")


def _question(assignment: Assignment, piece: _Piece) -> Question:
    told = student_told(assignment.profile)
    text = prompt(
        "lessons",
        task=quoted(assignment.material.task.strip() or "(not said)"),
        title=piece.title,
        material=piece.text if piece.stretches else quoted(piece.text),
        student=f"{told}\n\n" if told else "",
        sources=f"lines, such as `{_few_lines(piece.stretches[0])}`"
        if piece.stretches
        else "the steps in brackets, such as `step 14`",
    )
    return Question(
        purpose="lessons",
        system=prompt("lessons_system", most=LESSONS_OF_A_PIECE),
        messages=(Message(role="user", text=text),),
        schema=SCHEMA,
        max_output_tokens=answer_tokens(assignment.window),
    )


def _read(listed: Sequence[Any], piece: _Piece, known: KnownCitations, clean: Clean) -> list[Lesson]:
    """The lessons of one piece. One that cites nothing in this piece is not taken."""
    lessons: list[Lesson] = []
    for item in listed[: 2 * LESSONS_OF_A_PIECE]:
        text = " ".join(clean(without_hidden(item["text"])).split())
        steps = _cited(item["sources"], piece, known)
        if text and len(text) <= MOST_LESSON and steps:
            lessons.append(Lesson(kind=item["kind"], text=text, steps=steps))
    return lessons


def _few_lines(stretch: _Stretch) -> str:
    return stretch._replace(last=min(stretch.last, stretch.first + 3)).place


def _cited(sources: Sequence[str], piece: _Piece, known: KnownCitations) -> tuple[str, ...]:
    """The places of this piece that are named. Who names a whole document means the lines that were shown."""
    if not piece.stretches:
        return tuple(name for name in known.named_in(sources) if name in piece.citations)
    if len(piece.stretches) == 1:
        only = piece.stretches[0].document
        sources = [f"{only} {source}" if _BARE_LINES.match(source) else source for source in sources]
    found: list[str] = []
    for name in known.named_in(sources):
        for stretch in piece.stretches:
            lines = _LINES_OF.fullmatch(name.removeprefix(stretch.document))
            if name == stretch.document:
                found.append(stretch.place)
            elif lines and int(lines[1]) <= stretch.last and stretch.first <= int(lines[2]):
                found.append(name)
    return tuple(dict.fromkeys(found))


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
