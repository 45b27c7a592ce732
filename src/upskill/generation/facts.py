"""The plan of facts: what is known that matters for the task, each fact in a family, each family on one side.

Cases are written from it, so a fact is never asked both in what is learned from and in what is held out. A person may
edit the plan; it is then used as it stands. Which fact is asked how, and with which passage, follows from it."""

import itertools
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from upskill import disk
from upskill.core.cases.family import MOST_FAMILY_CHARACTERS
from upskill.core.cases.split import CaseCounts, split_cases
from upskill.core.models import Ask, Message, Question
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for
from upskill.core.nouns import Case, estimate_tokens
from upskill.core.nouns.answer_schemas import TEXT, list_of, object_of, one_of
from upskill.core.nouns.text import count as counted
from upskill.core.progress import Progress
from upskill.core.runs.records import keep_text
from upskill.core.skills.markdown import pieces
from upskill.errors import EXIT_DONE, UpskillError, UsageError
from upskill.generation.citations import KnownCitations, passage_at
from upskill.generation.draft import Clean, clean_by_patterns, without_hidden
from upskill.generation.files import TeachingFolder
from upskill.generation.material import Material, answer_tokens, material_budget, numbered, skill_texts
from upskill.generation.prompts import prompt, quoted
from upskill.generation.student import RUNGS, CountTokens, StudentProfile, asked_told, rungs_for
from upskill.generation.written_case import WrittenCase, slug
from upskill.redaction import redactor_from

PLAN_FORMAT = "upskill.plan/1"
MOST_FACT = 600
"""Characters of one fact."""
MOST_ID = 60

FactKind = Literal["fact", "procedure", "mistake"]
Side = Literal["learn", "held-out"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One thing that is known and can be asked for."""

    id: str
    text: str
    """One sentence that says it."""
    kind: FactKind
    place: str
    """Where it stands in the material, spelled as citations are; empty where there is no place."""
    family: str
    """Facts that give each other away share one."""
    answer: str = ""
    """What a right answer says and a wrong one does not: a name, a value, a line. Empty where a person gave none."""
    use: Side | None = None
    """The side of its family; `None` before sides are drawn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FactPlan:
    """All facts, the important ones first, each with its side."""

    facts: tuple[Fact, ...]

    def families(self, use: Side) -> tuple[tuple[Fact, ...], ...]:
        """The families of one side, in the order of the plan."""
        groups: dict[str, list[Fact]] = {}
        for fact in self.facts:
            if fact.use == use:
                groups.setdefault(fact.family, []).append(fact)
        return tuple(map(tuple, groups.values()))

    def lacks(self, counts: CaseCounts) -> Side | None:
        """A side that is wanted and has no fact."""
        wanted: dict[Side, int] = {"learn": counts.learn, "held-out": counts.held_out}
        return next((use for use, number in wanted.items() if number and not self.families(use)), None)

    def __str__(self) -> str:
        learn, held_out = len(self.families("learn")), len(self.families("held-out"))
        families = "1 family" if learn + held_out == 1 else f"{learn + held_out} families"
        return f"{counted(len(self.facts), 'fact')} in {families}: {learn} for practice, {held_out} held out"


def with_sides(facts: Sequence[Fact], counts: CaseCounts) -> FactPlan:
    """The plan with a side for each family, drawn from the text of its facts alone; a side that is set stays."""
    drawn = split_cases(
        [
            Case(
                id=fact.id, prompt=fact.text, checks=(), family=fact.family, use=fact.use, extra={"wording": fact.kind}
            )
            for fact in facts
        ],
        counts,
    )
    sides: dict[str, Side] = {case.id: "learn" if case.use == "learn" else "held-out" for case in drawn}
    return FactPlan(facts=tuple(replace(fact, use=sides[fact.id]) for fact in facts))


def plan_text(plan: FactPlan) -> str:
    """The plan as it is saved, for people to read and to edit."""
    facts = [asdict(fact) for fact in plan.facts]
    return json.dumps({"format": PLAN_FORMAT, "facts": facts}, ensure_ascii=False, indent=1) + "\n"


def read_plan(text: str | bytes, material: Material, counts: CaseCounts, *, where: str) -> FactPlan:
    """A plan that was saved, and perhaps edited. Raises `UsageError` with every problem and the entry it is in.

    An entry without `use` gets the side of its family, else one is drawn; one without `family` is a family of its own.
    """
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # half a character could not be saved
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{where}: is not valid JSON: {error}", hint="fix it, or delete it to get a new plan"
        ) from None
    listed = value.get("facts") if isinstance(value, dict) else value
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{where}: has no list of `facts`", hint="delete it to get a new plan")
    known = KnownCitations(material)
    problems: list[str] = []
    facts: list[Fact] = []
    for number, entry in enumerate(listed, 1):
        name = f"fact {number}" + (f" ({entry['id']})" if isinstance(entry, dict) and entry.get("id") else "")
        found = _entry_problems(entry, known, facts)
        problems += (f"{name}: {problem}" for problem in found)
        if not found:
            facts.append(_fact(entry, known))
    problems += _family_problems(facts)
    plan = with_sides(facts, counts) if not problems else None
    if plan is not None and (side := plan.lacks(counts)) is not None:
        problems.append(
            f"no family is {'for practice' if side == 'learn' else 'held out'}: set `use` of one family to `{side}`"
        )
    if plan is None or problems:
        raise UsageError(f"{where}: cannot be used as a plan", problems=problems, hint="correct these entries")
    return plan


