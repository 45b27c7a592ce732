"""The control chart of a watched skill: expected rates, a CUSUM, and its alarm limit simulated from the history.

Arithmetic only: knows neither files nor models nor dates.
"""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import NormalDist, fmean, pvariance
from typing import NamedTuple

from upskill.core.nouns import Interval

HISTORY_NIGHTS = 5
"""Nights on which a history is bought: what all answers of one night share would be half of the fall that is looked
for in the worst case, and averages out over several."""
NIGHTLY = 20
"""Answers of a night."""
SLACK = 0.10
"""What is taken off every answer, half of the fall that the chart looks for: without a fall the sum goes down."""
NIGHT_NOISE = 0.03
"""By how much all answers of one night are better or worse together, if nothing else is known; a standard deviation."""
NIGHT_NOISES = {NIGHT_NOISE: 0.7, 0.05: 0.15, 0.08: 0.1, 0.12: 0.05}
"""What it may be, and how likely that is before a night was seen."""
YEAR = 365
FALSE_ALARMS = 0.02
"""The share of years without a change that the limit lets end in an alarm; less than the 5% that are
promised, for what the simulation cannot know."""
YEARS = 600
"""Simulated years behind a limit: its quantile rests on the 12 highest."""
FEWEST_ANSWERS = 5
"""Answers per case below which a history is refused: a fall of 20 points would be missed too often."""
CHANGED_NIGHTS = 3
"""Nights in a row on which a case is on the other side, where cases are compared one by one. After a history of five
nights, a case that flaps at whatever rate reaches them in at most 2%, however long it is watched."""
_LEAST_WEIGHT = 1.0
"""The mean of all cases counts at least as one answer of each: no case is sure to pass, however often it did."""
_MOST_WEIGHT = 1e4
"""Where cases do not differ by more than chance, the rate of all is as good as that of each."""
_TINY = 1e-3
_MOST_NIGHTS = 4
"""Different nights that are simulated: where cases do not divide by the answers of a night, there are many alike."""
_NOISE = ((-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6))
"""Worse and better nights, and how likely each is: the normal distribution at the three points of Gauss and Hermite."""
_YEARS_ALIKE = 4
"""Simulated years that share their true rates: to work these out takes longer than the years."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseCount:
    """Answers of one case, or of one night, and those of them that passed."""

    passed: int
    answers: int


NO_ANSWERS = CaseCount(passed=0, answers=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What the history leads one to expect of each case."""

    cases: tuple[CaseCount, ...]
    centre: float
    """The rate of all cases together."""
    weight: float
    """How many answers of a case the rate of all cases is worth."""
    nights: tuple[CaseCount, ...]
    """The nights on which the history was bought: what one adds to all of its answers averages out."""

    @property
    def contrasts(self) -> "Iterator[Contrast]":
        """How the nights of the history differ; each asked all cases equally often."""
        shares = [night.passed / night.answers for night in self.nights]
        for number, (night, share) in enumerate(zip(self.nights, shares, strict=True)):
            if number:
                difference = (share - fmean(shares[:number])) * math.sqrt(number / (number + 1))
                yield Contrast(difference, _chance(self.rates) / night.answers)

    @property
    def rates(self) -> tuple[float, ...]:
        """The share of passing answers that is expected of each case: its own, shrunken towards that of all."""
        return tuple((self.weight * self.centre + one.passed) / (self.weight + one.answers) for one in self.cases)

    def drawn(self, rng: random.Random) -> list[float]:
        """True rates of the cases that would fit this history, the rate of all included."""
        answers = sum(one.answers for one in self.cases)
        size = answers * self.weight / (self.weight + answers / len(self.cases))
        centre = rng.betavariate(size * self.centre, size * (1 - self.centre))
        prior = self.weight * centre, self.weight * (1 - centre)
        return [
            rng.betavariate(max(prior[0], _TINY) + one.passed, max(prior[1], _TINY) + one.answers - one.passed)
            for one in self.cases
        ]


