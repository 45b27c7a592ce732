"""A revised description: how a teacher is asked for a better one, how it compares with the old one on the same prompts,
and what people read of it. The teacher never sees a held-out prompt; the body is not its to change."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.text import Text

from upskill.core.models import Ask, Message, Question
from upskill.core.models.teacher_answers import UnusableAnswer, ask_for
from upskill.core.nouns.answer_schemas import TEXT, object_of
from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import Required
from upskill.core.nouns.lift import Interval
from upskill.core.nouns.skill import MOST_CHARACTERS
from upskill.core.nouns.text import count, points, shortened
from upskill.core.nouns.trigger import PromptTally, TriggerRate, TriggerScore
from upskill.core.statistics.intervals import FIXED
from upskill.core.statistics.pairs import DroppedPair, Pair, Pairing
from upskill.core.statistics.verdict import judge
from upskill.generation.decision import decision, generate_requirements
from upskill.generation.draft import Clean, Draft, clean_by_patterns, description_problems
from upskill.generation.draft_answer import portable_description
from upskill.generation.generated import DescriptionComparison, DescriptionRevision, GenerateResult
from upskill.generation.material import answer_tokens, material_budget
from upskill.generation.prompts import prompt, quoted
from upskill.report.console import print_lines
from upskill.report.result_notes import ResultNote, merged_notes, unmet_notes
from upskill.report.terminal import TerminalResult, most_rows
from upskill.report.wording import confidence_interval, names_by_model, spent_on


def compare_descriptions(before: TriggerScore, after: TriggerScore, *, level: float) -> DescriptionComparison:
    """Judge the new description against the old one; `level` is the one-sided error that this look is allowed.

    Both scores are of one student in one company, on the same prompts.
    """
    pairs = _paired(before.tallies, after.tallies)
    judgement = judge(_pairing(pairs), level=replace(FIXED, error=level))
    worse = [
        name
        for name, kind in (("recall", True), ("near misses", False))
        if judge(_pairing([pair for pair in pairs if pair[0].prompt.should_load is kind])).verdict == "hurts"
    ]
    return DescriptionComparison(
        student=after.student,
        harness=after.harness,
        company=after.company,
        before=before,
        after=after,
        verdict=judgement.verdict,
        claim=judgement.claim,
        lift=judgement.lift,
        worse=tuple(worse),
    )


def _paired(before: Iterable[PromptTally], after: Iterable[PromptTally]) -> list[tuple[PromptTally, PromptTally]]:
    """Both tallies of each prompt, the new one first."""
    old = {tally.prompt.id: tally for tally in before}
    return [(tally, old[tally.prompt.id]) for tally in after if tally.prompt.id in old]


def _pairing(pairs: Sequence[tuple[PromptTally, PromptTally]]) -> Pairing:
    found: list[Pair] = []
    drops: list[DroppedPair] = []
    for new, old in pairs:
        prompt, measured = new.prompt, min(new.answers, old.answers)
        # Where errors left more answers with one of them, what is left out speaks against the new one.
        right = (new.answers - new.wrong) * measured // max(1, new.answers)
        right_before = -((old.wrong - old.answers) * measured // max(1, old.answers))
        # Repeats of a prompt are alike: which of them is paired with which changes no estimate.
        found += [
            Pair(
                case_id=prompt.id,
                repeat=number,
                passed=number <= right,
                passed_against=number <= right_before,
                family=prompt.family,
            )
            for number in range(1, measured + 1)
        ]
        asked = max(new.answers + new.errored, old.answers + old.errored)
        drops += [
            DroppedPair(case_id=prompt.id, repeat=number, passed=None, passed_against=None)
            for number in range(measured + 1, asked + 1)
        ]
    return Pairing(arm="offered", against="previous", pairs=tuple(found), drops=tuple(drops))


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


MOST_REASON = 200
_ROWS = 6
"""Rows that a revised description may take more than an evaluation: both descriptions are shown."""
_WORSE = {"recall": "loads the skill less often where it should", "near misses": "loads the skill on more near misses"}


def score_words(score: TriggerScore) -> str:
    """How one model loads the skill, in a line."""
    errored = f", {count(score.errored, 'errored answer')}" if score.errored else ""
    rates = f"recall {_rate(score.recall)}, loaded on near misses {_rate(score.near_miss)}"
    return f"{score.student}{_company(score.company)}: {rates}{errored}"


def _company(company: str) -> str:
    return " among other skills" if company == "among" else ""


def _rate(rate: TriggerRate | None) -> str:
    return "unknown" if rate is None else f"{round(rate.rate * 100)}%"


def comparison_words(one: DescriptionComparison) -> str:
    """What held-out prompts showed for one model in one company; the subject is the new description."""
    on = f"on {count(len(one.after.tallies), 'held-out prompt')}"
    if one.lift is None or one.verdict == "invalid":
        return f"there is no verdict on the new one, because too many answers errored {on}"
    interval = one.lift.cases_like_these or one.lift.these_cases
    figures = f"{points(one.lift.mean)} points of right decisions ({confidence_interval(one.lift, interval)}) {on}"
    rates = (
        f"recall {_rate(one.before.recall)} → {_rate(one.after.recall)}, "
        f"loaded on near misses {_rate(one.before.near_miss)} → {_rate(one.after.near_miss)}"
    )
    if one.better:
        head = "the new one is better"
    elif one.worse:
        head = f"the new one {' and '.join(_WORSE[kind] for kind in one.worse)}"
    elif one.verdict == "hurts":
        head = "the new one is worse"
    else:
        head = "the new one was not shown to be better"
    return f"{head}: {figures}; {rates}"


def show_described(
    generated: GenerateResult,
    revision: DescriptionRevision,
    console: Console,
    *,
    required: Required | None = None,
    taken: int = 0,
    every_note: bool = False,
) -> None:
    """The decision, both descriptions with their rates, what it took, and where everything is."""
    names = names_by_model(generated.students)
    notes = [*unmet_notes(generate_requirements(generated, required), names)]
    notes += [ResultNote(text=f"note: {line}") for line in merged_notes(generated.notes, names)]
    where: tuple[str, ...] = ()
    if generated.saved is not None:
        where = (f"Saved to {generated.saved}",)
    elif generated.kept is not None:
        where = (f"Revision saved in {generated.kept}",)
    result = TerminalResult(
        head=(Text(decision(generated), style="bold"),),
        facts=tuple(_facts(generated, revision, names)),
        notes=tuple(notes),
        where=where,
        run=generated.run.removeprefix("./"),
    )
    most = None if every_note else _ROWS + most_rows(len(generated.students)) - taken
    print_lines(result.lines(console, most=most), console)


def _facts(generated: GenerateResult, revision: DescriptionRevision, names: dict[str, str]) -> Iterator[str]:
    yield f"old: {revision.before}"
    if revision.after != revision.before:
        yield f"new: {revision.after}"
    for one in revision.held_out:
        who = f"{names.get(one.student, one.student)}{_company(one.company)}"
        lift = "no verdict"
        if one.lift is not None:
            interval = confidence_interval(one.lift, one.lift.cases_like_these or one.lift.these_cases)
            lift = f"{points(one.lift.mean)} points ({interval})"
        yield (
            f"{who}: {lift}; recall {_with_interval(one.before.recall)} → {_with_interval(one.after.recall)}; "
            f"near misses {_with_interval(one.before.near_miss)} → {_with_interval(one.after.near_miss)}"
        )
    learn, held_out = revision.prompts
    attempts = ", ".join(f"{one.right}/{one.answers}" for one in revision.attempts)
    stopped = shortened(generated.refined or "not revised", MOST_REASON)
    yield f"prompts: {learn} practice, {held_out} held-out; right on practice prompts: {attempts}; {stopped}"
    yield f"spent: teacher {spent_on(generated.by_teacher)}, models {spent_on(generated.by_students)}"


def _with_interval(rate: TriggerRate | None) -> str:
    if rate is None:
        return "unknown"
    ends = rate.interval
    return f"{_rate(rate)} ({round(ends.low * 100)} to {round(ends.high * 100)})"


def revision_json(revision: DescriptionRevision | None) -> Json:
    """Plain JSON values; what is unknown is null."""
    if revision is None:
        return None
    learn, held_out = revision.prompts
    return {
        "before": revision.before,
        "after": revision.after,
        "prompts": {"learn": learn, "held_out": held_out},
        "attempts": [
            {
                "number": one.number,
                "description": one.description,
                "right": one.right,
                "answers": one.answers,
                "j": one.j,
                "chosen": one.chosen,
                "draft": one.draft,
                "scores": [_score_json(score) for score in one.scores],
            }
            for one in revision.attempts
        ],
        "held_out": [
            {
                "model": one.student,
                "harness": one.harness,
                "company": one.company,
                "verdict": one.verdict,
                "claim": one.claim,
                "better": one.better,
                "worse": list(one.worse),
                "gain": one.gain,
                "mean": None if one.lift is None else one.lift.mean,
                "interval": None if one.lift is None else _ends(one.lift.cases_like_these),
                "confidence": None if one.lift is None else one.lift.confidence,
                "sentence": one.sentence,
                "before": _score_json(one.before),
                "after": _score_json(one.after),
            }
            for one in revision.held_out
        ],
    }


def _score_json(score: TriggerScore) -> Json:
    return {
        "model": score.student,
        "company": score.company,
        "verdict": score.verdict,
        "recall": None if score.recall is None else score.recall.as_json(),
        "near_miss": None if score.near_miss is None else score.near_miss.as_json(),
        "j": score.j,
        "interval": _ends(score.interval),
        "errored": score.errored,
    }


def _ends(interval: Interval | None) -> Json:
    """Both ends; null where there is no interval."""
    return None if interval is None else [interval.low, interval.high]
