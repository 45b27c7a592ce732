"""The questions that ask a teacher for cases: which material, how many, in which wording, by which schema."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upskill.domain import CheckOffer
from upskill.domain.answer_schemas import FILES, TEXT, Schema, list_of, object_of, one_of
from upskill.domain.student_profile import StudentProfile
from upskill.domain.text import count, shortened
from upskill.models import Message, Question
from upskill.teaching.case_material import batch_size, slices
from upskill.teaching.case_split import WORDINGS, CaseCounts
from upskill.teaching.fact_batches import Slot, facts_text, rungs_for
from upskill.teaching.material import Material
from upskill.teaching.prompts import prompt, quoted
from upskill.teaching.student_told import asked_told
from upskill.teaching.written_case import WrittenCase

PURPOSE = "cases"
_MOST_SHOWN = 60
_WINDOW_PER_SHOWN = 384
"""Tokens of the window for each task, and each fact, of other cases that is shown."""
_MOST_PROMPT_SHOWN = 240

_HOW = {
    "direct": "put plainly, by somebody who knows the words of the trade",
    "paraphrased": "put in other words than the material has, by somebody who has the problem and not the vocabulary",
    "contextual": "put in the middle of somebody's work: what they are doing, what is there, what went wrong, and what "
    "they need now; the task follows from it",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """The cases that one call asks for."""

    material: str
    positive: int
    negative: int
    wordings: tuple[str, ...]
    offers: tuple[CheckOffer, ...]
    """The kinds of check that its cases may use."""
    programs: bool
    student: str = ""
    """What is told of the student."""
    rungs: tuple[str, ...] = ()
    """What the student can be asked for, with a plan of facts; empty without one."""
    slots: tuple[Slot, ...] = ()
    """The facts to ask for, with a plan."""
    other_facts: tuple[str, ...] = ()
    """The facts that other calls ask for."""
    shown: int = _MOST_SHOWN
    """How many tasks, and facts, of other cases are shown."""


def batches_for(
    material: Material,
    counts: CaseCounts,
    *,
    window: int | None,
    offers: tuple[CheckOffer, ...],
    programs: bool,
    slots: Sequence[Slot] = (),
    profile: StudentProfile | None = None,
) -> list[Batch]:
    """As few calls as possible, of up to ten cases each, every one with its own wording, and with its own facts, or
    without `slots` with its own slice of the material."""
    number = max(1, -(-counts.total // batch_size(window)))
    positive = [_share(counts.positive, number, at) for at in range(number)]
    mine = [tuple(slots[sum(positive[:at]) : sum(positive[: at + 1])]) for at in range(number)]
    if slots:
        # There may be fewer facts than cases were wanted.
        positive = [len(facts) for facts in mine]
        read = [facts_text(material, facts, window=window) for facts in mine]
    else:
        read = slices(material, number, window=window)
    return [
        Batch(
            material=read[at],
            positive=positive[at],
            # In reverse, so that no call has the most of both.
            negative=_share(counts.negative, number, number - 1 - at),
            wordings=WORDINGS[:1] if profile is not None and profile.is_tiny else _wordings(number, at),
            offers=offers,
            programs=programs,
            student=asked_told(profile),
            rungs=rungs_for(profile) if slots else (),
            slots=mine[at],
            other_facts=_others(slots, mine[at]),
            shown=_MOST_SHOWN if window is None else min(_MOST_SHOWN, window // _WINDOW_PER_SHOWN),
        )
        for at in range(number)
        if positive[at] or _share(counts.negative, number, number - 1 - at)
    ]


def _others(slots: Sequence[Slot], mine: Sequence[Slot]) -> tuple[str, ...]:
    here = {slot.fact.id for slot in mine}
    return tuple(dict.fromkeys(slot.fact.text for slot in slots if slot.fact.id not in here))


def _share(total: int, parts: int, at: int) -> int:
    return total // parts + (at < total % parts)


def _wordings(batches: int, at: int) -> tuple[str, ...]:
    if batches == 1:
        return WORDINGS
    if batches == 2:
        return ("direct", "paraphrased") if at == 0 else ("contextual", "paraphrased")
    return (WORDINGS[at % len(WORDINGS)],)


def first_question(batch: Batch, *, there: Sequence[str] = ()) -> Question:
    """Asks for the cases of a batch; `there` are the tasks of earlier ones."""
    text = prompt(
        "write_cases",
        material=batch.material,
        cases=_counted(batch.positive, batch.negative),
        facts=_facts_asked(batch.slots),
        wording=_wording_asked(batch),
        apart=_apart(batch, there),
    )
    return _question(batch, text, batch.positive + batch.negative)


def next_question(
    batch: Batch,
    faulty: Sequence[WrittenCase],
    *,
    positive: int,
    negative: int,
    there: Sequence[str],
    slots: Sequence[Slot] = (),
) -> Question:
    """Asks for faulty cases again, each with its problems, and for new ones, with a plan those of `slots`."""
    wanted = f"Write {_counted(positive, negative)} more.\n" if positive + negative else ""
    text = prompt(
        "rewrite_cases",
        material=batch.material,
        faulty=_faulty(faulty),
        wanted=wanted + _facts_asked(slots),
        wording=_wording_asked(batch),
        there=_listed(batch, there),
    )
    return _question(batch, text, len(faulty) + positive + negative)


def _facts_asked(slots: Sequence[Slot]) -> str:
    if not slots:
        return ""
    listed = "".join(f"- `{slot.fact.id}`: `{slot.rung}`\n" for slot in slots)
    return (
        "Each asks for one of these facts, on the rung beside it; where a fact does not suit its rung, on the next "
        f"shorter one:\n{listed}"
    )


def _apart(batch: Batch, there: Sequence[str]) -> str:
    if not batch.rungs:
        return (
            "Cover different things that the task needs, the important and the easily mistaken ones first, with no two "
            "cases that ask the same, and none that is another with other names or numbers in it."
        )
    apart = "No two cases ask the same, and none is another with other names or numbers in it."
    if not there and not batch.other_facts:
        return apart
    return (
        f"{apart} These tasks and facts belong to other cases: ask for none of them, and give none of them away; a "
        "name in passing does no harm:\n\n"
        f"{_listed(batch, there)}"
    )


def _listed(batch: Batch, there: Sequence[str]) -> str:
    tasks = [f"- {shortened(text, _MOST_PROMPT_SHOWN)}" for text in there[-batch.shown :]]
    others = [f"- fact: {shortened(text, _MOST_PROMPT_SHOWN)}" for text in batch.other_facts[: batch.shown]]
    return quoted("\n".join((*tasks, *others)) or "(none)")


def _faulty(faulty: Sequence[WrittenCase]) -> str:
    if not faulty:
        return ""
    told = "\n\n".join(
        quoted(json.dumps(dict(one.item), ensure_ascii=False, indent=1), language="json")
        + "\n"
        + "\n".join(f"- {problem}" for problem in one.problems)
        for one in faulty
    )
    return (
        "These cases were tried and cannot be used. Below each stands what is wrong. Write each again under its `id`, "
        f"mended; where it cannot be mended, write another case in its place, under the same `id`.\n\n{told}\n\n"
    )


def _question(batch: Batch, text: str, cases: int) -> Question:
    return Question(
        purpose=PURPOSE,
        system=prompt(
            "case_rules",
            checks=_checks_told(batch),
            negative=f"\n\n{prompt('negative_case')}" if batch.negative else "",
            about=prompt("case_fact" if batch.rungs else "case_family"),
            student=f"\n\n{batch.student}" if batch.student else "",
        ),
        messages=(Message(role="user", text=text),),
        schema=cases_schema(
            batch.offers, cases=cases, programs=batch.programs, rungs=batch.rungs, wordings=batch.wordings
        ),
    )


def _checks_told(batch: Batch) -> str:
    told = [offer.guidance for offer in batch.offers if offer.guidance and (batch.programs or not offer.runs_programs)]
    refused = [f"`{offer.kind}`" for offer in batch.offers if offer.runs_programs and not batch.programs]
    if refused:
        told.append(f"Programs cannot be run here: do not use {', '.join(refused)}.")
    return "\n".join(f"- {line}" for line in told)


def _counted(positive: int, negative: int) -> str:
    said = [f"{count(positive, 'case')} that are not negative"] if positive else []
    if negative:
        said.append(count(negative, "negative case"))
    return " and ".join(said)


def _wording_asked(batch: Batch) -> str:
    if len(batch.wordings) == 1:
        (wording,) = batch.wordings
        return f"The wording of all of them is `{wording}`: {_HOW[wording]}.\n"
    listed = "".join(f"- `{wording}`: {_HOW[wording]}\n" for wording in batch.wordings)
    return f"About as many in each of these wordings:\n{listed}"


READABLE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"cases": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "object"}}},
    "required": ["cases"],
}
"""What an answer must fit to be read at all. A problem within a case costs that case, not the answer."""
_ANSWER = object_of((), text=TEXT, files=FILES)
_EDIT = object_of(("replace", "by"), replace=TEXT, by=TEXT, file=TEXT)


def cases_schema(
    offers: Sequence[CheckOffer],
    *,
    cases: int,
    programs: bool,
    rungs: Sequence[str] = (),
    wordings: Sequence[str] = WORDINGS,
) -> Schema:
    """The schema of so many cases, for the prompt and for providers that hold a model to it.

    With a plan, which has `rungs`, each names its fact; else its topic and its family.
    """
    about = {"fact": TEXT, "rung": one_of(*rungs)} if rungs else {"topic": TEXT, "family": TEXT}
    usable = [object_of(**{offer.kind: offer.schema}) for offer in offers if programs or not offer.runs_programs]
    case = object_of(
        ("id", *about, "wording", "input", "checks", "reference", "wrong"),
        id=TEXT,
        **about,
        wording=one_of(*wordings),
        negative={"type": "boolean"},
        input=TEXT,
        files=FILES,
        checks=list_of({"anyOf": usable}),
        reference=_ANSWER,
        wrong=list_of({"anyOf": [_EDIT, TEXT]}),
    )
    return object_of(cases={**list_of(case), "minItems": cases, "maxItems": cases})