def _entry_problems(entry: Any, known: KnownCitations, before: Sequence[Fact]) -> list[str]:
    if not isinstance(entry, dict):
        return ["must be an object with `id`, `text`, `kind`, `place`, `family` and `use`"]
    problems = [
        f"`{key}` must be a text of 1 to {most} characters"
        for key, most in (("id", MOST_ID), ("text", MOST_FACT))
        if not isinstance(said := entry.get(key), str) or not 0 < len(said.strip()) <= most
    ]
    if not problems and (twin := next((one for one in before if one.id == entry["id"].strip()), None)):
        problems.append(f"its `id` is used by another fact: {twin.text}")
    if not problems and (twin := next((one for one in before if one.text == " ".join(entry["text"].split())), None)):
        problems.append(f"says the same as {twin.id}")
    if entry.get("kind") not in get_args(FactKind):
        problems.append(f"`kind` must be one of {', '.join(get_args(FactKind))}")
    if entry.get("use") not in (None, *get_args(Side)):
        problems.append(f"`use` must be one of {', '.join(get_args(Side))}")
    if not isinstance(entry.get("answer", ""), str):
        problems.append("`answer` must be a text")
    family, place = entry.get("family") or "", entry.get("place") or ""
    if not isinstance(family, str) or len(family) > MOST_FAMILY_CHARACTERS or not family.isprintable():
        problems.append(f"`family` must be one line of at most {MOST_FAMILY_CHARACTERS} characters")
    if not isinstance(place, str) or (place and not known.named_in(place.split(";"))):
        problems.append(f"`place` {place!r} is not in the material")
    return problems


def _fact(entry: dict[str, Any], known: KnownCitations) -> Fact:
    return Fact(
        id=entry["id"].strip(),
        text=" ".join(entry["text"].split()),
        kind=entry["kind"],
        place="; ".join(known.named_in((entry.get("place") or "").split(";"))),
        family=(entry.get("family") or entry["id"]).strip(),
        answer=entry.get("answer", "").strip(),
        use=entry.get("use"),
    )


