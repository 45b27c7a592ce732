"""Whether a case can tell right from wrong: its state, its labels, and why."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain.lift import Lift

State = Literal["qualified", "unproven", "rejected"]
"""Shown to tell right from wrong; not shown, so it counts and is marked; shown not to, so it never counts."""

Label = Literal["recall", "leaks", "saturated", "impossible"]
"""The answer stands in the skill; what is expected stands in the prompt; without a skill it is always, or never, done.

Labels say what kind of case it is. They never drop one.
"""

LABELS: tuple[Label, ...] = ("recall", "leaks", "saturated", "impossible")
LABEL_MEANINGS: dict[Label, str] = {
    "recall": "what is asked for stands in the skill, word for word",
    "leaks": "what is expected stands in the prompt",
    "saturated": "always passed without the skill: nothing is left to win",
    "impossible": "never passed without the skill: here it can be won",
}
"""For whoever reads a label for the first time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Something seen in a case, in words for the person who wrote it, and what to change."""

    saw: str
    change: str = ""
    """Empty where nothing needs to be changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Qualification:
    """What is known of one case before any student meets it."""

    case_id: str
    state: State
    labels: tuple[Label, ...] = ()
    reasons: tuple[Reason, ...] = ()
    mutants: int = 0
    """Mechanical mutants of the reference that were graded."""
    slipped: tuple[str, ...] = ()
    """Those that passed, each by what was done to the reference."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelLift:
    """The lift over the cases of one label."""

    label: Label | None
    """`None`: the cases without any label."""
    cases: int
    lift: Lift | None
    """`None` where the label was given by the very trials that the lift would be measured on."""
