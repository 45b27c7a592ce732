"""A revised description: how a teacher is asked for a better one, how it compares with the old one on the same prompts,
and what people read of it. The teacher never sees a held-out prompt; the body is not its to change."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from upskill.core.models import Ask, Message, Question
from upskill.core.models.teacher_answers import TeacherUnusable, UnusableAnswer, ask_for
from upskill.core.nouns.answer_schemas import TEXT, object_of
from upskill.core.nouns.look import case_key
from upskill.core.nouns.skill import MOST_CHARACTERS
from upskill.core.nouns.text import count, points
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt, TriggerRate, TriggerScore
from upskill.core.statistics import level_after
from upskill.core.statistics.intervals import Level
from upskill.core.statistics.looks import ordinal
from upskill.core.statistics.pairs import DroppedPair, Pair, Pairing
from upskill.core.statistics.verdict import judge
from upskill.generation.draft import Clean, Draft, clean_by_patterns, description_problems
from upskill.generation.draft_answer import portable_description
from upskill.generation.generated import DescriptionAttempt, DescriptionComparison, StudentClaim, worst_of
from upskill.generation.material import answer_tokens, material_budget
from upskill.generation.prompts import prompt, quoted
from upskill.report.wording import confidence_interval


def compare_descriptions(before: TriggerScore, after: TriggerScore, *, level: float) -> DescriptionComparison:
    """Judge the new description against the old one; `level` is the one-sided error that this look is allowed.

    Both scores are of one student in one company, on the same prompts.
    """
    old = {tally.prompt.id: tally for tally in before.tallies}
    pairs = [(tally, old[tally.prompt.id]) for tally in after.tallies if tally.prompt.id in old]
    judgement = judge(_pairing(pairs), level=Level(error=level))
    worse = [
        name
        for name, kind in (("recall", True), ("near misses", False))
        if judge(_pairing([pair for pair in pairs if pair[0].prompt.should_load is kind])).verdict == "hurts"
    ]
    found = DescriptionComparison(
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
    return replace(found, sentence=comparison_words(found))


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


def describe_better(
    skill: Draft,
    outcomes: Sequence[PromptTally],
    ask: Ask,
    *,
    figures: str,
    tried: Mapping[str, str],
    window: int | None = None,
    clean: Clean = clean_by_patterns,
) -> str:
    """Ask the teacher for a better description. Raises `TeacherUnusable` where none can be used.

    `outcomes` are of practice prompts only, one for each, all students together; `figures` says in words how the
    description did on them. `tried` are descriptions that were no better, each with how it did, in words.
    """

    def read(text: str) -> str:
        description = portable_description(json.loads(text)["description"], clean=clean)
        problems = description_problems(description)
        problems += [f"it quotes a practice prompt: {words}" for words in _quoted_words(description, outcomes)]
        if description in {skill.description, *tried}:
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
    skill: Draft, outcomes: Sequence[PromptTally], figures: str, tried: Mapping[str, str], window: int | None
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


def _tried(tried: Mapping[str, str]) -> str:
    if not tried:
        return ""
    parts = [
        f"## Try {number}: {outcome}\n\n{quoted(description)}"
        for number, (description, outcome) in enumerate(tried.items(), start=1)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerMeasurement:
    """What the models did with one description."""

    scores: tuple[TriggerScore, ...]
    """One for each model and company, always in the same order."""
    draft: str | None = None
    """The skill with this description, in the run folder."""
    cut_short: str | None = None
    """Why it ended before all prompts were asked, in words; nothing more can be bought then."""


MeasureDescription = Callable[[str, str, Sequence[TriggerPrompt]], TriggerMeasurement]
"""Measures a description with every model on these prompts.

