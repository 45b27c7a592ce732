"""Names of arms as readers of a report see them: the two that are compared, and those beside them."""

from collections.abc import Sequence

from upskill.domain import DEFAULT_HARNESS, Arm, Evaluation
from upskill.reporting.wording import arm_name

_WORDS = {
    "skill offered": "with the skill offered",
    "skill given": "with the skill given",
    "skill forced": "with the skill forced",
}
"""Names that need more words beside a dot than in a column."""


def compared_titles(evaluation: Evaluation) -> tuple[str, str]:
    """What stands before the comparison and after it."""
    measured, against = evaluation.students[0].compared if evaluation.students else ("with_skill", "baseline")
    before, after = (_title(arm, evaluation) for arm in (against, measured))
    return before, after


def arm_titles(evaluation: Evaluation, arms: Sequence[Arm]) -> tuple[str, ...]:
    """These arms as the sides of a pair are called: those that are compared as in the headline."""
    return tuple(_title(arm, evaluation) for arm in arms)


def _title(arm: Arm, evaluation: Evaluation) -> str:
    harness = DEFAULT_HARNESS
    if evaluation.students:
        measured, against = evaluation.students[0].compared
        if against == "previous" and arm in (measured, against):
            return "old version" if arm == against else "new version"
        harness = evaluation.students[0].harness
    name = arm_name(arm, harness)
    return _WORDS.get(name, name)
