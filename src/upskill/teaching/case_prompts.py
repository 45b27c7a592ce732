"""The questions that ask a teacher for cases: which material, how many, in which wording, by which schema."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upskill.domain import CheckOffer
from upskill.domain.answer_schemas import FILES, TEXT, Schema, list_of, object_of, one_of
from upskill.domain.text import count, shortened
from upskill.models import Message, Question
from upskill.teaching.case_material import batch_size, slices
from upskill.teaching.case_split import WORDINGS, CaseCounts
from upskill.teaching.material import Material
from upskill.teaching.prompts import prompt, quoted
from upskill.teaching.written_case import WrittenCase

PURPOSE = "cases"
_MOST_PROMPTS_SHOWN = 60
_MOST_PROMPT_SHOWN = 160

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


def batches_for(
    material: Material, counts: CaseCounts, *, window: int | None, offers: tuple[CheckOffer, ...], programs: bool
) -> list[Batch]:
    """As few calls as possible, of up to ten cases each, every one with its own slice and its own wording."""
    number = max(1, -(-counts.total // batch_size(window)))
    read = slices(material, number, window=window)
    return [
        Batch(
            material=read[at],
            positive=_share(counts.positive, number, at),
            # In reverse, so that no call has the most of both.
            negative=_share(counts.negative, number, number - 1 - at),
            wordings=_wordings(number, at),
            offers=offers,
            programs=programs,
        )
        for at in range(number)
    ]


def _share(total: int, parts: int, at: int) -> int:
    return total // parts + (at < total % parts)


def _wordings(batches: int, at: int) -> tuple[str, ...]:
    if batches == 1:
        return WORDINGS
    if batches == 2:
        return ("direct", "paraphrased") if at == 0 else ("contextual", "paraphrased")
    return (WORDINGS[at % len(WORDINGS)],)


def first_question(batch: Batch) -> Question:
    """Asks for the cases of a batch."""
    text = prompt(
        "write_cases",
        material=batch.material,
        cases=_counted(batch.positive, batch.negative),
        wording=_wording_asked(batch),
    )
    return _question(batch, text, batch.positive + batch.negative)


def next_question(
    batch: Batch, faulty: Sequence[WrittenCase], *, positive: int, negative: int, there: Sequence[str]
) -> Question:
    """Asks for faulty cases again, each with its problems, and for new ones."""
    shown = [f"- {shortened(text, _MOST_PROMPT_SHOWN)}" for text in there[-_MOST_PROMPTS_SHOWN:]]
    text = prompt(
        "rewrite_cases",
        material=batch.material,
        faulty=_faulty(faulty),
        wanted=f"Write {_counted(positive, negative)} more.\n" if positive + negative else "",
        wording=_wording_asked(batch),
        there=quoted("\n".join(shown) or "(none)"),
    )
    return _question(batch, text, len(faulty) + positive + negative)


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
        system=prompt("case_rules", checks=_checks_told(batch)),
        messages=(Message(role="user", text=text),),
        schema=cases_schema(batch.offers, cases=cases, programs=batch.programs),
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
_ANSWER = object_of(text=TEXT, files=FILES)
_EDIT = object_of(("replace", "by"), replace=TEXT, by=TEXT, file=TEXT)


def cases_schema(offers: Sequence[CheckOffer], *, cases: int, programs: bool) -> Schema:
    """The schema of so many cases, for the prompt and for providers that hold a model to it."""
    usable = [object_of(**{offer.kind: offer.schema}) for offer in offers if programs or not offer.runs_programs]
    case = object_of(
        id=TEXT,
        topic=TEXT,
        family=TEXT,
        wording=one_of(*WORDINGS),
        negative={"type": "boolean"},
        input=TEXT,
        files=FILES,
        checks=list_of({"anyOf": usable}),
        reference=_ANSWER,
        wrong=list_of({"anyOf": [_EDIT, _ANSWER]}),
    )
    return object_of(cases={**list_of(case), "minItems": cases, "maxItems": cases})
