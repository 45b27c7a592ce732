"""Which fact is asked how, and in which call: the batches of cases that are written from a plan of facts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from upskill.domain import estimate_tokens
from upskill.domain.student_profile import RUNGS, CountTokens, StudentProfile
from upskill.teaching.case_material import material_tokens, shared_text
from upskill.teaching.case_split import CaseCounts
from upskill.teaching.fact_plan import MOST_ID, Fact, FactPlan
from upskill.teaching.material import Material
from upskill.teaching.places import passage_at
from upskill.teaching.prompts import quoted
from upskill.teaching.written_case import WrittenCase, slug

PASSAGE_TOKENS = 1_200
"""Tokens of a passage where no student is known."""
LEAST_OUTPUT = {"snippet": 100, "file": 400}
"""Tokens of the longest answer from which on a student is asked for so much."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """One case that is wanted: of which fact, on which rung."""

    fact: Fact
    rung: str
    passage: str | None
    """What stands at the place of the fact, as far as a student's window allows."""


def rungs_for(profile: StudentProfile | None) -> tuple[str, ...]:
    """What a student can be asked for, by its size and its longest answer alone."""
    if profile is not None and profile.is_tiny:
        return RUNGS[:1]
    longest = None if profile is None else profile.output_tokens
    return tuple(rung for rung in RUNGS if longest is None or longest >= LEAST_OUTPUT.get(rung, 0))


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
    first = {fact.id: place for place, fact in enumerate(dict.fromkeys(turns))}
    times: Counter[str] = Counter()
    asked: list[tuple[Fact, str]] = []
    for fact in turns:
        asked.append((fact, rungs[(first[fact.id] + times[fact.id]) % len(rungs)]))
        times[fact.id] += 1
    order = {family[0].family: place for place, family in enumerate(families)}
    return sorted(asked, key=lambda one: order[one[0].family])


def facts_text(material: Material, slots: Sequence[Slot], *, window: int | None) -> str:
    """What one call is shown: the task and what all need, then each fact with its passage, each passage once."""
    tokens = material_tokens(window)
    shared = shared_text(material, tokens // 2)
    facts = {slot.fact.id: slot for slot in slots}.values()
    passages = {slot.passage for slot in facts if slot.passage is not None}
    each = (tokens - estimate_tokens(shared)) // max(1, len(passages))
    parts = [shared, "## The facts to ask for"]
    shown: dict[str, str] = {}
    for slot in facts:
        fact, text = slot.fact, slot.fact.text
        if slot.passage in shown:
            text += f"\n\n{fact.place}: as above, with {shown[slot.passage]}"
        elif slot.passage is not None:
            shown[slot.passage] = fact.id
            most = min(each, PASSAGE_TOKENS)
            text += f"\n\n{fact.place}:\n{passage_at(material, fact.place, most_tokens=most, about=fact.text)}"
        parts.append(f"`{fact.id}` ({fact.kind})\n\n{quoted(text)}")
    return "\n\n".join(parts)


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
