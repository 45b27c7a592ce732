"""Asks a teacher for a draft of a skill, or for changes to an existing one, and keeps its body within what students can
read: the teacher shortens it, then sections are dropped. No draft is given up for its length. Reading the answer is
`draft_answer`."""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from upskill.core.models import Message, Question
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for, ask_for_each
from upskill.core.nouns import estimate_tokens
from upskill.core.nouns.answer_schemas import FILES, TEXT, TEXTS, Schema, list_of, object_of, one_of
from upskill.core.nouns.text import count as counted
from upskill.core.skills.markdown import blocks, join_body, plain_heading, split_body, with_closed_block
from upskill.generation.citations import KnownCitations
from upskill.generation.draft import (
    BODY_TOKENS,
    MOST_BODY_LINES,
    Draft,
    draft_problems,
)
from upskill.generation.draft_answer import DraftReader, body_of
from upskill.generation.edits import BODY, with_texts
from upskill.generation.failures import comments_text
from upskill.generation.material import Assignment, answer_tokens, material_budget, material_text, skill_text
from upskill.generation.programs import RunProgram, proven_commands
from upskill.generation.prompts import prompt, quoted
from upskill.generation.student import CountTokens, reader_told, rungs_for, student_told

SHORTENINGS = 2
"""How often a teacher is asked to shorten one draft before sections are dropped."""
GROWTH = 1.25
SECTIONS = list_of(object_of(("heading", "text"), heading=TEXT, text=TEXT))
SHORTER = object_of(("sections",), sections=SECTIONS, drop_first=TEXTS)
_UNBOUNDED = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillBudget:
    """How long a body may be, and how that is counted."""

    tokens: int = BODY_TOKENS
    count: CountTokens = estimate_tokens
    lines: int = MOST_BODY_LINES

    def fits(self, body: str) -> bool:
        """Whether the students can be given this body."""
        return _lines(body) <= self.lines and self.count(body) <= self.tokens

    def told(self, body: str) -> tuple[str]:
        """How long a body is, for its writer: `the body has 812 of 1,037 tokens`. Raises where that is too long."""
        line = f"the body has {self.count(body):,} of {self.tokens:,} tokens"
        if not self.fits(body):
            raise UnusableAnswer([f"{line}: too long, it would have to be shortened"])
        return (line,)

    def excess(self, body: str) -> str:
        """How far a body is over, for its writer: `88 tokens over; at most 1,037`."""
        over = self.count(body) - self.tokens
        if over > 0:
            return f"{counted(over, 'token')} over; at most {self.tokens:,}"
        return f"{counted(_lines(body) - self.lines, 'line')} over; at most {self.lines:,}"


def budget_for(assignment: Assignment, *, old: Draft | None = None) -> SkillBudget:
    """The budget of the students.

    A draft `old` that is changed and already longer may stay so, and grow by a quarter where no small window forbids.
    """
    profile, count = assignment.profile, assignment.count
    tokens = BODY_TOKENS if profile is None else max(1, profile.skill_tokens)
    if old is None or ((there := count(old.body)) <= tokens and _lines(old.body) <= MOST_BODY_LINES):
        return SkillBudget(tokens=tokens, count=count)
    more = 1.0 if profile is not None and profile.is_small else GROWTH
    lines = max(MOST_BODY_LINES, int(_lines(old.body) * more))
    return SkillBudget(tokens=max(tokens, int(there * more)), count=count, lines=lines)


def within_budget(draft: Draft, assignment: Assignment, *, budget: SkillBudget) -> Draft:
    """The draft, short enough: shortened by the teacher in two tries, then by dropping sections.

    Raises what `ask` raises, and nothing else.
    """
    for _ in range(SHORTENINGS):
        if budget.fits(draft.body):
            return draft
        if estimate_tokens(draft.body) > material_budget(assignment.window):
            break
        question = Question(
            purpose="shorten",
            system=prompt("shorten_system"),
            messages=(
                Message(
                    role="user",
                    text=prompt(
                        "shorten",
                        skill=draft.name,
                        student=student_told(assignment.profile),
                        excess=budget.excess(draft.body),
                        body=quoted(draft.body),
                    ),
                ),
            ),
            schema=SHORTER,
            max_output_tokens=answer_tokens(assignment.window),
        )
        draft = _shorter(draft, assignment, question, budget)
    return cut_to(draft, budget)


def _shorter(draft: Draft, assignment: Assignment, question: Question, budget: SkillBudget) -> Draft:
    """What the teacher made of it; the draft itself where that is unusable or no shorter."""

    def read(text: str) -> Draft:
        value = json.loads(text)
        shorter = with_texts(draft, {BODY: body_of(value["sections"], clean=assignment.clean)})
        if problems := draft_problems(shorter, before=draft, clean=assignment.clean, sized=False):
            raise UnusableAnswer(problems)
        return replace(shorter, expendable=tuple(value.get("drop_first", ())) or draft.expendable)

    (answer,) = ask_for_each(
        assignment.ask, [question], read, repairs=0, told=lambda _, shorter: budget.told(shorter.body)
    )
    if isinstance(answer, UnusableAnswer) or budget.count(answer.body) >= budget.count(draft.body):
        return draft
    return answer


def cut_to(draft: Draft, budget: SkillBudget) -> Draft:
    """The draft without its most expendable sections, then without the end of its body, until it fits."""
    sections = list(split_body(draft.body))
    for heading in map(plain_heading, draft.expendable):
        if budget.fits(join_body(sections)):
            break
        sections = [one for one in sections if plain_heading(one.heading) != heading] or sections
    body = join_body(sections)
    return with_texts(draft, {BODY: body if budget.fits(body) else _beginning(body, budget)})


