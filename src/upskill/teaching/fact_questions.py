"""Asks a teacher for the plan of facts: in one question, or piece by piece where the material exceeds its window."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from upskill.domain import estimate_tokens
from upskill.domain.answer_schemas import TEXT, list_of, object_of, one_of
from upskill.domain.family import MOST_FAMILY_CHARACTERS
from upskill.domain.student_profile import StudentProfile
from upskill.domain.text import count
from upskill.models import Ask, Message, Question
from upskill.teaching.answers import UnusableAnswer, ask_for
from upskill.teaching.case_split import CaseCounts
from upskill.teaching.citations import KnownCitations
from upskill.teaching.context_window import answer_tokens, material_budget
from upskill.teaching.draft_rules import Clean, clean_by_patterns, without_hidden
from upskill.teaching.fact_plan import MOST_FACT, MOST_ID, Fact, FactKind, FactPlan, with_sides
from upskill.teaching.markdown import pieces
from upskill.teaching.material import Material, numbered, skill_texts
from upskill.teaching.places import passage_at
from upskill.teaching.prompts import prompt, quoted
from upskill.teaching.student_told import asked_told
from upskill.teaching.written_case import slug

PURPOSE = "plan"
MOST_PIECES = 12
"""Questions at most; of a material with more pieces, as many are read, evenly spread."""
LEAST_FAMILIES = 2

SCHEMA = object_of(
    facts=list_of(object_of(id=TEXT, text=TEXT, kind=one_of(*get_args(FactKind)), place=TEXT, family=TEXT))
)
_NO_PLACE = "an empty text, since there is no material: list what you are certain of"
_PLACE = (
    "where it stands, as few lines or steps as somebody must read to know it: `document NAME lines 3 to 20`, "
    "`SKILL.md lines 3 to 9`, `step 14`, `trace 2 step 14`, `example 1`. An entry whose place does not exist is dropped"
)


def plan_facts(
    material: Material,
    ask: Ask,
    *,
    counts: CaseCounts,
    window: int | None = None,
    profile: StudentProfile | None = None,
    clean: Clean = clean_by_patterns,
) -> FactPlan:
    """What the material knows that matters for the task, each family on one side.

    Raises `TeacherUnusable` where there is no plan with a family on each side that is wanted.
    """
    shown = _shown(material, material_budget(window))
    reader = _Reader(material=material, known=KnownCitations(material), placed=bool(shown[0]), clean=clean)
    facts: list[Fact] = []
    for number, piece in enumerate(shown):
        most = -(-(counts.positive - len(facts)) // (len(shown) - number))
        if most:
            needs = counts if number == len(shown) - 1 else None
            question = _question(material, piece, facts, most, window, profile)
            facts = ask_for(ask, question, partial(reader.read, before=facts, most=most, needs=needs))
    return with_sides(facts, counts)


def plan_calls(material: Material, *, window: int | None) -> int:
    """How many questions `plan_facts` asks, if no answer must be repaired."""
    return len(_shown(material, material_budget(window)))


def _shown(material: Material, budget: int) -> list[str]:
    """The material as it is shown, one text for each question; one that is empty where nothing is to be read."""
    packed: list[list[str]] = [[]]
    used = 0
    for title, text in _texts(material):
        whole = estimate_tokens(text) <= budget
        for piece in (text,) if whole else pieces(text, most_tokens=budget):
            if packed[-1] and used + estimate_tokens(piece) > budget:
                packed.append([])
                used = 0
            packed[-1].append(f"## {title}\n\n{quoted(piece)}")
            used += estimate_tokens(piece)
    if len(packed) > MOST_PIECES:
        packed = [packed[at * len(packed) // MOST_PIECES] for at in range(MOST_PIECES)]
    return ["\n\n".join(sections) for sections in packed]


def _texts(material: Material) -> Iterator[tuple[str, str]]:
    """Everything that can be cited, under the name by which it is, with its lines numbered where they are cited."""
    for number, example in enumerate(material.examples, 1):
        yield f"example {number}", example
    if material.digest is not None:
        yield "Recorded work (digest)", material.digest.text
    for path, text in skill_texts(material.skill).items() if material.skill is not None else ():
        yield path, numbered(text)
    for document in material.documents:
        yield f"document {document.name}", numbered(document.text)


def _question(
    material: Material,
    piece: str,
    facts: Sequence[Fact],
    most: int,
    window: int | None,
    profile: StudentProfile | None,
) -> Question:
    listed = "\n".join(f"- {fact.text} (family `{fact.family}`)" for fact in facts)
    before = f"\n\nListed already, from other parts of the material; list none of these again:\n\n{quoted(listed)}"
    told = asked_told(profile)
    return Question(
        purpose=PURPOSE,
        system=prompt("plan_system", student=f"\n\n{told}" if told else "", place=_PLACE if piece else _NO_PLACE),
        messages=(
            Message(
                role="user",
                text=prompt(
                    "plan",
                    task=quoted(material.task.strip() or "(not said)"),
                    material=piece or "There is no material beside the task.",
                    listed=before if facts else "",
                    most=most,
                ),
            ),
        ),
        schema=SCHEMA,
        max_output_tokens=answer_tokens(window),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """Reads the facts of an answer."""

    material: Material
    known: KnownCitations
    placed: bool
    """Whether there is anything that a fact can have its place in."""
    clean: Clean

    def read(self, text: str, *, before: Sequence[Fact], most: int, needs: CaseCounts | None) -> list[Fact]:
        """The facts so far and those of this answer. One that repeats another, or whose place does not exist, is left
        out. Raises `UnusableAnswer` where `needs` is given and a side that it wants has none."""
        found = [*before]
        for item in json.loads(text)["facts"]:
            fact = self._fact(item, {one.id for one in found})
            if fact is not None and len(found) < len(before) + most and all(one.text != fact.text for one in found):
                found.append(fact)
        if needs is not None and with_sides(found, needs).lacks(needs) is not None:
            where = " whose place is in the material" if self.placed else ""
            families = count(len({fact.family for fact in found}), "family", "families")
            raise UnusableAnswer([f"it has {families} of facts{where}; at least {LEAST_FAMILIES} are needed"])
        return found

    def _fact(self, item: Mapping[str, Any], taken: Set[str]) -> Fact | None:
        text = " ".join(self.clean(without_hidden(item["text"])).split())
        place = "; ".join(self.known.named_in(item["place"].split(";")))
        name = slug(item["id"], MOST_ID) or slug(text, MOST_ID)
        if not name or not 0 < len(text) <= MOST_FACT:
            return None
        if self.placed and passage_at(self.material, place, most_tokens=1) is None:
            return None
        numbers = (f"{name[: MOST_ID - 5]}-{number}" for number in itertools.count(2))
        name = name if name not in taken else next(other for other in numbers if other not in taken)
        family = slug(item["family"], MOST_FAMILY_CHARACTERS) or name
        return Fact(id=name, text=text, kind=item["kind"], place=place if self.placed else "", family=family)
