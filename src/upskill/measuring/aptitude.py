"""Whether a student can profit from a skill: what the passage that a case rests on adds, when it is in the prompt.

The question is about these learn cases only, so the interval for these cases answers it: the student's sampling is all
that is random, and fresh repeats reduce it. A student that answers alike every time has nothing random: its result on
these cases is known exactly, and repeats would be copies.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from upskill.domain import Interval, Lift, Trial
from upskill.measuring.copies import are_copies, collapse_copies
from upskill.measuring.lift import measure_lift
from upskill.measuring.pairs import pair_trials

LEAST_GAIN = 0.10
"""A student that surely gains less from the passages themselves is not taught."""
LEAST_CASES = 8
"""Fewer learn cases stop nothing: a skill can say in plainer words what a passage of theirs says."""
MOST_ROUNDS = 4
ENOUGH_PAIRS = 40
"""With so many pairs, all failed in both arms, the interval ends below the least gain; fewer cases get more rounds."""

Prospect = Literal["can profit", "cannot profit", "open"]


def most_rounds(cases: int) -> int:
    """The most rounds over so many cases; one where they are too few to stop anything."""
    return 1 if cases < LEAST_CASES else max(MOST_ROUNDS, -(-ENOUGH_PAIRS // cases))


def ceiling_lift(trials: Sequence[Trial], *, temperature: float | None) -> Lift | None:
    """Ceiling minus baseline, the mean over cases, with its 95% interval for these cases; `None` without a pair.

    The interval is a point where the student answers alike every time: half of the cases or more were repeated and
    the repeats are copies, or nothing was repeated and the temperature is 0.
    """
    pairing = pair_trials(trials, arm="ceiling", against="baseline")
    cases = Counter(pair.case_id for pair in pairing.pairs)
    repeated = sum(pairs > 1 for pairs in cases.values())
    exact = 2 * repeated >= len(cases) and are_copies(pairing.pairs) if repeated else temperature == 0
    lift = measure_lift(collapse_copies(pairing) if exact else pairing)
    return replace(lift, these_cases=Interval(low=lift.mean, high=lift.mean)) if lift is not None and exact else lift


def prospect(lift: Lift | None) -> Prospect:
    """What a lift says so far: a gain large enough on average, or its upper bound below that, or neither.

    The bound is looked at after every round. Of students whose true gain on their cases is the least one this stops
    at most 1 in 10, and with twice that gain 1 in 30; docs/explanation/how-a-skill-is-drafted.md has the table.
    """
    if lift is None:
        return "open"
    if lift.mean >= LEAST_GAIN - 1e-9:
        return "can profit"
    return "cannot profit" if lift.these_cases.high < LEAST_GAIN - 1e-9 else "open"
