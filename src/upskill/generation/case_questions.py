"""The questions that ask a teacher for cases: which material, how many, in which wording, by which schema.

Each call gets the material that all need and a slice of the rest, so that cases differ."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from upskill.core.cases.split import WORDINGS, CaseCounts
from upskill.core.checks import offers
from upskill.core.models import Message, Question
from upskill.core.nouns import CheckOffer, estimate_tokens, harness_info
from upskill.core.nouns.answer_schemas import FILES, TEXT, Schema, list_of, object_of, one_of
from upskill.core.nouns.text import count, shortened
from upskill.core.skills.markdown import with_closed_block, with_fences
from upskill.generation.citations import finding_text, passage_at
from upskill.generation.facts import PASSAGE_TOKENS, Slot
from upskill.generation.material import Material
from upskill.generation.prompts import prompt, quoted
from upskill.generation.student import RUNG_SIZES, RUNGS, StudentProfile, asked_told, rungs_for
from upskill.generation.written_case import MOST_TURNS, WrittenCase
from upskill.traces.trace import Finding

MATERIAL_TOKENS = 12_000
"""Tokens of material in one call, unless the teacher's window is small."""
SHARE_OF_WINDOW = 3
BATCH = 10
TOKENS_PER_CASE = 1_200
"""Tokens of the window, for question and answer."""
LEAST_RUNG = {"file": "file", "command": "file"}
"""From which rung on a kind of check is offered that does not look at words alone; `snippet` where it is not here."""
_CHARACTERS_PER_TOKEN = 4
_FOR_ALL = ("task", "correction", "proof", "fact")
"""Findings that every call needs: the task, the proof of success, the environment."""
_MOST_PIECE_CHARACTERS = 8_000
_MOST_EXAMPLES = 20


