"""The same content in other presentations: worked examples, questions with answers, a table.

Which one a student profits from is measured, not known here.
"""

import json
from typing import Literal, get_args

from upskill.domain import Draft, estimate_tokens
from upskill.domain.answer_schemas import list_of, object_of, one_of
from upskill.domain.student_profile import CountTokens, StudentProfile
from upskill.models import Ask, Message, Question
from upskill.teaching.answers import UnusableAnswer, ask_for
from upskill.teaching.context_window import answer_tokens
from upskill.teaching.draft_answer import body_of
from upskill.teaching.draft_rules import Clean, clean_by_patterns, draft_problems
from upskill.teaching.edits import BODY, with_texts
from upskill.teaching.prompts import prompt, quoted
from upskill.teaching.skill_budget import SECTIONS, budget_for, within_budget
from upskill.teaching.student_told import reader_told

Presentation = Literal["prose", "examples", "questions", "table"]
PROSE: Presentation = "prose"
OTHERS: tuple[Presentation, ...] = get_args(Presentation)[1:]
"""What a teacher writes besides the draft itself, which is prose."""
_SCHEMA = object_of(
    ("presentations",),
    presentations=list_of(object_of(("form", "sections"), form=one_of(*OTHERS), sections=SECTIONS)),
)


def other_presentations(
    draft: Draft,
    ask: Ask,
    *,
    profile: StudentProfile | None = None,
    count: CountTokens = estimate_tokens,
    window: int | None = None,
    clean: Clean = clean_by_patterns,
) -> dict[Presentation, Draft]:
    """The draft in other presentations, each within the students' budget.

    Those that a teacher could not give are missing. Raises `TeacherUnusable` where it gave none, and what `ask` raises.
    """
    budget = budget_for(profile, count)
    found = ask_for(
        ask,
        Question(
            purpose="presentation",
            system=prompt("presentation_system", student=reader_told(profile), budget=f"{budget.tokens:,}"),
            messages=(Message(role="user", text=prompt("presentation", skill=draft.name, body=quoted(draft.body))),),
            schema=_SCHEMA,
            max_output_tokens=answer_tokens(window),
        ),
        lambda text: _read(text, draft, clean),
    )
    return {
        form: within_budget(one, ask, budget=budget, profile=profile, window=window, clean=clean)
        for form, one in found.items()
    }


def _read(text: str, draft: Draft, clean: Clean) -> dict[Presentation, Draft]:
    found: dict[Presentation, Draft] = {}
    problems: list[str] = []
    for item in json.loads(text)["presentations"]:
        made = with_texts(draft, {BODY: body_of(item["sections"], clean=clean)})
        wrong = draft_problems(made, before=draft, clean=clean, sized=False)
        problems += [f"{item['form']}: {problem}" for problem in wrong]
        if not wrong:
            found.setdefault(item["form"], made)
    if not found:
        raise UnusableAnswer(problems or ["it has no presentation"])
    return found
