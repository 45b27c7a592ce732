"""Keeps the body of a skill within what its students can read: the teacher shortens it, then sections are dropped.

No draft is given up for its length. Nothing is measured here.
"""

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from upskill.domain import Draft, estimate_tokens
from upskill.domain.answer_schemas import TEXT, TEXTS, list_of, object_of
from upskill.domain.student_profile import CountTokens, StudentProfile
from upskill.domain.text import count as counted
from upskill.models import Ask, Message, Question
from upskill.teaching.answers import UnusableAnswer, ask_for_each
from upskill.teaching.context_window import answer_tokens, material_budget
from upskill.teaching.draft_answer import body_of
from upskill.teaching.draft_rules import BODY_TOKENS, MOST_BODY_LINES, Clean, clean_by_patterns, draft_problems
from upskill.teaching.edits import BODY, with_texts
from upskill.teaching.markdown import blocks, join_body, plain_heading, split_body, with_closed_block
from upskill.teaching.prompts import prompt, quoted
from upskill.teaching.student_told import student_told

SHORTENINGS = 2
"""How often a teacher is asked to shorten one draft before sections are dropped."""
GROWTH = 1.25
SECTIONS = list_of(object_of(("heading", "text"), heading=TEXT, text=TEXT))
_SCHEMA = object_of(("sections",), sections=SECTIONS, drop_first=TEXTS)
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

    def excess(self, body: str) -> str:
        """How far a body is over, for its writer: `88 tokens over; at most 1,037`."""
        over = self.count(body) - self.tokens
        if over > 0:
            return f"{counted(over, 'token')} over; at most {self.tokens:,}"
        return f"{counted(_lines(body) - self.lines, 'line')} over; at most {self.lines:,}"


def budget_for(profile: StudentProfile | None, count: CountTokens, *, old: Draft | None = None) -> SkillBudget:
    """The budget of these students.

    A draft `old` that is changed and already longer may stay so, and grow by a quarter where no small window forbids.
    """
    tokens = BODY_TOKENS if profile is None else max(1, profile.skill_tokens)
    if old is None or ((there := count(old.body)) <= tokens and _lines(old.body) <= MOST_BODY_LINES):
        return SkillBudget(tokens=tokens, count=count)
    more = 1.0 if profile is not None and profile.is_small else GROWTH
    lines = max(MOST_BODY_LINES, int(_lines(old.body) * more))
    return SkillBudget(tokens=max(tokens, int(there * more)), count=count, lines=lines)


def within_budget(
    draft: Draft,
    ask: Ask,
    *,
    budget: SkillBudget,
    profile: StudentProfile | None = None,
    window: int | None = None,
    clean: Clean = clean_by_patterns,
) -> Draft:
    """The draft, short enough: shortened by the teacher in two tries, then by dropping sections.

    `window` is the teacher's. Raises what `ask` raises, and nothing else.
    """
    for _ in range(SHORTENINGS):
        if budget.fits(draft.body):
            return draft
        if estimate_tokens(draft.body) > material_budget(window):
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
                        student=student_told(profile),
                        excess=budget.excess(draft.body),
                        body=quoted(draft.body),
                    ),
                ),
            ),
            schema=_SCHEMA,
            max_output_tokens=answer_tokens(window),
        )
        draft = _shorter(draft, ask, question, budget=budget, clean=clean)
    return cut_to(draft, budget)


def _shorter(draft: Draft, ask: Ask, question: Question, *, budget: SkillBudget, clean: Clean) -> Draft:
    """What the teacher made of it; the draft itself where that is unusable or no shorter."""

    def read(text: str) -> Draft:
        value = json.loads(text)
        shorter = with_texts(draft, {BODY: body_of(value["sections"], clean=clean)})
        if problems := draft_problems(shorter, before=draft, clean=clean, sized=False):
            raise UnusableAnswer(problems)
        return replace(shorter, expendable=tuple(value.get("drop_first", ())) or draft.expendable)

    (answer,) = ask_for_each(ask, [question], read, repairs=0)
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