The first text names the measurement within the run, such as `learn-1` or `held-out-old`; the second is the description.
The same stage is asked for once only; a resumed command asks for it again and is given what it had. Raises where
nothing can be run, and `KeyboardInterrupt` where a person stopped it. A cap that was reached is in what is returned.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RefinedDescription:
    """All descriptions that were measured, the best of them, and why revising ended."""

    best: DescriptionAttempt
    attempts: tuple[DescriptionAttempt, ...]
    stopped: str
    """In words for a person."""
    cut_short: bool = False
    """Whether a cap or an outage ended it."""


def refine_description(
    skill: Draft,
    *,
    prompts: Sequence[TriggerPrompt],
    measure: MeasureDescription,
    ask: Ask,
    revisions: int,
    window: int | None = None,
    clean: Clean = clean_by_patterns,
    on_attempt: Callable[[DescriptionAttempt, DescriptionAttempt], None] = lambda _attempt, _best: None,
) -> RefinedDescription:
    """Revise until nothing is wrong on the practice prompts, or so many revisions were measured.

    A description takes the place of the best only if its J is higher: one that loads the skill for every prompt has a J
    of 0. Raises what `measure` and `ask` raise, other than `TeacherUnusable`.
    """
    attempts: list[DescriptionAttempt] = []
    description, best = skill.description, None
    while True:
        number = len(attempts) + 1
        measured = measure(f"learn-{number}", description, prompts)
        new = DescriptionAttempt(
            number=number, description=description, scores=measured.scores, draft=measured.draft, chosen=True
        )
        attempts.append(new)
        if best is None or (measured.cut_short is None and _is_higher(new.j, best.j)):
            best = new
        on_attempt(new, best)
        if (stopped := measured.cut_short) is not None:
            break
        if number > revisions:
            stopped = f"{count(revisions, 'revision')} measured"
            break
        if not any(tally.wrong for score in best.scores for tally in score.tallies):
            stopped = "every practice prompt was decided rightly"
            break
        try:
            description = describe_better(
                replace(skill, description=best.description),
                all_together(best.scores),
                ask,
                figures="\n".join(f"- {score_words(score)}" for score in best.scores),
                tried={one.description: "; ".join(map(score_words, one.scores)) for one in attempts if one is not best},
                window=window,
                clean=clean,
            )
        except TeacherUnusable as unusable:
            stopped = unusable.message
            break
    return RefinedDescription(
        best=best,
        attempts=tuple(replace(one, chosen=one is best) for one in attempts),
        stopped=stopped,
        cut_short=measured.cut_short is not None,
    )


def _is_higher(new: float | None, best: float | None) -> bool:
    return new is not None and best is not None and new > best + 1e-9