class Contrast(NamedTuple):
    """A difference between nights, scaled to the variance of a single night."""

    difference: float
    chance: float
    """The variance that chance alone gives it."""


def contrasts_of(nights: Iterable[Sequence[tuple[float, bool]]]) -> Iterator[Contrast]:
    """How each two nights that follow one another differ in what passed beyond what was expected."""
    surplus = [
        (fmean(passed - rate for rate, passed in night), _chance([rate for rate, _ in night]) / len(night))
        for night in nights
    ]
    for (one, chance), (other, more) in zip(surplus[::2], surplus[1::2], strict=False):
        yield Contrast((one - other) / math.sqrt(2), (chance + more) / 2)


def _chance(rates: Sequence[float]) -> float:
    return fmean(rate * (1 - rate) for rate in rates)


def night_noise(contrasts: Iterable[Contrast]) -> float:
    """What all answers of a night have in common, as these nights show it: the most likely of `NIGHT_NOISES`."""
    known = list(contrasts)

    def likelihood(noise: float) -> float:
        terms = [(one.difference**2, one.chance + noise * noise) for one in known]
        return math.log(NIGHT_NOISES[noise]) - math.fsum(math.log(v) + square / v for square, v in terms) / 2

    return max(NIGHT_NOISES, key=likelihood)


def expect(history: Sequence[CaseCount], *, nights: Sequence[CaseCount]) -> Expected:
    """The expected rates of the cases: `mean + B (own − mean)`, where B is how much of the spread is not chance."""
    shares = [case.passed / case.answers for case in history]
    answers = fmean(case.answers for case in history)
    chance = fmean(share * (1 - share) for share in shares) / max(1.0, answers - 1)
    spread = pvariance(shares)
    own = min(1.0, max(0.0, 1 - chance / spread)) if spread else 0.0
    weight = min(_MOST_WEIGHT, max(_LEAST_WEIGHT, answers * (1 - own) / own)) if own else _MOST_WEIGHT
    # A rate of 0 or 1 would leave no doubt: half an answer on each side is put beside the whole history.
    total = sum(case.answers for case in history)
    centre = (sum(case.passed for case in history) + 0.5) / (total + 1)
    return Expected(cases=tuple(history), centre=centre, weight=weight, nights=tuple(nights))


