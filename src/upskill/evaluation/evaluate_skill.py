"""Evaluates a skill as `upskill eval` does: a skill without cases gets them first, under the same caps."""

from collections.abc import Callable

from upskill.core.by_name import by_name
from upskill.core.nouns import Evaluation
from upskill.core.nouns.progress import PricedPlan
from upskill.core.progress_words import SILENT_RUN, RunProgress
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.skills import read_skill
from upskill.evaluation import evaluate as evaluating
from upskill.evaluation.check_cases import has_cases
from upskill.evaluation.estimate import client_for
from upskill.evaluation.prepare import EvaluationOrder
from upskill.evaluation.previous_version import Previous, opened_previous, read_compare
from upskill.evaluation.resume import TypedAgain, resume

__all__ = ["EvaluationOrder", "Previous", "TypedAgain", "evaluate", "read_compare", "resume"]


def evaluate(
    order: EvaluationOrder,
    *,
    settings: ResolvedSettings,
    progress: RunProgress = SILENT_RUN,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> Evaluation:
    """Evaluate a skill. Raises before any call if it could not succeed; afterwards it always returns a result.

    The teacher writes missing cases once, and saves them with the skill.
    """
    client = client_for(settings.values)
    with opened_previous(order) as opened:
        if order.case_file is None:
            read_skill(order.skill)
            if not has_cases(order.skill):
                by_name("write_missing_cases")(
                    opened, settings=settings, progress=progress, confirm=confirm, client=client
                )
        return evaluating.evaluate(opened, settings=settings, progress=progress, confirm=confirm, client=client)
