"""Intervals for a lift: one that speaks of these very cases, one that speaks of cases like these.

docs/explanation/what-the-interval-means.md has the choice of methods, benchmarks/results/ the tables that validate it.

The tokens that one arm uses for the other's are a ratio per case, summed up for the typical case. Only pairs with both
trials scored count, so that both arms did the same work. An unknown count leaves the ratio unknown, never zero.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from statistics import NormalDist
from typing import NamedTuple

from upskill.core.nouns import Arm, Interval, Scored, Trial
from upskill.core.statistics.distributions import exact_share, t_quantile
from upskill.core.statistics.pairs import CaseTally

FIRST_LEVEL = 0.025
"""The one-sided level of the first look, and the most that a later one gets."""
FEWEST_CASES = 6
"""With fewer cases, or families of cases, nothing is said about other cases."""
NO_DIFFERENCE = 0.10
"""A lift surely smaller than this, either way, is called no difference."""
MOST_WORTH = 3
"""A case is worth at most so many all-or-nothing draws, however alike the cases are: with many repeats a few cases look
so much alike that a kind of case which is not among them would be taken for excluded."""


@dataclass(frozen=True, slots=True)
class Level:
    """How strictly a lift is tested: the error on one side, all looks together, and how many looks there are.

    Earlier looks make it harder to say that a skill helps. That it hurts is said as easily as in the first look:
    nobody looks often in order to find harm.
    """

    error: float = FIRST_LEVEL
    looks: int = 1
    """Looks of the interval for cases like these; 1 for a design of fixed size."""

    @property
    def confidence(self) -> float:
        """What an interval with this error on both sides promises to cover."""
        return 1 - 2 * self.error

    @property
    def of_harm(self) -> "Level":
        """The level at which the upper end of a lift is found."""
        return self if self.error >= FIRST_LEVEL else replace(self, error=FIRST_LEVEL)

    @property
    def confidence_of_lift(self) -> float:
        """What the interval of a lift promises to cover."""
        return 1 - self.error - self.of_harm.error

    @property
    def of_a_look(self) -> float:
        """The error of a single look at cases like these. The looks resemble each other, so it is no even share."""
        return self.error if self.looks == 1 else self.error / (3 if self.looks <= 3 else 4.5)

    @property
    def z(self) -> float:
        """The normal quantile for these cases; 2.5 where the design may stop early and nothing was looked at before."""
        return _quantile(self.error if self.looks == 1 else self.error * 0.248387)


FIXED = Level()
"""A design whose size was fixed beforehand."""
SEQUENTIAL = Level(looks=8)
"""A design that could stop early."""


@cache
def _quantile(error: float) -> float:
    return -NormalDist().inv_cdf(error)


def these_cases(tallies: Sequence[CaseTally], level: Level = FIXED) -> Interval:
    """Stratified Newcombe-Wilson, centred on the pooled difference; only the model's sampling is random."""
    found = _these_cases(tallies, level)
    return found if level.of_harm is level else replace(found, high=_these_cases(tallies, level.of_harm).high)


def _these_cases(tallies: Sequence[CaseTally], level: Level) -> Interval:
    arm = _share([(tally.passed, tally.pairs) for tally in tallies], level.z)
    against = _share([(tally.passed_against, tally.pairs) for tally in tallies], level.z)
    difference = arm.rate - against.rate
    low = difference - math.hypot(arm.rate - arm.low, against.high - against.rate)
    high = difference + math.hypot(arm.high - arm.rate, against.rate - against.low)
    return Interval(low=max(-1.0, low), high=min(1.0, high))


def cases_like_these(tallies: Sequence[CaseTally], level: Level = FIXED) -> Interval | None:
    """Where the mean lift of all cases of this kind lies; `None` with too few cases.

    The hull of two intervals. Student's t over cases, with a floor under the spread, fails where cases respond all
    or nothing, because a kind of case that is not among them shows no spread. So gains and losses have a Wilson
    interval each, at the size that the cases are worth, which Newcombe's method combines: losses that no case showed
    widen the lower end by what so many cases cannot exclude. Looks cannot inflate that part, since the cases stay.
    """
    units = merge_families(tallies)
    if len(units) < FEWEST_CASES:
        return None
    found = _like_these(units, level)
    return found if level.of_harm is level else replace(found, high=_like_these(units, level.of_harm).high)


