"""Revises a draft from its failures: the teacher gives itemised edits, and they are applied as they are. Also gives the
same content in other presentations.

An edit that does not apply is reported to the teacher, and what no edit names stays. A whole new body is taken only
where nearly everything failed. What is too long afterwards is shortened."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

from upskill.core.models import Message, Question
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for
from upskill.core.nouns.answer_schemas import TEXT, TEXTS, Schema, list_of, object_of, one_of
from upskill.generation.draft import Clean, Draft, Lesson, draft_problems, without_hidden
from upskill.generation.draft_answer import body_of
from upskill.generation.drafting import SECTIONS, SkillBudget, budget_for, within_budget
from upskill.generation.edits import BODY, DESCRIPTION, MOST_EDITS, Edit, EditedDraft, apply_edits, texts_of, with_texts
from upskill.generation.failures import Failure, choose, comments_text, describe
from upskill.generation.material import (
    LEAST_SHOWN,
    Assignment,
    CommentedAnswer,
    Material,
    answer_tokens,
    material_budget,
    material_needed,
)
from upskill.generation.prompts import prompt, quoted
from upskill.generation.student import reader_told

Presentation = Literal["prose", "examples", "questions", "table"]
PROSE: Presentation = "prose"
OTHERS: tuple[Presentation, ...] = get_args(Presentation)[1:]
"""What a teacher writes besides the draft itself, which is prose."""
PRESENTATIONS = object_of(
    ("presentations",),
    presentations=list_of(object_of(("form", "sections"), form=one_of(*OTHERS), sections=SECTIONS)),
)


def other_presentations(draft: Draft, assignment: Assignment) -> dict[Presentation, Draft]:
    """The draft in other presentations, each within the students' budget.

    Those that a teacher could not give are missing. Raises `TeacherUnusable` where it gave none, and what `ask` raises.
    """
    budget = budget_for(assignment)
    found, _ = ask_for(
        assignment.ask,
        Question(
            purpose="presentation",
            system=prompt("presentation_system", student=reader_told(assignment.profile), budget=f"{budget.tokens:,}"),
            messages=(Message(role="user", text=prompt("presentation", skill=draft.name, body=quoted(draft.body))),),
            schema=PRESENTATIONS,
            max_output_tokens=answer_tokens(assignment.window),
        ),
        lambda text: _read(text, draft, assignment.clean),
        told=lambda read: _told(*read, draft, budget),
    )
    return {form: within_budget(one, assignment, budget=budget) for form, one in found.items()}


def _read(text: str, draft: Draft, clean: Clean) -> tuple[dict[Presentation, Draft], list[str]]:
    """The forms that can be measured, and what is wrong with the others."""
    found: dict[Presentation, Draft] = {}
    problems: list[str] = []
    for item in json.loads(text)["presentations"]:
        made = with_texts(draft, {BODY: body_of(item["sections"], clean=clean)})
        wrong = [*draft_problems(made, before=draft, clean=clean, sized=False), *_lost_facts(draft, made)]
        problems += [f"{item['form']}: {problem}" for problem in wrong]
        if not wrong:
            found.setdefault(item["form"], made)
    if not found:
        raise UnusableAnswer(problems or ["it has no presentation"])
    return found, problems


def _told(forms: Mapping[Presentation, Draft], problems: list[str], draft: Draft, budget: SkillBudget) -> list[str]:
    """How long each form is and what it no longer names. Raises where one is refused or too long."""
    lines: list[str] = []
    for form, one in forms.items():
        try:
            lines += (f"{form}: {line}" for line in budget.told(one.body))
        except UnusableAnswer as unusable:
            problems = [*problems, *(f"{form}: {problem}" for problem in unusable.problems)]
        lines += (f"{form}: does not name `{name}`" for name in _lost(draft, one))
    if problems:
        raise UnusableAnswer([*problems, *lines])
    return lines


MOST_LESSONS = 24
MOST_LOST = 0.15
"""The share of a skill's names and values that a revision may lose."""
FEW_LOST = 3
"""So many it may lose of any skill: a wrong name has to go."""
_IN_CODE = re.compile(r"`([^`\n]+)`")
MOST_TEXT = 30_000
"""Characters of one file that a teacher is shown; the rest cannot be edited."""

CHARACTERS_PER_TOKEN = 3
"""A low estimate: text that exceeds a window is an error, and unused space costs nothing."""
LEAST_FOR_FAILURES = 1_500

