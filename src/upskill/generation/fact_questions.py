"""Brings the plan of facts: the one that a run has, the one of a file that a person edited, or a new one, asked of the
case writer in one question, or piece by piece where the material exceeds its window."""

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from upskill.core.cases.family import MOST_FAMILY_CHARACTERS
from upskill.core.cases.split import CaseCounts
from upskill.core.models import Ask, Message, Question
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for
from upskill.core.nouns import estimate_tokens
from upskill.core.nouns.answer_schemas import TEXT, list_of, object_of, one_of
from upskill.core.nouns.text import count
from upskill.core.progress import Progress
from upskill.core.runs.records import keep_text
from upskill.core.skills.markdown import pieces
from upskill.errors import EXIT_DONE, UpskillError, UsageError
from upskill.generation.citations import KnownCitations, passage_at
from upskill.generation.draft import Clean, clean_by_patterns, without_hidden
from upskill.generation.facts import MOST_FACT, MOST_ID, Fact, FactKind, FactPlan, plan_text, read_plan, with_sides
from upskill.generation.files import TeachingFolder
from upskill.generation.material import Material, answer_tokens, material_budget, numbered, skill_texts
from upskill.generation.prompts import prompt, quoted
from upskill.generation.student import StudentProfile, asked_told
from upskill.generation.written_case import slug
from upskill.redaction import redactor_from

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


PLAN_FILE = "plan.json"


class PlanWritten(UpskillError):
    """The plan was written to the file that a person named, to be edited; nothing else was asked for."""

    exit_code = EXIT_DONE


def read_plan_file(path: str, material: Material, counts: CaseCounts) -> FactPlan | None:
    """The plan in a file, without secrets; `None` where there is none yet. Raises `UsageError` where it cannot be used,
    or could not be written."""
    try:
        plan = read_plan(Path(path).read_bytes(), material, counts, where=path)
    except FileNotFoundError:
        if not os.access(Path(path).parent, os.W_OK | os.X_OK):
            raise UsageError(
                f"{path}: cannot be written", hint="name a file in a folder that you can write to"
            ) from None
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    clean = redactor_from(os.environ).clean
    return FactPlan(facts=tuple(replace(fact, text=clean(fact.text)) for fact in plan.facts))


def plan_of_run(
    folder: TeachingFolder,
    file: str | None,
    material: Material,
    ask: Ask,
    *,
    counts: CaseCounts,
    window: int | None,
    profile: StudentProfile | None,
    progress: Progress,
) -> FactPlan | None:
    """The plan that a run has, else that of the file, else a new one; `None`, with a note, where there is none.

    Raises `PlanWritten` where a file is named and does not exist: the plan is in it now.
    """
    saved = folder.saved(PLAN_FILE)
    if saved is not None:
        return read_plan(saved, material, counts, where=str(folder.path / PLAN_FILE))
    plan = None if file is None else read_plan_file(file, material, counts)
    if plan is None:
        plan = new_plan(material, ask, counts=counts, window=window, profile=profile, progress=progress)
        if plan is not None and file is not None:
            keep_text(Path(file), plan_text(plan))
            raise PlanWritten(f"{plan}. The plan is in {file}: edit it, then run the same command again.")
    if plan is not None:
        folder.save(PLAN_FILE, plan_text(plan))
        progress.note(f"{plan} ({PLAN_FILE})")
    return plan


def new_plan(
    material: Material,
    ask: Ask,
    *,
    counts: CaseCounts,
    window: int | None,
    profile: StudentProfile | None = None,
    progress: Progress,
) -> FactPlan | None:
    """What the case writer lists; `None`, with a note, where that cannot be used."""
    if not counts.positive:
        return None
    clean = redactor_from(os.environ).clean
    try:
        return plan_facts(material, ask, counts=counts, window=window, profile=profile, clean=clean)
    except TeacherUnusable as error:
        progress.note(f"note: {NO_PLAN} ({error.message})")
        return None


NO_PLAN = "no plan of facts: cases are written from the material as a whole"
