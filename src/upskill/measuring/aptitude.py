"""Whether a student can profit from a skill: what the passage that a case rests on adds, when it is in the prompt.

The question is about these learn cases only, so the interval for these cases answers it: the student's sampling is all
that is random, and fresh repeats reduce it. A student that answers alike every time has nothing random: its result on
these cases is known exactly, and repeats would be copies.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from upskill.domain import Interval, Lift, Trial
from upskill.measuring.lift import measure_lift
from upskill.measuring.pairs import Pair, pair_trials

LEAST_GAIN = 0.10
"""A student that gains less from the passage itself gains less from any skill."""
MOST_ROUNDS = 4
ENOUGH_PAIRS = 40
"""With so many pairs, all failed in both arms, the interval ends below the least gain; fewer cases get more rounds."""

Prospect = Literal["can profit", "cannot profit", "open"]


def most_rounds(cases: int) -> int:
    """The most rounds over so many cases."""
    return max(MOST_ROUNDS, min(10, -(-ENOUGH_PAIRS // cases)))


def ceiling_lift(trials: Sequence[Trial], *, temperature: float | None) -> Lift | None:
    """Ceiling minus baseline, the mean over cases, with its 95% interval for these cases; `None` without a pair.

    The interval is a point where the student answers alike every time: each repeated case was answered by the same
    bytes in both arms, or nothing was repeated and the temperature is 0.
    """
    pairing = pair_trials(trials, arm="ceiling", against="baseline")
    lift = measure_lift(pairing)
    if lift is None or not _is_exact(pairing.pairs, temperature=temperature):
        return lift
    return replace(lift, these_cases=Interval(low=lift.mean, high=lift.mean))


def _is_exact(pairs: Sequence[Pair], *, temperature: float | None) -> bool:
    answers: dict[tuple[str, int], list[str]] = defaultdict(list)
    for pair in pairs:
        for arm, answer in enumerate(pair.answers):
            answers[pair.case_id, arm].append(answer)
    repeated = [mine for mine in answers.values() if len(mine) > 1]
    if not repeated:
        return temperature == 0
    return len(repeated) == len(answers) and all(mine[0] and len(set(mine)) == 1 for mine in repeated)


def prospect(lift: Lift | None) -> Prospect:
    """What a lift says so far: a gain large enough on average, or its upper bound below that, or neither.

    The bound is looked at after every round. Of students whose true gain on their cases is the least one this stops
    at most 1 in 10, and with twice that gain 1 in 30; docs/explanation/what-a-student-can-do.md has the table.
    """
    if lift is None:
        return "open"
    if lift.mean >= LEAST_GAIN - 1e-9:
        return "can profit"
    return "cannot profit" if lift.these_cases.high < LEAST_GAIN - 1e-9 else "open"