_ACTION = one_of("replace", "insert", "delete")
_EDIT = object_of(("file", "action"), file=TEXT, action=_ACTION, quote=TEXT, heading=TEXT, text=TEXT, why=TEXT)
_CAUSE = {**TEXT, "description": "why the student failed, in one or two sentences"}
SCHEMA = object_of(("edits",), cause=_CAUSE, edits=list_of(_EDIT), drop_first=TEXTS)
WHOLE_BODY = "the whole body"
"""What an edit names as its place where it stands for a rewrite."""
_LEAVE = (
    "Leave what works as it is. Do not polish, do not rearrange, do not write the skill anew: at least half of the "
    "lines of a file must stay."
)
_REWRITE = (
    "With this skill the student fails nearly everything that it could pass, so small edits may not be enough: you may "
    "give `sections` instead, a whole new body (`heading` without `#`, `text` in Markdown), with `edits` empty. Think "
    "of another form: fewer statements, other words, an example of the answer itself."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedEdits:
    """Edits of the same draft that were measured before and were no better."""

    edits: tuple[Edit, ...]
    outcome: str
    """How they did, in words: `6 of 10 instead of 7 of 10`."""
    moved: str = ""
    """Which tasks they mended and broke, in words; empty where none changed."""


class Revise(Protocol):
    """Revises a draft from its failures: `revise`, with the assignment filled in."""

    def __call__(
        self,
        draft: Draft,
        failures: Sequence[Failure],
        /,
        *,
        tried: Sequence[FailedEdits] = (),
        standing: str = "",
        may_add: bool = True,
        rewrite: bool = False,
    ) -> EditedDraft: ...


def revise(
    draft: Draft,
    failures: Sequence[Failure],
    assignment: Assignment,
    *,
    tried: Sequence[FailedEdits] = (),
    standing: str = "",
    may_add: bool = True,
    rewrite: bool = False,
) -> EditedDraft:
    """Ask the teacher for edits and apply them. Raises `TeacherUnusable` where none can be used.

    `standing` tells it how the draft does. With `rewrite` a whole new body is taken too. The result keeps to the
    students' budget. Edits of the last answer that apply are kept even where others do not: a weak teacher may misquote
    one place of four in every try.
    """
    clean, window = assignment.clean, assignment.window
    partly: list[EditedDraft] = []

    def read(text: str) -> EditedDraft:
        value = json.loads(text)
        if rewrite and value.get("sections") and not value["edits"]:
            edited = _rewritten(draft, value["sections"], clean)
        else:
            edited = apply_edits(draft, [_edit(one) for one in value["edits"]], may_add=may_add)
        if value.get("drop_first"):
            edited = replace(edited, draft=replace(edited.draft, expendable=tuple(value["drop_first"])))
        broken = draft_problems(edited.draft, before=draft, clean=clean, sized=False)
        if assignment.material.wish is None:
            broken += _lost_facts(draft, edited.draft)
        if not broken and not edited.problems:
            return edited
        if not broken and edited.edits:
            partly[:] = [edited]
        raise UnusableAnswer([*edited.problems, *broken])

    budget = budget_for(assignment, old=draft)
    question = Question(
        purpose="revision",
        system=prompt(
            "revise_system",
            most_edits=MOST_EDITS,
            student=reader_told(assignment.profile),
            budget=f"{budget.tokens:,}",
            tokens=f"{assignment.count(draft.body):,}",
            rewrite=_REWRITE if rewrite else _LEAVE,
        ),
        messages=(Message(role="user", text=_message(draft, failures, assignment, tried, standing)),),
        schema=_rewrite_schema() if rewrite else SCHEMA,
        max_output_tokens=answer_tokens(window),
    )
    try:
        edited = ask_for(assignment.ask, question, read, told=lambda one: _told_of(one.draft, draft, budget))
    except TeacherUnusable:
        if not partly:
            raise
        edited = partly[0]
    return replace(edited, draft=within_budget(edited.draft, assignment, budget=budget))


def _lost_facts(before: Draft, after: Draft) -> list[str]:
    """A problem where much of what the skill names is gone: edits mend what failed, another form says the same, and
    unseen tasks ask for more."""
    had = _names(before.body)
    lost = _lost(before, after)
    if len(lost) <= max(FEW_LOST, MOST_LOST * len(had)):
        return []
    shown = ", ".join(f"`{name}`" for name in lost[:12])
    return [
        f"{len(lost)} of the {len(had)} names and values of the skill are gone, and unseen tasks ask for them: {shown}"
    ]


def _told_of(after: Draft, before: Draft, budget: SkillBudget) -> list[str]:
    return [*budget.told(after.body), *(f"no longer names `{name}`" for name in _lost(before, after))]


def _lost(before: Draft, after: Draft) -> list[str]:
    """What is named in backticks before and nowhere after."""
    return [name for name in _names(before.body) if name not in after.body]


def _names(body: str) -> list[str]:
    """What stands in backticks, each once; a single letter is in every text, and what is longer is a sentence."""
    return [name for name in dict.fromkeys(_IN_CODE.findall(body)) if 2 <= len(name) <= 80]


def _rewrite_schema() -> Schema:
    return {**SCHEMA, "properties": {**SCHEMA["properties"], "sections": SECTIONS}}


def _rewritten(draft: Draft, sections: Sequence[Any], clean: Clean) -> EditedDraft:
    """The draft with a new body, recorded as one edit."""
    body = body_of(sections, clean=clean)
    edit = Edit(file=BODY, action="replace", heading=WHOLE_BODY, text=body)
    return EditedDraft(draft=with_texts(draft, {BODY: body}), edits=(edit,), problems=())


def _message(
    draft: Draft, failures: Sequence[Failure], assignment: Assignment, tried: Sequence[FailedEdits], standing: str
) -> str:
    """The text of the question. Where the window is small, material is left out, failures are cut, lessons left out."""
    files = "\n\n".join(_file(path, text) for path, text in texts_of(draft).items())
    left = material_budget(assignment.window) * CHARACTERS_PER_TOKEN - len(files) - len(standing)
    taught = _lessons(assignment.lessons) if left > 2 * LEAST_FOR_FAILURES else ""
    failed = describe(failures, most=max(LEAST_FOR_FAILURES, left - len(taught)))
    before = _tried(tried)
    return prompt(
        "revise",
        skill=draft.name,
        wish=_asked_for(assignment.material.wish, assignment.material.comments, most=left // 4),
        standing=standing,
        files=files,
        failures=failed,
        lessons=taught,
        material=_material(assignment.material, failures, characters=left - len(taught) - len(failed) - len(before)),
        tried=before,
    )


def _asked_for(wish: str | None, comments: Sequence[CommentedAnswer], *, most: int) -> str:
    """What a person asked for, and what they said of answers; empty where that is nothing."""
    asked = f"# What a person asks for\n\nThe skill is to be changed so:\n\n{quoted(wish)}\n\n" if wish else ""
    return f"{asked}{comments_text(comments, most=most)}\n" if comments else asked


def _material(material: Material, failures: Sequence[Failure], *, characters: int) -> str:
    """The material again, what the failures shown need first; empty where each stands beside its passage, and where
    there is no space."""
    budget = characters // 4  # as tokens are estimated
    shown = choose(failures)
    if budget < LEAST_SHOWN or (shown and all(failure.passage for failure in shown)):
        return ""
    needed = "\n".join(failure.prompt for failure in shown)
    text = material_needed(material, needed, budget=budget)
    return f"\n# The material\n\n{text}\n" if text else ""


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
    listed = "\n".join(f"- ({lesson.kind}) {' '.join(lesson.text.split())[:600]}" for lesson in best)
    return f"\n# What the material teaches\n\n{quoted(listed)}\n"


def _tried(tried: Sequence[FailedEdits]) -> str:
    if not tried:
        return ""
    parts = []
    for number, one in enumerate(tried, start=1):
        edits = "\n".join(f"- {edit}: {' '.join((edit.text or '(deleted)').split())[:400]}" for edit in one.edits)
        parts.append("\n\n".join(filter(None, (f"## Try {number}: {one.outcome}", quoted(edits), one.moved))))
    told = (
        "These edits of the same skill were measured and were no better. Do not give the same set again; one of them "
        "alone may come back.\n\n"
    )
    return f"# What was tried\n\n{told}" + "\n\n".join(parts) + "\n\n"


def _edit(said: Mapping[str, Any]) -> Edit:
    """An edit as the schema has it. Weak teachers give a quote and a heading; the quote is the more exact."""
    quote = said.get("quote") or None
    return Edit(
        file=said["file"].strip().removeprefix("./"),
        action=said["action"],
        quote=quote,
        heading=None if quote else said.get("heading", "").strip() or None,
        text=without_hidden(said.get("text", "")),
    )
