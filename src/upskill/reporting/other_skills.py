"""The skills beside the measured one, in words: how many there were, and which of them were loaded."""

from collections import Counter

from upskill.domain import Evaluation
from upskill.reporting.wording import arm_name

_MOST_NAMED = 3


def others_words(evaluation: Evaluation) -> str | None:
    """How many other skills there were, and which were loaded in each arm; `None` where none was asked for."""
    if evaluation.others is None:
        return None
    totals: dict[str, Counter[str]] = {}
    for report in evaluation.students:
        for arm in report.arms:
            name = arm_name(arm.arm, report.harness)
            totals.setdefault(name, Counter()).update(dict(arm.other_skills))
    loaded = [f"{name} {_named(found)}" for name, found in totals.items() if found]
    said = "; other skills loaded: " + ", ".join(loaded) if loaded else "; no other skill was loaded"
    return f"measured {evaluation.others.words}{said}"


def _named(found: Counter[str]) -> str:
    first = ", ".join(f"{name} {number}" for name, number in found.most_common(_MOST_NAMED))
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"({first}{more})"