def rotation(cases: int, *, first: int, answers: int = NIGHTLY) -> list[tuple[int, int]]:
    """The answers of a night, each as the place of its case and the round it belongs to, from the `first`-th on."""
    return [(nth % cases, nth // cases) for nth in range(first, first + answers)]


def raised(level: float, answers: Sequence[tuple[float, bool]]) -> float:
    """The level of the chart after a night: of each answer the rate that was expected, and whether it passed."""
    return max(0.0, level + math.fsum(rate - passed - SLACK for rate, passed in answers))


def raise_a_night(fall: float) -> float:
    """By how much a night raises the chart, on average, where so much less than before passes."""
    return NIGHTLY * (fall - SLACK)


@cache
def alarm_limit(expected: Expected, *, seed: str, noise: float = NIGHT_NOISE, years: int = YEARS) -> float:
    """The level that a year without a change exceeds in `FALSE_ALARMS` of all years, with nights of so much `noise`.

    The simulated years have true rates of their own, drawn from what the history leaves open, and a history that lay
    above or below them by what its nights had in common.
    """
    rng = random.Random(seed)
    groups = range(max(1, years // _YEARS_ALIKE))
    highest = sorted(one for _ in groups for one in _highest_of_years(expected, rng, noise, years=_YEARS_ALIKE))
    return highest[math.ceil((1 - FALSE_ALARMS) * len(highest))]


def _highest_of_years(expected: Expected, rng: random.Random, noise: float, *, years: int) -> Iterator[float]:
    """The highest level of each of some years with the same true rates and the same noise of nights."""
    luck = rng.gauss(0, noise / math.sqrt(len(expected.nights)))
    rates, true = expected.rates, [rate + luck for rate in expected.drawn(rng)]
    cases = len(rates)
    nights = [
        [place for place, _ in rotation(cases, first=nth * NIGHTLY)]
        for nth in range(min(cases // math.gcd(cases, NIGHTLY), _MOST_NIGHTS))
    ]
    drawn: list[list[float]] = []
    for asked in nights:
        level = math.fsum(rates[place] for place in asked) - SLACK * NIGHTLY
        chances = _chances([true[place] for place in asked], noise)
        steps = [level - passed for passed in range(NIGHTLY + 1)]
        drawn.append(rng.choices(steps, cum_weights=list(accumulate(chances)), k=years * (YEAR // len(nights) + 1)))
    walk = [step for steps in zip(*drawn, strict=True) for step in steps]
    for nth in range(years):
        highest = level = 0.0
        for step in walk[nth * YEAR : (nth + 1) * YEAR]:
            level += step
            if level < 0:
                level = 0.0
            elif level > highest:
                highest = level
        yield highest


def _chances(rates: Sequence[float], noise: float) -> list[float]:
    """How likely each number of passing answers is in a night, over the nights that are better and worse than usual."""
    total = [0.0] * (len(rates) + 1)
    for sign, weight in _NOISE:
        chances = [weight]
        for rate in rates:
            p = min(1.0, max(0.0, rate + sign * noise))
            q = 1 - p
            chances = [q * one + p * other for one, other in zip([*chances, 0.0], [0.0, *chances], strict=True)]
        total = [one + other for one, other in zip(total, chances, strict=True)]
    return total


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """How a pass rate differs from that of the history."""

    before: float
    now: float
    interval: Interval
    """95% CI of the difference; only the model's sampling is random, and what a night adds to all of its answers."""

    @property
    def mean(self) -> float:
        """Below zero where it fell."""
        return self.now - self.before


def change_between(before: Sequence[CaseCount], now: Sequence[CaseCount], *, nights: int, noise: float) -> Change:
    """The difference of the mean rates of the same cases, with its interval by Newcombe's method.

    `nights` are those of the history, whose answers have so much `noise` in common; what is asked now is asked in one.
    """
    z = NormalDist().inv_cdf(0.975)
    (old, old_low, old_high), (new, new_low, new_high) = _rate(before, z), _rate(now, z)
    shared = z * noise * math.sqrt(1 + 1 / nights)
    low = new - old - math.hypot(new - new_low, old_high - old, shared)
    high = new - old + math.hypot(new_high - new, old - old_low, shared)
    return Change(before=old, now=new, interval=Interval(low=max(-1.0, low), high=min(1.0, high)))


def _rate(counts: Sequence[CaseCount], z: float) -> tuple[float, float, float]:
    """The mean rate of the cases with its Wilson interval."""
    size = sum(case.answers for case in counts)
    rate = fmean(case.passed / case.answers for case in counts)
    centre = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z * math.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size)) / (1 + z * z / size)
    return rate, min(rate, centre - half), max(rate, centre + half)


def changed_side(rate: float, recent: CaseCount) -> bool:
    """Whether a case that mostly passed mostly fails now, or the other way round, by more than chance."""
    if not recent.answers or (rate > 0.5) == (recent.passed / recent.answers > 0.5):
        return False
    hits = range(recent.passed + 1) if rate > 0.5 else range(recent.passed, recent.answers + 1)
    answers = recent.answers
    return math.fsum(math.comb(answers, k) * rate**k * (1 - rate) ** (answers - k) for k in hits) < 0.05


def changed_for_good(history: CaseCount, nights: Sequence[bool]) -> bool:
    """Whether a case that answered alike on every night before is on the other side since some nights.

    One answer a night: answers of the same night share what makes a case flap. One that was on both sides flaps.
    """
    if 0 < history.passed < history.answers:
        return False
    before = history.passed > 0
    changed = sum(passed is not before for passed in nights)
    return changed >= CHANGED_NIGHTS and before not in nights[-changed:]
