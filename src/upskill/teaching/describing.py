"""Revises the description of a skill from the practice prompts on which students decided wrongly.

The teacher sees the skill and practice prompts, never a held-out one, and answers with a description; the body is not
its to change. Whether a description is any good is measured elsewhere.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from upskill.domain import Draft
from upskill.domain.answer_schemas import TEXT, object_of
from upskill.domain.skill import MOST_CHARACTERS
from upskill.domain.text import count
from upskill.domain.trigger import PromptTally
from upskill.models import Ask, Message, Question
from upskill.teaching.answers import UnusableAnswer, ask_for
from upskill.teaching.context_window import answer_tokens, material_budget
from upskill.teaching.draft_answer import portable_description
from upskill.teaching.draft_rules import Clean, clean_by_patterns, description_problems
from upskill.teaching.prompts import prompt, quoted

MOST_SHOWN = 16
"""Prompts of one kind that a teacher is shown."""
MOST_RIGHT = 4
"""Prompts of one kind that are shown although students decided rightly."""
MOST_PROMPT = 800
"""Characters of one prompt."""
QUOTED_WORDS = 8
"""A description that has so many words of a practice prompt in a row quotes it."""
CHARACTERS_PER_TOKEN = 3
"""A low estimate: text that exceeds a window is an error."""

_CAUSE = {**TEXT, "description": "why students decided wrongly, in one or two sentences"}
_DESCRIPTION = {**TEXT, "description": "the new description, one line"}
SCHEMA = object_of(("description",), cause=_CAUSE, description=_DESCRIPTION)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedDescription:
    """A description that was measured before and was no better."""

    description: str
    outcome: str
    """How it did, in words."""


def describe_better(
    skill: Draft,
    outcomes: Sequence[PromptTally],
    ask: Ask,
    *,
    figures: str,
    tried: Sequence[TriedDescription] = (),
    window: int | None = None,
    clean: Clean = clean_by_patterns,
) -> str:
    """Ask the teacher for a better description. Raises `TeacherUnusable` where none can be used.

    `outcomes` are of practice prompts only, one for each, all students together; `figures` says in words how the
    description did on them.
    """

    def read(text: str) -> str:
        description = portable_description(json.loads(text)["description"], clean=clean)
        problems = description_problems(description)
        problems += [f"it quotes a practice prompt: {words}" for words in _quoted_words(description, outcomes)]
        known = {skill.description, *(one.description for one in tried)}
        if description in known:
            problems.append("it is a description that was measured before")
        if problems:
            raise UnusableAnswer(problems)
        return description

    question = Question(
        purpose="description",
        system=prompt("describe_system", most=f"{MOST_CHARACTERS['description']:,}"),
        messages=(Message(role="user", text=_message(skill, outcomes, figures, tried, window)),),
        schema=SCHEMA,
        max_output_tokens=answer_tokens(window),
    )
    return ask_for(ask, question, read)


def _message(
    skill: Draft, outcomes: Sequence[PromptTally], figures: str, tried: Sequence[TriedDescription], window: int | None
) -> str:
    """The text of the question. Where the window is small, the body is cut."""
    wrong, before = _decided(outcomes), _tried(tried)
    left = material_budget(window) * CHARACTERS_PER_TOKEN - len(wrong) - len(before) - len(skill.description)
    body = skill.body.strip()
    if len(body) > max(left, 0):
        body = f"{body[: max(left, 0)]}\n[… {len(body) - max(left, 0):,} more characters]"
    return prompt(
        "describe",
        skill=skill.name,
        description=quoted(skill.description),
        body=quoted(body),
        figures=figures,
        wrong=wrong,
        tried=before,
    )


def _decided(outcomes: Sequence[PromptTally]) -> str:
    kinds = (
        ("Requests that need the skill and did not load it", True, True),
        ("Near misses that loaded it", False, True),
        ("Requests that need the skill and loaded it", True, False),
        ("Near misses that did not load it", False, False),
    )
    parts = []
    for title, should_load, wrong in kinds:
        mine = [
            one
            for one in outcomes
            if one.prompt.should_load == should_load and one.answers and bool(one.wrong) == wrong
        ]
        shown = sorted(mine, key=lambda one: -one.wrong / one.answers)[: MOST_SHOWN if wrong else MOST_RIGHT]
        listed = "\n\n".join(_shown(one) for one in shown)
        more = f", {len(shown)} of them shown" if len(shown) < len(mine) else ""
        parts.append(f"## {title}: {len(mine)}{more}\n\n{listed}" if mine else f"## {title}: none")
    return "\n\n".join(parts) + "\n"


def _shown(one: PromptTally) -> str:
    text = one.prompt.prompt
    shown = text if len(text) <= MOST_PROMPT else f"{text[:MOST_PROMPT]}…"
    instead = f" (instead of it: {', '.join(one.others[:3])})" if one.others else ""
    return f"Loaded in {one.loads} of {count(one.answers, 'answer')}{instead}:\n\n{quoted(shown)}"


def _tried(tried: Sequence[TriedDescription]) -> str:
    if not tried:
        return ""
    parts = [
        f"## Try {number}: {one.outcome}\n\n{quoted(one.description)}" for number, one in enumerate(tried, start=1)
    ]
    told = "These descriptions were measured on the same requests and were no better. Do not give them again.\n\n"
    return f"\n# What was tried\n\n{told}" + "\n\n".join(parts) + "\n"


def _quoted_words(description: str, outcomes: Iterable[PromptTally]) -> list[str]:
    """The first words of each practice prompt that the description quotes."""
    runs = set(_runs(description))
    found = (next((run for run in _runs(one.prompt.prompt) if run in runs), None) for one in outcomes)
    return list(dict.fromkeys(" ".join(run) for run in found if run is not None))[:3]


def _runs(text: str) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return [tuple(words[start : start + QUOTED_WORDS]) for start in range(len(words) - QUOTED_WORDS + 1)]
