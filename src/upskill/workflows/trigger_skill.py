"""Measures when a skill is loaded, as `upskill trigger` does: a skill without prompts gets them first."""

from collections.abc import Callable

from upskill import storage
from upskill.domain.progress import SILENT, Progress
from upskill.domain.trigger import TriggerResult
from upskill.settings import ResolvedSettings
from upskill.workflows.evaluating.spending import PricedPlan, client_for
from upskill.workflows.generating.write_triggers import write_missing_triggers
from upskill.workflows.triggering import trigger as triggering
from upskill.workflows.triggering.prepare import TriggerOrder

__all__ = ["TriggerOrder", "trigger"]


def trigger(
    order: TriggerOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> TriggerResult:
    """Measure when a skill is loaded. Raises before any call if it could not succeed; later it returns a result.

    The teacher writes missing prompts once, and saves them with the skill.
    """
    client = client_for(settings.values)
    if order.prompt_file is None and storage.read_skill_triggers(order.skill) is None:
        storage.read_skill(order.skill)
        write_missing_triggers(order.skill, settings=settings, progress=progress, confirm=confirm, client=client)
    return triggering.trigger(order, settings=settings, progress=progress, confirm=confirm, client=client)
