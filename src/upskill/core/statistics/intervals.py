"""Intervals of a lift, of a share and of a ratio of tokens. Knows no design and no verdict.

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
"""The one-sided error of the first evaluation, and the most that a later one gets."""
FEWEST_CASES = 6
"""With fewer cases, or families of cases, nothing is said about other cases."""
NO_DIFFERENCE = 0.10
"""A lift surely smaller than this, either way, is called no difference."""
MOST_WORTH = 3
"""A case is worth at most so many all-or-nothing draws, however alike the cases are: with many repeats a few cases look
so much alike that a kind of case which is not among them would be taken for excluded."""
_FEW_CASES_SHARE = 0.248387
"""The share of the error with which Newcombe's interval holds it for one to five cases, in both looks: z is 2.5."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """How strictly a lift is tested: the error on one side, and how many looks of the design share it.

    Earlier evaluations make it harder to say that a skill helps. That it hurts is said as easily as in the first one:
    nobody looks often in order to find harm.
    """

    error: float = FIRST_LEVEL
    looks: int = 1

    @property
    def of_a_look(self) -> float:
        """The one-sided error of one look."""
        return self.error / self.looks

    @property
    def of_harm(self) -> "Level":
        """The level at which the upper end of a lift is found."""
        return self if self.error >= FIRST_LEVEL else replace(self, error=FIRST_LEVEL)

    @property
    def confidence(self) -> float:
        """What an interval with this error on both sides promises to cover."""
        return 1 - 2 * self.of_a_look

    @property
    def confidence_of_lift(self) -> float:
        """What the interval of a lift promises to cover."""
        return 1 - self.of_a_look - self.of_harm.of_a_look


def error_of(confidence: float) -> float:
    """The error of the design whose interval of a lift has this confidence: one look never reaches that of two."""
    shared = 1 - confidence
    one, two = (looks * shared - FIRST_LEVEL for looks in (1, 2))
    return one if one > _ROUNDED else two


_ROUNDED = 1e-5
"""Figures in files are rounded to less."""
ONE_LOOK = Level()
"""The level of a first evaluation whose design has one look."""


@cache
def _quantile(error: float) -> float:
    return -NormalDist().inv_cdf(error)


def these_cases(tallies: Sequence[CaseTally], level: Level = ONE_LOOK) -> Interval:
    """Newcombe's interval for all answers together: only the model's sampling is random."""
    arm, against = _rates(tallies)
    answers = sum(tally.pairs for tally in tallies)
    share = 1.0 if len(tallies) >= FEWEST_CASES else _FEW_CASES_SHARE
    low, high = (_newcombe(arm, against, answers, _quantile(one.error * share)) for one in (level, level.of_harm))
    return Interval(low=max(-1.0, low.low), high=min(1.0, high.high))


def _rates(tallies: Sequence[CaseTally]) -> tuple[float, float]:
    """The pass rates over all pairs, whichever case they are of."""
    pairs = sum(tally.pairs for tally in tallies)
    return sum(tally.passed for tally in tallies) / pairs, sum(tally.passed_against for tally in tallies) / pairs


def _newcombe(rate: float, rate_against: float, answers: float, z: float) -> Interval:
    arm, against = _wilson(rate, answers, z), _wilson(rate_against, answers, z)
    difference = rate - rate_against
    return Interval(
        low=difference - math.hypot(rate - arm.low, against.high - rate_against),
        high=difference + math.hypot(arm.high - rate, rate_against - against.low),
    )


def new_cases(tallies: Sequence[CaseTally], level: Level = ONE_LOOK) -> Interval | None:
    """Where the mean lift of all cases of this kind lies; `None` with too few cases or families."""
    units = merge_families(tallies)
    if len(units) < FEWEST_CASES:
        return None
    differences = [unit.difference for unit in units]
    low, high = (_hull(differences, *_mean_and_half(differences, one), one) for one in (level, level.of_harm))
    return Interval(low=low.low, high=high.high)


def difference_on_new_cases(
    values: Sequence[float], *, answers: int, level: Level, unseen: int = 1
) -> tuple[float, Interval]:
    """The mean of differences of units, and where it lies for all units of this kind.

    `unseen` is what a unit is worth as a draw about losses that none shows: more than one where each is measured often.
    """
    mean, half = mean_half(values, answers=answers, level=level)
    return mean, _hull(values, mean, half, level, unseen=unseen)


def _hull(differences: Sequence[float], mean: float, half: float, level: Level, *, unseen: int = 1) -> Interval:
    """The hull of two intervals.

    Student's t over units fails where units respond all or nothing, because a kind of case that is not among them shows
    no spread. So gains and losses have a Wilson interval each, at the size that the units are worth, which Newcombe's
    method combines: losses that no case showed widen the lower end by what so many cases cannot exclude. A second look
    has the same cases, so it cannot inflate that part.
    """
    quantile = t_quantile(1 - level.error, len(differences) - 1)
    gain = _mean_share([max(difference, 0.0) for difference in differences], quantile, unseen)
    loss = _mean_share([max(-difference, 0.0) for difference in differences], quantile, unseen)
    low = mean - max(half, math.hypot(gain.rate - gain.low, loss.high - loss.rate))
    high = mean + max(half, math.hypot(gain.high - gain.rate, loss.rate - loss.low))
    return Interval(low=max(-1.0, low), high=min(1.0, high))


def share_of_these_cases(counts: Sequence[tuple[int, int]], level: Level = ONE_LOOK) -> Interval:
    """Where the mean share of these cases lies, from hits and answers of each case; only sampling is random.

    Exact, because there may be very few answers and no arm to subtract.
    """
    hits, answers = sum(hit for hit, _ in counts), sum(number for _, number in counts)
    low, high = exact_share(hits, answers, level.of_a_look)
    mean = math.fsum(hit / number for hit, number in counts) / len(counts)
    return Interval(low=min(low, mean), high=max(high, mean))


def share_of_new_cases(counts: Sequence[tuple[int, int]], level: Level = ONE_LOOK) -> Interval | None:
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


def mean_half(values: Sequence[float], *, answers: int, level: Level = ONE_LOOK) -> tuple[float, float]:
    """The mean of values of units and the half width of its interval by Student's t.

    The spread is never less than one flip among so many answers would make it.
    """
    return _mean_and_half(values, level, floor=0.5 * len(values) / answers)


def _mean_and_half(values: Sequence[float], level: Level, *, floor: float = 0.0) -> tuple[float, float]:
    count = len(values)
    mean = math.fsum(values) / count
    # Not statistics.stdev: its exact fractions are thirty times slower.
    deviation = math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / (count - 1))
    return mean, t_quantile(1 - level.of_a_look, count - 1) * max(deviation, floor) / math.sqrt(count)


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


def _mean_share(values: Sequence[float], z: float, unseen: int = 1) -> "_Share":
    """The mean of shares over cases, with its Wilson interval at the size that their spread is worth.

    Its upper end is never below that of no share at all, for which a case is worth `unseen` draws: a single small share
    is no evidence that larger ones are rarer.
    """
    count = len(values)
    mean = math.fsum(values) / count
    variance = math.fsum([(value - mean) ** 2 for value in values]) / (count - 1)
    worth = unseen * count if variance == 0 else count * mean * (1 - mean) / variance
    share = _wilson(mean, min(max(worth, count), MOST_WORTH * count), z)
    return share._replace(high=max(share.high, _wilson(0.0, unseen * count, z).high))


class _Share(NamedTuple):
    """A rate with its Wilson interval."""

    rate: float
    low: float
    high: float


def _wilson(rate: float, size: float, z: float) -> _Share:
    denominator = 1 + z * z / size
    centre = (rate + z * z / (2 * size)) / denominator
    half = z * math.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size)) / denominator
    return _Share(rate, centre - half, centre + half)


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
    trials: Iterable[Trial], *, arm: Arm, against: Arm, families: Mapping[str, str], level: Level = ONE_LOOK
) -> Ratio | None:
    """The ratio of tokens; `None` where a count is unknown or zero, or nothing is paired. `families` is by case."""
    pairs: dict[tuple[str, int], dict[Arm, Trial]] = defaultdict(dict)
    for trial in trials:
        if isinstance(trial.outcome, Scored):
            pairs[trial.case_id, trial.repeat][trial.arm] = trial
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (case_id, _), arms in pairs.items():
        if arm not in arms or against not in arms:
            continue
        tokens, tokens_against = arms[arm].usage.tokens, arms[against].usage.tokens
        if tokens is None or tokens_against is None:
            return None
        unit = sums[unit_of(case_id, families.get(case_id))]
        unit[0] += tokens
        unit[1] += tokens_against
    if not sums or any(value <= 0 for both in sums.values() for value in both):
        return None
    return typical_ratio([(tokens, tokens_against) for tokens, tokens_against in sums.values()], level)


def unit_of(case_id: str, family: str | None) -> tuple[str, str]:
    """What is one draw from all cases of this kind: a case, or the family that it names."""
    return ("case", case_id) if family is None else ("family", family)


def typical_ratio(sums: Iterable[tuple[float, float]], level: Level = ONE_LOOK) -> Ratio:
    """From what each case used in the two arms, in all its pairs together, to the ratio with its interval."""
    pairs = list(sums)
    logs = [math.log(one / other) for one, other in pairs]
    count = len(logs)
    interval = None
    mean = math.fsum(logs) / count
    if count > 1:
        _, half = _mean_and_half(logs, level)
        interval = Interval(low=math.exp(mean - half), high=math.exp(mean + half))
    total = math.fsum(one for one, _ in pairs) / math.fsum(other for _, other in pairs)
    return Ratio(typical=math.exp(mean), interval=interval, total=total, cases=count)