def _like_these(units: Sequence[CaseTally], level: Level) -> Interval:
    freedom = len(units) - 1
    mean, spread = floored_spread(units)
    half = t_quantile(1 - level.of_a_look, freedom) * spread / math.sqrt(len(units))
    return _hull([unit.difference for unit in units], mean, half, level)


def difference_like_these(values: Sequence[float], *, answers: int, level: Level) -> tuple[float, Interval]:
    """The mean of differences of units, and where it lies for all units of this kind, as `cases_like_these` says."""
    mean, half = mean_half(values, answers=answers, level=level)
    return mean, _hull(values, mean, half, level)


def _hull(differences: Sequence[float], mean: float, half: float, level: Level) -> Interval:
    quantile = t_quantile(1 - level.error, len(differences) - 1)
    gain = _mean_share([max(one, 0.0) for one in differences], quantile)
    loss = _mean_share([max(-one, 0.0) for one in differences], quantile)
    low = mean - max(half, math.hypot(gain.rate - gain.low, loss.high - loss.rate))
    high = mean + max(half, math.hypot(gain.high - gain.rate, loss.rate - loss.low))
    return Interval(low=max(-1.0, low), high=min(1.0, high))


def share_of_these_cases(counts: Sequence[tuple[int, int]], level: Level = FIXED) -> Interval:
    """Where the mean share of these cases lies, from hits and answers of each case; only sampling is random.

    Exact, because there may be very few answers and no arm to subtract.
    """
    hits, answers = sum(hit for hit, _ in counts), sum(number for _, number in counts)
    low, high = exact_share(hits, answers, NormalDist().cdf(-level.z))
    mean = math.fsum(hit / number for hit, number in counts) / len(counts)
    return Interval(low=min(low, mean), high=max(high, mean))


def share_like_these(counts: Sequence[tuple[int, int]], level: Level = FIXED) -> Interval | None:
    """Where the mean share of all cases of this kind lies, from hits and answers of each unit; `None` with too few.

    The hull of Student's t over units and the Wilson interval at the size that the units are worth: where no case, or
    every case, had a hit, only the second has a width.
    """
    if len(counts) < FEWEST_CASES:
        return None
    values = [hits / answers for hits, answers in counts]
    mean, half = mean_half(values, answers=sum(answers for _, answers in counts), level=level)
    share = _mean_share(values, t_quantile(1 - level.error, len(values) - 1))
    return Interval(low=max(0.0, min(mean - half, share.low)), high=min(1.0, max(mean + half, share.high)))


def mean_half(values: Sequence[float], *, answers: int, level: Level = FIXED) -> tuple[float, float]:
    """The mean of values of units and the half width of its interval by Student's t.

    The spread is never less than one flip among so many answers would make it.
    """
    mean, spread = _spread_above(values, 0.5 * len(values) / answers)
    return mean, t_quantile(1 - level.of_a_look, len(values) - 1) * spread / math.sqrt(len(values))


def merge_families(tallies: Sequence[CaseTally]) -> tuple[CaseTally, ...]:
    """One tally per family: cases of one family are one draw from all cases of this kind."""
    if all(tally.family is None for tally in tallies):
        return tuple(tallies)
    merged = [tally for tally in tallies if tally.family is None]
    in_family = sorted((tally for tally in tallies if tally.family is not None), key=lambda tally: str(tally.family))
    for _, members in groupby(in_family, key=lambda tally: tally.family):
        family = list(members)
        merged.append(
            replace(
                family[0],
                pairs=sum(tally.pairs for tally in family),
                passed=sum(tally.passed for tally in family),
                passed_against=sum(tally.passed_against for tally in family),
            )
        )
    return tuple(merged)


def floored_spread(tallies: Sequence[CaseTally]) -> tuple[float, float]:
    """The mean of the cases' lifts and their standard deviation, which is never less than one flip would make it."""
    differences = [tally.difference for tally in tallies]
    return _spread_above(differences, 0.5 * len(differences) / sum([tally.pairs for tally in tallies]))


