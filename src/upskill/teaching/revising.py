"""Revising a draft from what failed: the teacher gives itemised edits, and they are applied as they stand.

An edit that does not apply is told back to the teacher. A draft is never written anew: what nobody edits stays.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from upskill.domain import Draft, Lesson
from upskill.models import Ask, Message, Question
from upskill.teaching.answers import TeacherUnusable, Unusable, ask_for
from upskill.teaching.edits import BODY, DESCRIPTION, MOST_EDITS, Edit, apply_edits, texts_of
from upskill.teaching.failures import Failure, describe
from upskill.teaching.prompts import prompt, quoted

MOST_LESSONS = 24
MOST_TEXT = 30_000
"""Characters of one file that a teacher is shown; a longer one cannot be edited, only talked about."""

SCHEMA = {
    "type": "object",
    "properties": {
        "cause": {"type": "string", "description": "why the student failed, in one or two sentences"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "file": {"type": "string"},
                    "action": {"type": "string", "enum": ["replace", "insert", "delete"]},
                    "quote": {"type": ["string", "null"]},
                    "heading": {"type": ["string", "null"]},
                    "text": {"type": ["string", "null"]},
                    "why": {"type": "string"},
                },
                "required": ["file", "action", "quote", "heading", "text", "why"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["cause", "edits"],
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """Edits of the same draft that were measured before and were no better."""

    edits: tuple[Edit, ...]
    outcome: str
    """What came of them, in words: `6 of 10 instead of 7 of 10`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """A draft that was edited, and how."""

    draft: Draft
    edits: tuple[Edit, ...]
    """Those that were applied."""
    cause: str = ""
    """Why the teacher thinks that the student failed."""
    left_out: tuple[str, ...] = ()
    """Edits that did not apply however often the teacher was told, and why."""


def revise(
    draft: Draft,
    failures: Sequence[Failure],
    lessons: Sequence[Lesson],
    ask: Ask,
    *,
    wish: str | None = None,
    tried: Sequence[Tried] = (),
    may_add: bool = True,
) -> Revision:
    """Ask the teacher for edits and apply them. Raises `TeacherUnusable` where nothing of what it said can be used.

    `wish` is what a person asked for, where an existing skill is improved. Edits of the last answer that apply are
    taken even where others of it do not: a weak teacher may quote one of four places wrongly, three times over.
    """
    partly: list[Revision] = []

    def read(text: str) -> Revision:
        said = json.loads(text)
        applied = apply_edits(draft, [_edit(one) for one in said["edits"]], may_add=may_add)
        problems = [*applied.problems, *_draft_problems(applied.draft, draft)]
        revision = Revision(
            draft=applied.draft, edits=applied.applied, cause=str(said["cause"]), left_out=applied.problems
        )
        if not problems:
            return revision
        if applied.applied and len(problems) == len(applied.problems):
            partly[:] = [revision]
        raise Unusable(problems)

    try:
        return ask_for(ask, _question(draft, failures, lessons, wish=wish, tried=tried), read)
    except TeacherUnusable:
        if not partly:
            raise
        return partly[0]


def _question(
    draft: Draft,
    failures: Sequence[Failure],
    lessons: Sequence[Lesson],
    *,
    wish: str | None,
    tried: Sequence[Tried],
) -> Question:
    message = prompt(
        "revise_message",
        skill=draft.name,
        wish="" if not wish else f"# What a person asks for\n\nThe skill is to be changed so:\n\n{quoted(wish)}\n\n",
        files="\n\n".join(_file(path, text) for path, text in texts_of(draft).items()),
        failures=describe(failures),
        lessons=_lessons(lessons),
        tried=_tried(tried),
    )
    return Question(
        purpose="revision",
        system=prompt("revise", most_edits=MOST_EDITS),
        messages=(Message(role="user", text=message),),
        schema=SCHEMA,
    )


def _file(path: str, text: str) -> str:
    more = len(text) - MOST_TEXT
    shown = text if more <= 0 else text[:MOST_TEXT]
    label = {BODY: "SKILL.md, below its frontmatter", DESCRIPTION: "description"}.get(path, path)
    note = f"\n\n({more:,} more characters are not shown)" if more > 0 else ""
    return f"## {label}\n\n{quoted(shown)}{note}"


def _lessons(lessons: Sequence[Lesson]) -> str:
    if not lessons:
        return ""
    best = sorted(lessons, key=lambda lesson: -lesson.support)[:MOST_LESSONS]
    listed = "\n".join(f"- ({lesson.kind}) {' '.join(lesson.text.split())}" for lesson in best)
    return f"\n# What the recorded work teaches\n\n{quoted(listed)}\n"


def _tried(tried: Sequence[Tried]) -> str:
    if not tried:
        return ""
    parts = []
    for number, one in enumerate(tried, start=1):
        edits = "\n".join(f"- {edit}: {' '.join((edit.text or '(deleted)').split())[:400]}" for edit in one.edits)
        parts.append(f"## Try {number}: {one.outcome}\n\n{quoted(edits)}")
    told = "These edits of the same skill were measured and were no better. Do not give them again.\n\n"
    return f"\n# What was tried\n\n{told}" + "\n\n".join(parts) + "\n"


def _edit(said: dict[str, object]) -> Edit:
    def words(key: str) -> str:
        value = said.get(key)
        return value if isinstance(value, str) else ""

    action, quote = words("action"), words("quote") or None
    return Edit(
        file=words("file").strip().removeprefix("./"),
        action="insert" if action == "insert" else "delete" if action == "delete" else "replace",
        quote=quote,
        # Weak teachers name both; the words are the more exact of the two.
        heading=None if quote else words("heading").strip() or None,
        text=words("text"),
        why=words("why"),
    )


def _draft_problems(revised: Draft, before: Draft) -> list[str]:
    """What makes a revised draft no skill. What was wrong before the edits is not held against them."""
    return []
