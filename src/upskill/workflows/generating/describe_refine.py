"""Revises a description on practice prompts: measure, show the teacher what went wrong, measure again, keep the better.

Practice prompts are for choosing, and nothing is claimed from them. Held-out prompts are not seen here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from upskill.domain import Draft
from upskill.domain.description import DescriptionAttempt
from upskill.domain.text import count
from upskill.domain.trigger import PromptTally, TriggerPrompt, TriggerScore
from upskill.models import Ask
from upskill.reporting.described import score_words
from upskill.teaching.answers import TeacherUnusable
from upskill.teaching.describing import TriedDescription, describe_better
from upskill.teaching.draft_rules import Clean, clean_by_patterns


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerMeasurement:
    """What the models did with one description."""

    scores: tuple[TriggerScore, ...]
    """One for each model and company, always in the same order."""
    draft: str | None = None
    """The skill with this description, in the run folder."""
    cut_short: str | None = None
    """Why it ended before all prompts were asked, in words; nothing more can be bought then."""


class MeasureDescription(Protocol):
    """Measures a description with every model."""

    def __call__(self, stage: str, description: str, prompts: Sequence[TriggerPrompt]) -> TriggerMeasurement:
        """Measure on these prompts. `stage` names the measurement within the run: `learn-1`, `held-out-old`.

        The same stage is asked for once only; a resumed command asks for it again and is given what it had. Raises
        where nothing can be run, and `KeyboardInterrupt` where a person stopped it. A cap that was reached is in what
        is returned.
        """
        ...


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

    def attempt(number: int, description: str) -> DescriptionAttempt:
        measured = measure(f"learn-{number}", description, prompts)
        cut_short.append(measured.cut_short)
        return DescriptionAttempt(
            number=number, description=description, scores=measured.scores, draft=measured.draft, chosen=True
        )

    def ended(stopped: str) -> RefinedDescription:
        chosen = tuple(replace(one, chosen=one.number == best.number) for one in attempts)
        return RefinedDescription(
            best=best, attempts=chosen, stopped=stopped, cut_short=any(one is not None for one in cut_short)
        )

    cut_short: list[str | None] = []
    attempts = [best := attempt(1, skill.description)]
    on_attempt(best, best)
    for number in range(2, revisions + 2):
        if cut_short[-1] is not None:
            return ended(cut_short[-1])
        if not any(tally.wrong for score in best.scores for tally in score.tallies):
            return ended("every practice prompt was decided rightly")
        try:
            description = describe_better(
                replace(skill, description=best.description),
                all_together(best.scores),
                ask,
                figures="\n".join(f"- {score_words(score)}" for score in best.scores),
                tried=[_tried(one) for one in attempts if one.number != best.number],
                window=window,
                clean=clean,
            )
        except TeacherUnusable as unusable:
            return ended(unusable.message)
        attempts.append(new := attempt(number, description))
        if cut_short[-1] is None and new.j is not None and best.j is not None and new.j > best.j + 1e-9:
            best = new
        on_attempt(new, best)
    if cut_short[-1] is not None:
        return ended(cut_short[-1])
    return ended(f"{count(revisions, 'revision')} measured")


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


def _tried(one: DescriptionAttempt) -> TriedDescription:
    return TriedDescription(description=one.description, outcome="; ".join(map(score_words, one.scores)))