def _family_problems(facts: Sequence[Fact]) -> list[str]:
    sides: dict[str, dict[Side, str]] = {}
    for fact in facts:
        if fact.use is not None:
            sides.setdefault(fact.family, {}).setdefault(fact.use, fact.id)
    return [
        f"the family {family} is on both sides: {found['learn']} is for practice, {found['held-out']} is held out"
        for family, found in sides.items()
        if len(found) > 1
    ]


PASSAGE_TOKENS = 1_200
"""Tokens of a passage where no student is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """One case that is wanted: of which fact, on which rung."""

    fact: Fact
    rung: str
    passage: str | None
    """What stands at the place of the fact, as far as a student's window allows."""


def slots_for(
    plan: FactPlan,
    counts: CaseCounts,
    material: Material,
    *,
    profile: StudentProfile | None = None,
    count: CountTokens = estimate_tokens,
) -> tuple[Slot, ...]:
    """The cases that are wanted, family by family, as many of each side as were asked for."""
    rungs = rungs_for(profile)
    asked = [
        *_asked(plan.families("learn"), counts.learn, rungs),
        *_asked(plan.families("held-out"), counts.held_out, rungs),
    ]
    most = PASSAGE_TOKENS if profile is None else profile.skill_tokens
    passages = {
        fact.id: passage_at(material, fact.place, most_tokens=most, count=count, about=fact.text)
        if fact.place
        else None
        for fact, _ in asked
    }
    return tuple(Slot(fact=fact, rung=rung, passage=passages[fact.id]) for fact, rung in asked)


def _asked(families: Sequence[Sequence[Fact]], wanted: int, rungs: Sequence[str]) -> list[tuple[Fact, str]]:
    """Families take turns until there are enough: first with each of their facts, then with each on another rung.

    No fact is asked twice on one rung: that would be the same case, or one that asks it backwards.
    """
    most = max(map(len, families), default=0)
    once = [family[turn] for turn in range(most) for family in families if turn < len(family)]
    turns = (once * len(rungs))[:wanted]
    first = _first_rungs(dict.fromkeys(turns), rungs)
    times: Counter[str] = Counter()
    asked: list[tuple[Fact, str]] = []
    for fact in turns:
        asked.append((fact, rungs[(first[fact.id] + times[fact.id]) % len(rungs)]))
        times[fact.id] += 1
    order = {family[0].family: place for place, family in enumerate(families)}
    return sorted(asked, key=lambda one: order[one[0].family])


def _first_rungs(facts: Iterable[Fact], rungs: Sequence[str]) -> dict[str, int]:
    """By fact, on which rung it is asked first: one line as an answer, several as a snippet or a file in turn, and all
    rungs in turn where the answer is not known."""
    longer, any_of = itertools.cycle(range(1, len(rungs)) or (0,)), itertools.cycle(range(len(rungs)))
    return {fact.id: next(any_of) if not fact.answer else next(longer) if "\n" in fact.answer else 0 for fact in facts}


def with_fact(written: WrittenCase, slots: Sequence[Slot]) -> WrittenCase:
    """The case with the family, the side and the passage of the fact that it names; one of no such fact is faulty."""
    case = written.case
    if case.use == "negative":
        return replace(written, case=replace(case, family=None))
    said = slug(written.item.get("fact"), MOST_ID)
    mine = [slot for slot in slots if slug(slot.fact.id, MOST_ID) == said]
    if not mine:
        ids = ", ".join(dict.fromkeys(slot.fact.id for slot in slots)) or "none"
        problem = f"`fact` is {said!r}; the facts to ask for here are {ids}"
        return replace(written, problems=(problem, *written.problems))
    rung = slug(written.item.get("rung"), MOST_ID)
    slot = next((slot for slot in mine if slot.rung == rung), mine[0])
    fact = slot.fact
    extra = {**case.extra, "topic": fact.family, "fact": fact.id, "rung": rung if rung in RUNGS else slot.rung}
    case = replace(case, family=fact.family, use=fact.use, passage=slot.passage, extra=extra)
    return replace(written, case=case)