def batch_size(window: int | None) -> int:
    """How many cases fit into one answer."""
    return BATCH if window is None else min(BATCH, max(2, window // TOKENS_PER_CASE))


def material_tokens(window: int | None) -> int:
    """Tokens of material in one call."""
    return MATERIAL_TOKENS if window is None else min(MATERIAL_TOKENS, max(256, window // SHARE_OF_WINDOW))


def shared_text(material: Material, tokens: int) -> str:
    """What every call needs, cut to so many tokens."""
    return "\n\n".join(_fitted([*_shared(material)], tokens * _CHARACTERS_PER_TOKEN))


def slices(material: Material, batches: int, *, window: int | None = None) -> list[str]:
    """The material of each call, as Markdown with quoted text in code blocks."""
    characters = material_tokens(window) * _CHARACTERS_PER_TOKEN
    shared = _fitted([*_shared(material)], characters // 2)
    pieces = [*_pieces(material)]
    found = []
    for number in range(batches):
        # Where there is little material, each call gets all of it, in another order.
        enough = len(pieces) >= 2 * batches
        mine = pieces[number::batches] if enough else pieces[number:] + pieces[:number]
        found.append("\n\n".join([*shared, *_fitted(mine, characters - sum(map(len, shared)))]))
    return found


def _shared(material: Material) -> Iterator[str]:
    yield f"## The task\n\n{quoted(material.task.strip() or '(none was given)')}"
    if material.skill is not None:
        said = quoted(f"{material.skill.name}: {material.skill.description}")
        yield f"## What the skill says of itself\n\n{said}"
    if material.examples:
        given = "\n\n".join(quoted(example) for example in material.examples[:_MOST_EXAMPLES])
        yield f"## Examples given by the person\n\n{given}"
    for finding in _findings(material):
        if finding.kind in _FOR_ALL:
            yield _written(finding)


def _pieces(material: Material) -> Iterator[str]:
    for finding in _findings(material):
        if finding.kind not in _FOR_ALL:
            yield _written(finding)
    if material.digest is not None and not material.digest.kept and material.digest.text.strip():
        yield from _in_pieces("recorded work", material.digest.text)
    if material.skill is not None:
        yield from _in_pieces("SKILL.md", material.skill.body)
        for path, data in sorted(material.skill.files.items()):
            if b"\0" not in data:
                yield from _in_pieces(path, data.decode("utf-8", "replace"))
    for document in material.documents:
        yield from _in_pieces(document.name, document.text)


def _findings(material: Material) -> tuple[Finding, ...]:
    return () if material.digest is None else material.digest.kept


_HEADINGS = {
    "task": "Recorded work: what was asked",
    "correction": "Recorded work: put right by the person",
    "proof": "Recorded work: a command that proved success",
    "fact": "Recorded work: the environment",
    "fix": "Recorded work: an error and its fix",
    "dead end": "Recorded work: tried and given up",
    "passage": "Recorded work: a passage",
}


def _written(finding: Finding) -> str:
    text = finding_text(finding, brief=finding.kind in _FOR_ALL)[:_MOST_PIECE_CHARACTERS]
    return f"## {_HEADINGS[finding.kind]}\n\n{quoted(text)}"


def _in_pieces(name: str, text: str) -> Iterator[str]:
    """A text cut at its headings, and again where a part is long."""
    for part in _parts(text):
        for start in range(0, len(part), _MOST_PIECE_CHARACTERS):
            piece = part[start : start + _MOST_PIECE_CHARACTERS]
            if piece.strip():
                yield f"## From {' '.join(name.split())[:100]}\n\n{quoted(piece.strip())}"


def _parts(text: str) -> list[str]:
    """Split before headings outside fences; parts of a line or two stay with the one before them."""
    parts: list[list[str]] = [[]]
    for line, fence in with_fences(text.split("\n")):
        if line.startswith("#") and fence is None and sum(map(len, parts[-1])) > 200:
            parts.append([])
        parts[-1].append(line)
    return ["\n".join(part) for part in parts]


def _fitted(pieces: list[str], characters: int) -> list[str]:
    """The first pieces that fit; a first piece that is too long by itself is cut, and marked so."""
    found: list[str] = []
    for piece in pieces:
        if len(piece) <= characters:
            found.append(piece)
            characters -= len(piece)
        elif not found and characters > 200:
            heading, _, rest = piece.partition("\n\n")
            inside = "\n".join(rest.split("\n")[1:-1])
            found.append(f"{heading}, cut\n\n{quoted(inside[: characters - len(heading) - 40])}")
            return found
    return found


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


@dataclass(kw_only=True, slots=True)
class Batch:
    """The cases that one call asks for, and what is wrong with its last answer."""

    material: str
    positive: int
    negative: int
    wordings: tuple[str, ...]
    programs: bool
    """Whether checks can run programs here."""
    student: str = ""
    """What is told of the student."""
    rungs: tuple[str, ...] = ()
    """What the student can be asked for, with a plan of facts; empty without one."""
    turns: bool = False
    """Whether cases may be conversations."""
    slots: tuple[Slot, ...] = ()
    """The facts to ask for, with a plan."""
    other_facts: tuple[str, ...] = ()
    """The answers of the facts that other calls ask for."""
    shown: int = _MOST_SHOWN
    """How many tasks, and facts, of other cases are shown."""
    faulty: list[WrittenCase] = field(default_factory=list)
    """The cases of its last answer that cannot be used, with the reasons."""
    failure: str | None = None
    """Why its last answer could not be read at all."""


def batches_for(
    material: Material,
    counts: CaseCounts,
    *,
    window: int | None,
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
            programs=programs,
            student=asked_told(profile),
            rungs=rungs_for(profile) if slots else (),
            turns=writes_turns(material, profile),
            slots=mine[at],
            other_facts=_others(slots, mine[at]),
            shown=_MOST_SHOWN if window is None else min(_MOST_SHOWN, window // _WINDOW_PER_SHOWN),
        )
        for at in range(number)
        if positive[at] or _share(counts.negative, number, number - 1 - at)
    ]


def writes_turns(material: Material, profile: StudentProfile | None) -> bool:
    """Whether cases may be conversations: the material has some, and the students can hold and follow them."""
    able = profile is None or not (profile.is_tiny or harness_info(profile.harness).program)
    return able and material.has_dialogues


def facts_text(material: Material, slots: Sequence[Slot], *, window: int | None) -> str:
    """What one call is shown: the task and what all need, then the facts, then their passages, each once."""
    tokens = material_tokens(window)
    shared = shared_text(material, tokens // 2)
    facts = {slot.fact.id: slot for slot in slots}.values()
    passages = {slot.passage for slot in facts if slot.passage is not None}
    each = (tokens - estimate_tokens(shared)) // max(1, len(passages))
    most = min(each, PASSAGE_TOKENS)
    listed: list[str] = []
    told: set[str] = set()
    for slot in slots:
        fact = slot.fact
        about = (
            f"({'; '.join(filter(None, (fact.kind, fact.place)))}) {fact.text}" if fact.id not in told else "the same"
        )
        told.add(fact.id)
        listed.append(f"- `{fact.id}`, rung `{slot.rung}`: {about}")
    parts = [shared, f"## The facts to ask for\n\n{quoted(chr(10).join(listed))}"]
    found = {
        slot.fact.place: passage_at(material, slot.fact.place, most_tokens=most, about=slot.fact.text) or ""
        for slot in facts
        if slot.passage is not None
    }
    longest = sorted(found, key=lambda place: -len(found[place]))
    # A passage inside another one is not shown again.
    shown = [
        place for at, place in enumerate(longest) if not any(found[place] in found[other] for other in longest[:at])
    ]
    if shown:
        places = "\n\n".join(f"{place}:\n{with_closed_block(found[place])}" for place in found if place in shown)
        parts.append(f"Where they stand:\n\n{quoted(places)}")
    return "\n\n".join(parts)


def _others(slots: Sequence[Slot], mine: Sequence[Slot]) -> tuple[str, ...]:
    here = {slot.fact.id for slot in mine}
    return tuple(dict.fromkeys(slot.fact.answer or slot.fact.text for slot in slots if slot.fact.id not in here))


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
        facts=f"{_ON_ITS_RUNG}.\n" if batch.slots else "",
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
        apart=_apart(batch, there),
    )
    return _question(batch, text, len(faulty) + positive + negative)


_ON_ITS_RUNG = (
    "Each asks for one of these facts, on the rung beside it; where a fact does not suit that rung, on the next shorter"
)


def _facts_asked(slots: Sequence[Slot]) -> str:
    listed = "".join(f"- `{slot.fact.id}`, rung `{slot.rung}`\n" for slot in slots)
    return f"{_ON_ITS_RUNG}:\n{listed}" if slots else ""


def _apart(batch: Batch, there: Sequence[str]) -> str:
    """What no case may ask: what another one asks."""
    parts = ["No two cases ask the same, and none is another with other names or numbers in it."]
    if not batch.rungs and not there:
        parts[0] = f"Cover different things that the task needs, the easily mistaken ones first. {parts[0]}"
    if there:
        parts[0] += f" These tasks are there already:\n\n{_listed(there[-batch.shown :])}"
    if batch.other_facts:
        parts.append(
            "These are the answers of other cases: ask for none of them. Where a task needs the same form in passing, "
            f"put other values into it:\n\n{_listed(batch.other_facts[: batch.shown])}"
        )
    return "\n\n".join(parts)


def _listed(texts: Sequence[str]) -> str:
    return quoted("\n".join(f"- {shortened(text, _MOST_PROMPT_SHOWN)}" for text in texts))


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
            about=prompt("case_fact", rungs="; ".join(f"`{rung}`, {RUNG_SIZES[rung]}" for rung in batch.rungs))
            if batch.rungs
            else prompt("case_family"),
            turns=f"\n{prompt('case_turns', most=MOST_TURNS)}" if batch.turns else "",
            student=f"\n\n{batch.student}" if batch.student else "",
        ),
        messages=(Message(role="user", text=text),),
        schema=cases_schema(
            cases=cases, programs=batch.programs, rungs=batch.rungs, wordings=batch.wordings, turns=batch.turns
        ),
    )


def _checks_told(batch: Batch) -> str:
    told = [offer.guidance for offer in usable_offers(batch.programs, batch.rungs) if offer.guidance]
    refused = [f"`{offer.kind}`" for offer in offers() if offer.runs_programs and not batch.programs]
    if refused and "file" in (batch.rungs or RUNGS):
        told.append(f"Programs cannot be run here: do not use {', '.join(refused)}.")
    if any(offer.runs_programs for offer in usable_offers(batch.programs, batch.rungs)):
        told.append("Prefer checks that run something where the material shows a command that proves success.")
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


def usable_offers(programs: bool, rungs: Sequence[str] = ()) -> list[CheckOffer]:
    """The kinds of check that a case may use: `programs` says whether checks can run any here, `rungs` what is asked
    for, anything where it is empty. A student that is asked for a line is checked by its words alone."""
    asked = rungs or RUNGS
    return [
        offer
        for offer in offers()
        if (programs or not offer.runs_programs)
        and (offer.only_words or LEAST_RUNG.get(offer.kind, "snippet") in asked)
    ]


def cases_schema(
    *, cases: int, programs: bool, rungs: Sequence[str] = (), wordings: Sequence[str] = WORDINGS, turns: bool = False
) -> Schema:
    """The schema of so many cases, for the prompt and for providers that hold a model to it.

    With a plan, which has `rungs`, each names its fact; else its topic and its family. With `turns` it may be a
    conversation.
    """
    about = {"fact": TEXT, "rung": one_of(*rungs)} if rungs else {"topic": TEXT, "family": TEXT}
    usable = [object_of(**{offer.kind: offer.schema}) for offer in usable_offers(programs, rungs)]
    said: dict[str, Schema] = {
        "input": TEXT,
        "files": FILES,
        "checks": list_of({"anyOf": usable}),
        "reference": _ANSWER,
        "wrong": list_of({"anyOf": [_EDIT, TEXT]}),
    }
    named: dict[str, Schema] = {"id": TEXT, **about, "wording": one_of(*wordings)}
    of_turn = {key: form for key, form in said.items() if key != "files"}
    case = object_of((*named, *of_turn), **named, negative={"type": "boolean"}, **said)
    if turns:
        several = list_of(object_of(("input",), **of_turn))
        case = {"anyOf": [case, object_of((*named, "turns"), **named, files=FILES, turns=several)]}
    return object_of(cases={**list_of(case), "minItems": cases, "maxItems": cases})
