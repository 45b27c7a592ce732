"""Asks once, when a model is replaced: does the skill still help the new one, and is it still needed.

It is an ordinary evaluation of the new model with a fixed number of answers, with one more question to its lift.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Literal

from upskill.core.nouns import Evaluation
from upskill.core.nouns.lift import Lift, Verdict
from upskill.core.progress import PricedPlan, RunProgress
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.skills import read_skill
from upskill.drift.state import watches_of
from upskill.errors import UsageError
from upskill.evaluation.evaluate import evaluate_opened
from upskill.evaluation.order import EvaluationOrder

Need = Literal["still helps", "no longer needed", "hurts now", "undecided"]
"""What is concluded of a skill for the model that replaces another."""
MARGIN = 0.10
"""The new model without the skill may be worse than with it by less than this for the skill not to be needed."""
ANSWERS = 5
"""Answers per case and arm."""


def need_of(verdict: Verdict | None, lift: Lift | None) -> Need:
    """Whether the skill is needed. A lift that is shown is never called unnecessary, however small it is."""
    if verdict == "helps":
        return "still helps"
    if verdict == "hurts":
        return "hurts now"
    if verdict == "invalid" or lift is None or lift.about == "these cases":
        return "undecided"
    return "no longer needed" if lift.interval.high < MARGIN else "undecided"


def need_after(evaluation: Evaluation) -> Need:
    """What an evaluation of the new model says of its need."""
    (report,) = evaluation.students
    return "undecided" if evaluation.interrupted else need_of(report.verdict, report.lifts[0] if report.lifts else None)


def tokens_saved(evaluation: Evaluation) -> float | None:
    """Tokens that a call takes less without the skill; `None` where tokens are not known."""
    (report,) = evaluation.students
    tokens = {arm.arm: arm.tokens for arm in report.arms}
    for lift in report.lifts[:1]:
        given, without = tokens.get(lift.arm), tokens.get(lift.against)
        return None if given is None or without is None else given - without
    return None


def models_of(typed: str, skills: Iterable[Path], settings: ResolvedSettings) -> tuple[str, str]:
    """The two models of `OLD=NEW`. Raises unless the history of each skill was bought with the old one."""
    old, equals, new = typed.partition("=")
    if not (old and equals and new):
        raise UsageError(
            f"--new-model {typed}: is not understood", hint="write --new-model OLD=NEW, with the names of two models"
        )
    for skill in skills:
        name = read_skill(skill).name
        watched = watches_of(settings.values, name)
        if any(old in (one.student, one.terms.get("model")) for one in watched):
            continue
        if watched:
            known = [one.student for one in watched]
            raise UsageError(
                f"{name}: its history was bought with {' and '.join(known)}, not with {old}",
                hint=f"type --new-model {known[0]}={new}",
            )
        raise UsageError(
            f"{name}: no history was bought with {old}, so {new} has nothing to replace",
            hint=f"evaluate {new} alone: `upskill eval {quote(str(skill))} -m {quote(new)}`; or check UPSKILL_LEDGER, "
            "beside which histories lie",
        )
    return old, new


def evaluate_new(
    skill: Path,
    model: str,
    settings: ResolvedSettings,
    *,
    case_file: Path | None,
    answers: int | None,
    progress: RunProgress,
    confirm: Callable[[PricedPlan], bool],
) -> Evaluation:
    """Evaluate a skill on the new model. What the trial store holds of it is not bought again."""
    order = EvaluationOrder(skill=skill, case_file=case_file, repeats=answers or ANSWERS)
    settings = replace(settings, values=replace(settings.values, models=(model,)))
    return evaluate_opened(order, settings=settings, progress=progress, confirm=confirm)