def _beginning(body: str, budget: SkillBudget) -> str:
    """As much of the beginning as fits: whole paragraphs and items; else lines; else characters."""
    for parts in (tuple(blocks(body, most_tokens=_UNBOUNDED)), tuple(body.splitlines(keepends=True))):
        most = _most(parts, budget)
        while most and parts[most - 1].startswith("#"):  # a heading with nothing under it
            most -= 1
        if most:
            return _joined(parts[:most])
    return _joined(body[: max(1, _most(body, budget))])


def _most(parts: Sequence[str], budget: SkillBudget) -> int:
    """How many of the parts fit, from the first on."""
    return bisect_left(range(1, len(parts) + 1), True, key=lambda number: not budget.fits(_joined(parts[:number])))


def _joined(parts: Sequence[str]) -> str:
    return with_closed_block("".join(parts).rstrip()) + "\n"


def _lines(body: str) -> int:
    return body.count("\n") + 1


MOST_COMMANDS = 30
MOST_TAKEN = 100
MOST_TOPICS = 40
IMPROVE = "Make it better: shorter where it says what the student does right without it, exact where it is vague."


_REFERENCES = list_of(object_of(("path", "text"), path=TEXT, when=TEXT, text=TEXT, sources=TEXTS))
_SCRIPTS = list_of(
    object_of(("path", "text"), path=TEXT, when=TEXT, text=TEXT, sources=TEXTS, arguments=TEXTS, inputs=FILES)
)
_ACTION = one_of("add", "replace", "remove")
_CHANGE = object_of(("action", "heading"), action=_ACTION, heading=TEXT, text=TEXT, sources=TEXTS)


def draft_skill(
    assignment: Assignment,
    *,
    avoid: Iterable[str] = (),
    topics: Sequence[str] = (),
    run: RunProgram | None = None,
    on_draft: Callable[[Draft], object] = lambda _: None,
) -> Draft:
    """A draft that keeps to the rules and to the students' budget. Raises `TeacherUnusable` where there is none.

    With lessons, the draft is made from them; without, from the material itself. Where the material holds a skill, that
    one is changed item by item, and its name and all that is not changed stay. `avoid`: names that are taken. `topics`:
    what the learn cases are about. `run` tries programs in a sandbox; without it they stay text. A body that is too
    long is shortened, and `on_draft` gets it as it was before.
    """
    ask, material = assignment.ask, assignment.material
    reader = DraftReader(
        known=KnownCitations(material),
        lessons=assignment.lessons,
        clean=assignment.clean,
        avoid=frozenset(avoid),
        proven=proven_commands(material.digest),
        run=run,
    )
    skill = material.skill
    budget = budget_for(assignment, old=skill)
    question = _question(assignment, reader, topics=topics, budget=budget)

    def size(draft: Draft) -> tuple[str]:
        return budget.told(draft.body)

    try:
        if skill is None:
            draft = ask_for(ask, question, reader.new, told=size)
        else:
            draft = ask_for(ask, question, lambda text: reader.improved(text, skill), told=size)
    except TeacherUnusable:
        if reader.good_enough is None:
            raise
        draft = reader.good_enough
    on_draft(draft)
    return within_budget(draft, assignment, budget=budget)


def _question(assignment: Assignment, reader: DraftReader, *, topics: Sequence[str], budget: SkillBudget) -> Question:
    material, lessons, window = assignment.material, assignment.lessons, assignment.window
    seen = material_text(material, lessons, budget=material_budget(window))
    scripts = bool(reader.proven) and reader.run is not None
    told = "\n" + prompt("draft_scripts", commands=quoted("\n".join(reader.proven[:MOST_COMMANDS]))) if scripts else ""
    skill = material.skill
    if skill is None:
        taken = ", ".join(f"`{name}`" for name in sorted(reader.avoid)[:MOST_TAKEN])
        text = prompt(
            "draft",
            task=quoted(material.task.strip() or "(not said; it shows in the material)"),
            material=seen,
            topics=f" The practice tasks are about: {', '.join(topics[:MOST_TOPICS])}." if topics else "",
            samples="\n".join(prompt(f"sample_{rung}") for rung in rungs_for(assignment.profile)),
            taken=f" Names that are taken: {taken}." if taken else "",
            scripts=told,
        )
        schema = _draft_schema(scripts=scripts)
    else:
        text = prompt(
            "improve",
            task=quoted(material.task.strip() or IMPROVE),
            name=skill.name,
            skill=skill_text(skill),
            material=comments_text(material.comments, end="\n\n")
            + (seen if material.examples or material.documents or material.digest or lessons else ""),
            budget=f"{budget.tokens:,}",
            tokens=f"{budget.count(skill.body):,}",
            scripts=told,
        )
        schema = _improvement_schema(scripts=scripts)
    return Question(
        purpose="draft",
        system=prompt("draft_system", budget=f"{budget.tokens:,}", student=reader_told(assignment.profile)),
        messages=(Message(role="user", text=text),),
        schema=schema,
        max_output_tokens=answer_tokens(window),
    )


def _draft_schema(*, scripts: bool) -> Schema:
    section = object_of(("heading", "text"), heading=TEXT, text=TEXT, sources=TEXTS)
    fields = {"name": TEXT, "description": TEXT, "sections": list_of(section), "references": _REFERENCES}
    fields["drop_first"] = TEXTS
    return object_of(("name", "description", "sections"), **fields, **({"scripts": _SCRIPTS} if scripts else {}))


def _improvement_schema(*, scripts: bool) -> Schema:
    fields = {"changes": list_of(_CHANGE), "description": TEXT, "references": _REFERENCES, "remove_files": TEXTS}
    fields["drop_first"] = TEXTS
    return object_of(("changes",), **fields, **({"scripts": _SCRIPTS} if scripts else {}))
