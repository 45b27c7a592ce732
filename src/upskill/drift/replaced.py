"""Asks once, when a model is replaced: does the skill still help the new one, and is it still needed.

It is an ordinary evaluation of the new model with a fixed number of answers, with one more question to its lift.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from upskill.core.nouns import Evaluation
from upskill.core.nouns.lift import Lift, Verdict
from upskill.core.progress import PricedPlan, RunProgress
from upskill.core.settings import ResolvedSettings
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
    if verdict == "invalid" or lift is None or lift.cases_like_these is None:
        return "undecided"
    return "no longer needed" if lift.cases_like_these.high < MARGIN else "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class Replacement:
    """The skill on the model that replaces another."""

    old: str
    new: str
    need: Need
    evaluation: Evaluation
    tokens_saved: float | None
    """Per call, where the skill is not given; `None` where tokens are not known."""


def replace_model(
    skill: Path,
    models: str,
    settings: ResolvedSettings,
    *,
    case_file: Path | None,
    answers: int | None,
    progress: RunProgress,
    confirm: Callable[[PricedPlan], bool],
) -> Replacement:
    """Evaluate the new model of `OLD=NEW`. What the trial store holds of it is not bought again."""
    old, equals, new = models.partition("=")
    if not (old and equals and new):
        raise UsageError(f"--new-model {models}: is not understood", hint="write --new-model OLD=NEW")
    order = EvaluationOrder(skill=skill, case_file=case_file, repeats=answers or ANSWERS)
    settings = replace(settings, values=replace(settings.values, models=(new,)))
    evaluation = evaluate_opened(order, settings=settings, progress=progress, confirm=confirm)
    (report,) = evaluation.students
    tokens = {arm.arm: arm.tokens for arm in report.arms}
    lift = report.lifts[0] if report.lifts else None
    given, without = (tokens.get(lift.arm), tokens.get(lift.against)) if lift is not None else (None, None)
    return Replacement(
        old=old,
        new=new,
        need="undecided" if evaluation.interrupted else need_of(report.verdict, lift),
        evaluation=evaluation,
        tokens_saved=None if given is None or without is None else given - without,
    )
