"""Evaluates a skill as `upskill eval` does: a skill without cases gets them first, under the same caps."""

from collections.abc import Callable

from upskill import storage
from upskill.domain import Evaluation
from upskill.settings import ResolvedSettings
from upskill.workflows.evaluating import evaluate as evaluating
from upskill.workflows.evaluating.check_cases import has_cases
from upskill.workflows.evaluating.prepare import EvaluationOrder
from upskill.workflows.evaluating.previous_version import Previous, opened_previous, read_compare
from upskill.workflows.evaluating.resume import resume, resume_command
from upskill.workflows.evaluating.spending import PricedPlan, client_for
from upskill.workflows.evaluating.typed_again import TypedAgain
from upskill.workflows.generating.write_cases import write_missing_cases
from upskill.workflows.progress import SILENT_RUN, RunProgress

__all__ = ["EvaluationOrder", "Previous", "TypedAgain", "evaluate", "read_compare", "resume", "resume_command"]


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
            storage.read_skill(order.skill)
            if not has_cases(order.skill):
                write_missing_cases(opened, settings=settings, progress=progress, confirm=confirm, client=client)
        return evaluating.evaluate(opened, settings=settings, progress=progress, confirm=confirm, client=client)
