"""What a teacher is given to work from, already read and redacted, and how it reads in a prompt.

Each piece is quoted under the name by which it can be cited.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from upskill.core.models import Ask
from upskill.core.models.spending import MOST_OUTPUT_TOKENS
from upskill.core.nouns import estimate_tokens
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.nouns.text import readable_text
from upskill.core.skills.markdown import pieces
from upskill.generation.draft import Clean, Draft, Lesson, clean_by_patterns
from upskill.generation.prompts import quoted
from upskill.generation.student import CountTokens, StudentProfile
from upskill.traces.trace import TraceDigest

MOST_SHOWN_FILE = 4_000
"""Tokens up to which a file of an existing skill is shown, and not only named."""
MOST_SHOWN_FILES = 12_000
LEAST_SHOWN = 100
"""Tokens below which a piece of a text is not worth showing."""


Opinion = Literal["right", "wrong", "unclear"]
Subject = Literal["the skill", "another version", "no skill"]
"""What an answer comes from: the skill that is improved, another version of it, or neither."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text to learn from: a page of documentation, a file of a repository."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """Everything a skill can be made from. A task alone is enough."""

    task: str
    """What the skill is for, in the person's words; for a skill that is improved, what to improve."""
    examples: tuple[str, ...] = ()
    """Inputs, or inputs with what should come out, that the person gave with -e."""
    digest: TraceDigest | None = None
    """What is worth keeping of the traces; `digest.text` is the Markdown that names every step."""
    documents: tuple[Document, ...] = ()
    skill: Draft | None = None
    """The skill that is to be improved."""
    comments: tuple[CommentedAnswer, ...] = ()
    """What a person said of answers on learn cases. Only who changes the skill is shown them, not who writes cases."""
    skill_folder: Path | None = None
    """Where the skill that is to be improved lies."""
    sources: tuple[str, ...] = ()
    trace_digest: str | None = None
    """The SHA-256 of the digest of the traces."""
    redacted: int = 0
    """How many secrets were taken out."""
    notes: tuple[str, ...] = ()
    """For a person."""
    wish: str | None = None
    """What to improve, in the person's words; `None` where the skill is new, or nothing was asked for."""
    later: "Mapping[str, Material] | None" = None
    """The later sessions of a habit that was mined, each by a name: held-out cases are written from them, and nobody
    else is given them. `None` where nothing was mined; empty where they are too few for a claim."""

    @property
    def has_dialogues(self) -> bool:
        """Whether a person spoke again in a recorded session: cases may be conversations then."""
        return self.digest is not None and any(finding.kind == "correction" for finding in self.digest.kept)


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """What a teacher that writes or revises a skill works from, and how it is asked."""

    ask: Ask
    material: Material = Material(task="")
    lessons: tuple[Lesson, ...] = ()
    window: int | None = None
    """Tokens of the teacher's context window, where it is known."""
    profile: StudentProfile | None = None
    """The students that the skill is for; `None` where nothing is known of the students."""
    count: CountTokens = estimate_tokens
    """Counts tokens as the students do."""
    clean: Clean = clean_by_patterns
    """Takes secrets out of an answer."""


def lines_of(text: str) -> list[str]:
    """The lines of a text, as citations count them."""
    return text.removesuffix("\n").split("\n")


def numbered(text: str, *, first: int = 1) -> str:
    """The text as it is shown where its lines can be cited: each with its number in front."""
    return "\n".join(f"{number}| {line}" for number, line in enumerate(lines_of(text), first))


def material_text(material: Material, lessons: Sequence[Lesson], *, budget: int) -> str:
    """Examples, lessons, and the digest and the documents themselves: beside lessons where they fit, else cut."""
    parts = [f"## example {number}\n\n{quoted(text)}" for number, text in enumerate(material.examples, 1)]
    if lessons:
        parts.append(_lessons(lessons, budget=budget))
        budget -= estimate_tokens(parts[-1])
    texts = _texts(material)
    if not lessons or sum(estimate_tokens(text) for _, text in texts) <= budget:
        for title, text in texts:
            shown = _cut(text, budget)
            budget -= estimate_tokens(shown)
            if shown.strip():
                parts.append(f"## {title}\n\n{quoted(shown)}")
    if not parts:
        return "There is no material beside the task: write only what you are certain of."
    return "Material:\n\n" + "\n\n".join(parts)


