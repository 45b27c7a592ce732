"""Intervals for a lift: one that speaks of these very cases, one that speaks of cases like these.

The choice of methods, and the tables that validate them, are in docs/explanation/decisions/0004-statistics.md.
"""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

from upskill.domain import Interval
from upskill.measuring.distributions import t_quantile
from upskill.measuring.pairs import CaseTally

Z_FIXED = 1.96
"""For a design whose size was fixed beforehand."""
Z_SEQUENTIAL = 2.5
"""For a design that could stop early."""
FEWEST_CASES = 6
"""With fewer cases nothing is said about other cases."""
NO_DIFFERENCE = 0.10
"""A lift surely smaller than this, either way, is called no difference."""


def these_cases(tallies: Sequence[CaseTally], *, z: float = Z_FIXED) -> Interval:
    """Stratified Newcombe-Wilson, centred on the pooled difference; only the model's sampling is random."""
    arm = _share([(tally.passed, tally.pairs) for tally in tallies], z)
    against = _share([(tally.passed_against, tally.pairs) for tally in tallies], z)
    difference = arm.rate - against.rate
    low = difference - math.hypot(arm.rate - arm.low, against.high - against.rate)
    high = difference + math.hypot(arm.high - arm.rate, against.rate - against.low)
    return Interval(low=max(-1.0, low), high=min(1.0, high))


def cases_like_these(tallies: Sequence[CaseTally], *, z: float = Z_FIXED) -> Interval | None:
    """Student's t over cases, with a floor under the spread; `None` with too few cases.

    Without the floor, a handful of cases that all moved alike would give an interval of no width.
    """
    if len(tallies) < FEWEST_CASES:
        return None
    return floored_t(tallies, z=z)


def floored_t(tallies: Sequence[CaseTally], *, z: float = Z_FIXED) -> Interval:
    """The interval behind `cases_like_these`, for any number of cases from two on."""
    count = len(tallies)
    mean, spread = floored_spread(tallies)
    half = t_quantile(probability_below(z), count - 1) * spread / math.sqrt(count)
    return Interval(low=max(-1.0, mean - half), high=min(1.0, mean + half))


def floored_spread(tallies: Sequence[CaseTally]) -> tuple[float, float]:
    """The mean of the cases' lifts and their standard deviation, which is never less than one flip would make it."""
    differences = [tally.difference for tally in tallies]
    count = len(differences)
    mean = math.fsum(differences) / count
    # Not statistics.stdev: its exact fractions are thirty times slower, and looks are many.
    deviation = math.sqrt(math.fsum([(value - mean) ** 2 for value in differences]) / (count - 1))
    return mean, max(deviation, 0.5 * count / sum([tally.pairs for tally in tallies]))


@cache
def probability_below(z: float) -> float:
    """The share of a normal law below z; 1.96 stands for 97.5% exactly."""
    return 0.975 if z == Z_FIXED else NormalDist().cdf(z)


class _Share(NamedTuple):
    """One arm's pass rate with its Wilson interval, at the sample size the cases are worth."""

    rate: float
    low: float
    high: float


def _share(counts: Sequence[tuple[int, int]], z: float) -> _Share:
    trials = sum(runs for _, runs in counts)
    rate = sum(passed for passed, _ in counts) / trials
    size = _effective_size(counts, rate, trials)
    denominator = 1 + z * z / size
    centre = (rate + z * z / (2 * size)) / denominator
    half = z * math.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size)) / denominator
    return _Share(rate, centre - half, centre + half)


def _effective_size(counts: Sequence[tuple[int, int]], rate: float, trials: int) -> float:
    """How many independent trials these are worth: more than their number when cases differ among themselves."""
    total = rate * (1 - rate)
    repeated = [(passed / runs, runs) for passed, runs in counts if runs >= 2]
    freedom = sum(runs - 1 for _, runs in repeated)
    within = total
    if freedom:
        weight = sum(runs for _, runs in repeated)
        inside = sum(runs * (runs / (runs - 1)) * p * (1 - p) for p, runs in repeated) / weight
        within = (freedom * inside + 4 * total) / (freedom + 4)
    return float(trials) if within == 0 else max(float(trials), trials * total / within)
