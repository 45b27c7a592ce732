"""Functions that ask a teacher, with the assignment made from keywords: most tests set one or two of its fields."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from upskill.core.models import Ask
from upskill.generation import drafting, lessons, refine, revising
from upskill.generation.draft import Draft, Lesson
from upskill.generation.drafting import SkillBudget
from upskill.generation.edits import EditedDraft
from upskill.generation.failures import Failure
from upskill.generation.material import Assignment, Material

_FIELDS = {one.name for one in fields(Assignment)}


def _split(ask: Ask, given: dict[str, Any]) -> tuple[Assignment, dict[str, Any]]:
    """The assignment that these keywords make, and the other keywords."""
    made = {name: value for name, value in given.items() if name in _FIELDS}
    if "wish" in given:
        made["material"] = replace(made.get("material", Material(task="")), wish=given["wish"])
    return Assignment(ask=ask, **made), {name: value for name, value in given.items() if name not in {*_FIELDS, "wish"}}


def refine_draft(start: Draft, *, ask: Ask, **given: Any) -> refine.RefineResult:
    assignment, others = _split(ask, given)
    return refine.refine(start, assignment=assignment, **others)


def revise(draft: Draft, failures: Sequence[Failure], taught: Sequence[Lesson], ask: Ask, **given: Any) -> EditedDraft:
    assignment, others = _split(ask, {**given, "lessons": tuple(taught)})
    return revising.revise(draft, failures, assignment, **others)


def draft_skill(material: Material, taught: Sequence[Lesson], ask: Ask, **given: Any) -> Draft:
    assignment, others = _split(ask, {**given, "material": material, "lessons": tuple(taught)})
    return drafting.draft_skill(assignment, **others)


def find_lessons(material: Material, ask: Ask, **given: Any) -> tuple[Lesson, ...]:
    assignment, others = _split(ask, {**given, "material": material})
    return lessons.find_lessons(assignment, **others)


def other_presentations(draft: Draft, ask: Ask, **given: Any) -> dict[revising.Presentation, Draft]:
    return revising.other_presentations(draft, _split(ask, given)[0])


def within_budget(draft: Draft, ask: Ask, *, budget: SkillBudget, **given: Any) -> Draft:
    return drafting.within_budget(draft, _split(ask, given)[0], budget=budget)