PURPOSE = "plan"
MOST_PIECES = 12
"""Questions at most; of a material with more pieces, as many are read, evenly spread."""
LEAST_FAMILIES = 2

_KIND = one_of(*get_args(FactKind))
_ENTRY = object_of(id=TEXT, text=TEXT, answer=TEXT, kind=_KIND, place=TEXT, family=TEXT)
SCHEMA = object_of(facts=list_of(_ENTRY))
_NO_PLACE = "an empty text, since there is no material: list what you are certain of"
_PLACE = (
    "where it stands, as few lines or steps as somebody must read to know it: `document NAME lines 3 to 3`, "
    "`SKILL.md lines 3 to 9`, `step 14`, `trace 2 step 14`, `example 1`; two places with `;` between them. An entry "
    "whose place does not exist is dropped"
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
    # Whether there is anything that a fact can have its place in.
    known, placed = KnownCitations(material), bool(shown[0])
    facts: list[Fact] = []

    def read(text: str) -> list[Fact]:
        """The facts so far and those of this answer. One that repeats another, has its answer, or whose place does not
        exist is left out. Raises `UnusableAnswer` where the last answer leaves a wanted side without a fact."""
        found = [*facts]
        for item in json.loads(text)["facts"]:
            fact = _answered(item, {one.id for one in found}, known, clean)
            if placed and fact is not None and passage_at(material, fact.place, most_tokens=1) is None:
                continue
            if fact is not None and len(found) < len(facts) + most and not any(_same(one, fact) for one in found):
                found.append(fact if placed else replace(fact, place=""))
        if number == len(shown) - 1 and with_sides(found, counts).lacks(counts) is not None:
            where = " whose place is in the material" if placed else ""
            families = counted(len({fact.family for fact in found}), "family", "families")
            raise UnusableAnswer([f"it has {families} of facts{where}; at least {LEAST_FAMILIES} are needed"])
        return found

    for number, piece in enumerate(shown):
        most = -(-(counts.positive - len(facts)) // (len(shown) - number))
        if most:
            question = _question(material, piece, facts, most, window, profile)
            facts = ask_for(ask, question, read, told=lambda found: (f"{len(found)} entries would be in the plan",))
    return with_sides(facts, counts)


def _same(one: Fact, other: Fact) -> bool:
    """Whether a case cannot tell two facts apart: the reference of one would pass the checks of the other."""
    return one.text == other.text or (one.answer.casefold() == other.answer.casefold() != "")


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


def _answered(item: Mapping[str, Any], taken: Set[str], known: KnownCitations, clean: Clean) -> Fact | None:
    """A fact as an answer gives it, under an id of its own; `None` where it says nothing, or too much."""
    text = " ".join(clean(without_hidden(item["text"])).split())
    name = slug(item["id"], MOST_ID) or slug(text, MOST_ID)
    if not name or not 0 < len(text) <= MOST_FACT:
        return None
    numbers = (f"{name[: MOST_ID - 5]}-{number}" for number in itertools.count(2))
    name = name if name not in taken else next(other for other in numbers if other not in taken)
    family = slug(item["family"], MOST_FAMILY_CHARACTERS) or name
    place = "; ".join(known.named_in(item["place"].split(";")))
    answer = clean(without_hidden(item["answer"])).strip()[:MOST_FACT]
    return Fact(id=name, text=text, kind=item["kind"], place=place, family=family, answer=answer)


PLAN_FILE = "plan.json"


class PlanWritten(UpskillError):
    """The plan was written to the file that a person named, to be edited; nothing else was asked for."""

    exit_code = EXIT_DONE


def read_plan_file(path: str, material: Material, counts: CaseCounts) -> FactPlan | None:
    """The plan in a file, without secrets; `None` where there is none yet. Raises `UsageError` where it cannot be used,
    or could not be written."""
    try:
        plan = read_plan(disk.read(disk.named(Path(path))), material, counts, where=path)
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