def _spread_above(values: Sequence[float], floor: float) -> tuple[float, float]:
    count = len(values)
    mean = math.fsum(values) / count
    # Not statistics.stdev: its exact fractions are thirty times slower, and looks are many.
    deviation = math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / (count - 1))
    return mean, max(deviation, floor)


def _mean_share(values: Sequence[float], z: float) -> "_Share":
    """The mean of shares over cases, with its Wilson interval at the size that their spread is worth."""
    count = len(values)
    mean = math.fsum(values) / count
    variance = math.fsum([(value - mean) ** 2 for value in values]) / (count - 1)
    worth = count if variance == 0 else count * mean * (1 - mean) / variance
    return _wilson(mean, min(max(worth, count), MOST_WORTH * count), z)


class _Share(NamedTuple):
    """One arm's pass rate with its Wilson interval, at the sample size the cases are worth."""

    rate: float
    low: float
    high: float


def _share(counts: Sequence[tuple[int, int]], z: float) -> _Share:
    trials = sum(runs for _, runs in counts)
    rate = sum(passed for passed, _ in counts) / trials
    return _wilson(rate, _effective_size(counts, rate, trials), z)


def _wilson(rate: float, size: float, z: float) -> _Share:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Ratio:
    """One arm's use divided by the other's."""

    typical: float
    """In the typical case: the geometric mean of the cases' ratios."""
    interval: Interval | None
    """The interval of the typical case; `None` with a single case."""
    total: float
    """Sum over sum. Without an interval: the usual ones promise more than they keep."""
    cases: int

    @property
    def below_one(self) -> bool:
        """Surely less is used."""
        return self.interval is not None and self.interval.high < 1


def measure_tokens(
    trials: Iterable[Trial], *, arm: Arm, against: Arm, families: Mapping[str, str], level: Level = FIXED
) -> Ratio | None:
    """The ratio of tokens; `None` where a count is unknown or zero, or nothing is paired. `families` is by case."""
    found: dict[tuple[str, int], dict[Arm, Trial]] = defaultdict(dict)
    for trial in trials:
        if isinstance(trial.outcome, Scored):
            found[trial.case_id, trial.repeat][trial.arm] = trial
    return ratio_of_uses(
        (
            (unit_of(case_id, families.get(case_id)), (arms[arm].usage.tokens, arms[against].usage.tokens))
            for (case_id, _), arms in found.items()
            if arm in arms and against in arms
        ),
        level,
    )


def unit_of(case_id: str, family: str | None) -> tuple[str, str]:
    """What is one draw from all cases of this kind: a case, or the family that it names."""
    return ("case", case_id) if family is None else ("family", family)


Uses = Iterable[tuple[tuple[str, str], tuple[int | None, int | None]]]


def ratio_of_uses(uses: Uses, level: Level = FIXED) -> Ratio | None:
    """The ratio from what both arms of each pair used, by the unit of its case; `None` as above."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for unit, (one, other) in uses:
        if one is None or other is None:
            return None
        sums[unit][0] += one
        sums[unit][1] += other
    if not sums or any(value <= 0 for both in sums.values() for value in both):
        return None
    return typical_ratio([(one, other) for one, other in sums.values()], level)


def typical_ratio(sums: Iterable[tuple[float, float]], level: Level = FIXED) -> Ratio:
    """From what each case used in the two arms, in all its pairs together, to the ratio with its interval."""
    pairs = list(sums)
    logs = [math.log(one / other) for one, other in pairs]
    count = len(logs)
    mean = math.fsum(logs) / count
    interval = None
    if count > 1:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (count - 1))
        half = t_quantile(NormalDist().cdf(level.z), count - 1) * deviation / math.sqrt(count)
        interval = Interval(low=math.exp(mean - half), high=math.exp(mean + half))
    total = math.fsum(one for one, _ in pairs) / math.fsum(other for _, other in pairs)
    return Ratio(typical=math.exp(mean), interval=interval, total=total, cases=count)