def material_needed(material: Material, needed: str, *, budget: int) -> str:
    """The digest and the documents within a budget of tokens; empty where there are none.

    Of what is too long, the pieces that share most words with what is needed, in their order.
    """
    texts = _texts(material)
    if sum(estimate_tokens(text) for _, text in texts) > budget:
        words = _words(needed)
        cut = [
            (title, piece) for title, text in texts for piece in pieces(text, most_tokens=max(LEAST_SHOWN, budget // 8))
        ]
        best = sorted(range(len(cut)), key=lambda at: -len(words & _words(cut[at][1])))
        chosen: list[int] = []
        for at in best:
            budget -= estimate_tokens(cut[at][1])
            if budget < 0:
                break
            chosen.append(at)
        texts = [cut[at] for at in sorted(chosen)]
    return "\n\n".join(f"## {title}\n\n{quoted(text)}" for title, text in texts if text.strip())


def _texts(material: Material) -> list[tuple[str, str]]:
    digest = [("Recorded work (digest)", material.digest.text)] if material.digest is not None else []
    return [*digest, *((f"document {document.name}", document.text) for document in material.documents)]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{3,}", text.casefold()))


def _cut(text: str, budget: int) -> str:
    """As much of the text as the budget allows. Cuts only material that is too long and gave no lesson."""
    if estimate_tokens(text) <= budget:
        return text
    first = next(iter(pieces(text, most_tokens=budget)), "") if budget >= LEAST_SHOWN else ""
    return f"{first}\n[… cut here]" if first else ""


def _lessons(lessons: Sequence[Lesson], *, budget: int) -> str:
    """As many as the budget allows, the best supported first; each with its number, which never changes."""
    lines: list[str] = []
    used = 0
    for number, lesson in enumerate(lessons, 1):
        seen = f"; found in {lesson.support} pieces" if lesson.support > 1 else ""
        line = f"L{number} ({lesson.kind}{seen}; {', '.join(lesson.steps[:6])}): {lesson.text}"
        used += estimate_tokens(line) + 1
        if used > budget and lines:
            break
        lines.append(line)
    head = "## Lessons found in the material, best supported first"
    return f"{head}\n\n{quoted(chr(10).join(lines))}"


def skill_texts(skill: Draft) -> dict[str, str]:
    """The body of a skill and its text files, by the paths under which their lines are cited."""
    read = {path: readable_text(data) for path, data in sorted(skill.files.items())}
    return {SKILL_FILE: skill.body, **{path: text for path, text in read.items() if text is not None}}


def skill_text(skill: Draft) -> str:
    """A skill as it stands, with its smaller text files; the others are named with their size."""
    parts = [f"description: {skill.description}", f"body of `SKILL.md`:\n\n{quoted(skill.body)}"]
    budget = MOST_SHOWN_FILES
    for path, data in sorted(skill.files.items()):
        text = readable_text(data)
        tokens = estimate_tokens(text) if text is not None else MOST_SHOWN_FILE + 1
        if text is not None and tokens <= min(MOST_SHOWN_FILE, budget):
            parts.append(f"file `{path}`:\n\n{quoted(text)}")
            budget -= tokens
        else:
            parts.append(f"file `{path}`: {len(data):,} bytes, not shown")
    return "\n\n".join(parts)


ASSUMED_WINDOW = 64_000
"""Tokens of a context window whose size is unknown."""
PROMPT_TOKENS = 2_500
"""Our own text around the material, with the schema of the answer."""
LEAST_MATERIAL = 256
_USED = 0.8


def answer_tokens(window: int | None) -> int:
    """The most tokens of an answer: never more than a third of the window."""
    return MOST_OUTPUT_TOKENS if window is None else max(256, min(MOST_OUTPUT_TOKENS, window // 3))


def material_budget(window: int | None) -> int:
    """The most tokens of material in one question."""
    whole = window or ASSUMED_WINDOW
    return max(LEAST_MATERIAL, int((whole - answer_tokens(whole) - PROMPT_TOKENS) * _USED))


def material_tokens(material: Material) -> int:
    """The estimated tokens of a whole material."""
    texts = [material.task, *material.examples, *(f"{one.name}\n{one.text}" for one in material.documents)]
    if material.digest is not None:
        texts.append(material.digest.text)
    if (skill := material.skill) is not None:
        texts += [skill.description, skill.body, *skill.files]
    return sum(estimate_tokens(text) for text in texts)


def fits(material: Material, window: int | None) -> bool:
    """Whether the whole material fits into one question."""
    return material_tokens(material) <= material_budget(window)