def all_together(scores: Sequence[TriggerScore]) -> tuple[PromptTally, ...]:
    """One tally for each prompt, of all models and companies together."""
    found: dict[str, PromptTally] = {}
    for tally in (one for score in scores for one in score.tallies):
        before = found.get(tally.prompt.id)
        if before is None:
            found[tally.prompt.id] = tally
            continue
        found[tally.prompt.id] = replace(
            before,
            answers=before.answers + tally.answers,
            loads=before.loads + tally.loads,
            errored=before.errored + tally.errored,
            others=tuple(dict.fromkeys((*before.others, *tally.others))),
        )
    return tuple(found.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionProof:
    """What held-out prompts showed, and whether the new description is accepted."""

    proven: bool
    reason: str
    """For a person."""
    comparisons: tuple[DescriptionComparison, ...] = ()
    """One for each model and company; empty where no held-out prompt was used."""
    held_out: tuple[str, ...] = ()
    """The digests of the prompts that were used: another use of one of them spends more of its error."""

    @property
    def claims(self) -> tuple[StudentClaim, ...]:
        """What is claimed for each model: the worst of its companies."""
        found: dict[str, list[DescriptionComparison]] = {}
        for one in self.comparisons:
            found.setdefault(one.student, []).append(one)
        return tuple(_claim(student, mine) for student, mine in found.items())


def prove_description(
    old: str,
    new: str,
    *,
    held_out: Sequence[TriggerPrompt],
    measure: MeasureDescription,
    earlier: Sequence[bool] = (),
) -> DescriptionProof:
    """Measure both descriptions on held-out prompts and judge the new one.

    `earlier` says of each earlier use of these prompts whether it proved something. One model that decides better is
    enough, so each of several is tested at its share of the level. Raises what `measure` raises.
    """
    before, after = measure("held-out-old", old, held_out), measure("held-out-new", new, held_out)
    cut_short = before.cut_short or after.cut_short
    level = level_after(earlier) / max(1, len(after.scores))
    old_scores = {(score.student, score.company): score for score in before.scores}
    comparisons = tuple(
        compare_descriptions(old_scores[key], score, level=level)
        for score in after.scores
        if (key := (score.student, score.company)) in old_scores  # a cap may have ended one of them early
    )
    hurt = [one for one in comparisons if one.verdict == "hurts" or one.worse]
    proven = cut_short is None and any(one.better for one in comparisons) and not hurt
    reason = "nothing was measured"
    if comparisons:
        reason = comparisons[0].sentence if len(comparisons) == 1 else _of_several(comparisons)
    if earlier:
        reason += f" (stricter threshold: {ordinal(len(earlier) + 1)} look at these prompts)"
    if cut_short is not None:
        reason = f"{cut_short} before all held-out prompts were asked; so far, {reason}"
    return DescriptionProof(
        proven=proven,
        reason=reason,
        comparisons=comparisons,
        held_out=tuple(sorted(case_key(prompt.as_case) for prompt in held_out)),
    )


def _of_several(comparisons: Sequence[DescriptionComparison]) -> str:
    better = sum(one.better for one in comparisons)
    hurt = sum(one.verdict == "hurts" or bool(one.worse) for one in comparisons)
    models = len({one.student for one in comparisons})
    where = "alone and among other skills, " if len(comparisons) > models else ""
    prompts = count(max(len(one.after.tallies) for one in comparisons), "held-out prompt")
    return (
        f"the new one is better in {better} of {len(comparisons)} comparisons and worse in {hurt or 'none'} "
        f"({count(models, 'model')}, {where}{prompts})"
    )


def _claim(student: str, mine: Sequence[DescriptionComparison]) -> StudentClaim:
    statuses = tuple("undecided" if one.verdict == "helps" and not one.better else one.verdict for one in mine)
    status = "hurts" if any(one.worse for one in mine) else worst_of(statuses)
    shown = next((one for one in mine if one.verdict == status), mine[0])
    return StudentClaim(student=student, status=status, sentence=shown.sentence, claim=shown.claim)


_WORSE = {"recall": "loads the skill less often where it should", "near misses": "loads the skill on more near misses"}


def score_words(score: TriggerScore) -> str:
    """How one model loads the skill, in a line."""
    errored = f", {count(score.errored, 'errored answer')}" if score.errored else ""
    rates = f"recall {rate_words(score.recall)}, loaded on near misses {rate_words(score.near_miss)}"
    return f"{score.student}{company_words(score.company)}: {rates}{errored}"


def company_words(company: str) -> str:
    """Whether other skills lay beside it, to follow the name of a model."""
    return " among other skills" if company == "among" else ""


def rate_words(rate: TriggerRate | None) -> str:
    """In whole percent."""
    return "unknown" if rate is None else f"{round(rate.rate * 100)}%"


def comparison_words(one: DescriptionComparison) -> str:
    """What held-out prompts showed for one model in one company; the subject is the new description."""
    on = f"on {count(len(one.after.tallies), 'held-out prompt')}"
    if one.lift is None or one.verdict == "invalid":
        return f"there is no verdict on the new one, because too many answers errored {on}"
    figures = f"{points(one.lift.mean)} points of right decisions ({confidence_interval(one.lift)}) {on}"
    rates = (
        f"recall {rate_words(one.before.recall)} → {rate_words(one.after.recall)}, "
        f"loaded on near misses {rate_words(one.before.near_miss)} → {rate_words(one.after.near_miss)}"
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
