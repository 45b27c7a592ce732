"""What a plan can find, before anything is spent: the smallest lift it would see in four runs of five.

The formulas were fitted to simulated designs; benchmarks/results/statistics.md has the figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from upskill.core.statistics.distributions import t_quantile
from upskill.core.statistics.exact_sign import SignTest
from upskill.core.statistics.intervals import FEWEST_CASES, FIXED, SEQUENTIAL, Level, floored_spread, merge_families
from upskill.core.statistics.pairs import CaseTally, Claim
from upskill.core.statistics.sequential import default_cap


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """What blurs a lift over cases like these. The defaults are a guess before any pair was seen."""

    runs: float = 0.35
    """The variance of one pair's difference within a case."""
    cases: float = 0.2
    """How far the lifts of single cases lie apart, as a standard deviation: a floor that no repeat removes."""


def estimate_noise(tallies: Sequence[CaseTally]) -> Noise:
    """The noise seen in a run; the guess where no case has two pairs."""
    repeated = [tally for tally in tallies if tally.pairs >= 2]
    if len(repeated) < FEWEST_CASES:
        return Noise()
    runs = math.fsum(_variance(tally) for tally in repeated) / len(repeated)
    pairs = sum(tally.pairs for tally in repeated) / len(repeated)
    _, spread = floored_spread(repeated)
    between = math.sqrt(max(spread * spread - runs / pairs, 0.0))
    # A few pairs can look quieter than they are; half of the guess is as little as we believe.
    return Noise(runs=max(runs, Noise().runs / 2), cases=max(between, Noise().cases / 2))


def _variance(tally: CaseTally) -> float:
    one, other = tally.passed / tally.pairs, tally.passed_against / tally.pairs
    return (one * (1 - one) + other * (1 - other)) * tally.pairs / (tally.pairs - 1)


def detectable_lift(*, cases: int, pairs: int, sequential: bool, claim: Claim) -> float | None:
    """The lift, as a share of one, that is found in four runs of five; `None` where nothing can be found."""
    lift = (
        _for_these_cases(pairs, sequential=sequential)
        if claim == "these cases"
        else _for_cases_like_these(cases, pairs, sequential=sequential)
    )
    return lift if lift is not None and lift <= 1 else None


def _for_these_cases(pairs: int, *, sequential: bool) -> float | None:
    if sequential and SignTest(cap=pairs).least_pairs_to_stop() is None:
        return None
    return (2.0 if sequential else 1.8) / math.sqrt(pairs)


def _for_cases_like_these(cases: int, pairs: int, *, sequential: bool, noise: Noise | None = None) -> float | None:
    if cases < FEWEST_CASES:
        return None
    blur = noise or Noise()
    level = FIXED if not sequential else Level(looks=3) if pairs <= 2.5 * cases else SEQUENTIAL
    error = math.sqrt((blur.cases**2 + blur.runs * cases / pairs) / cases)
    quantile, once = (t_quantile(1 - share, cases - 1) for share in (level.of_a_look, level.error))
    # With few cases the lift must outweigh the losses that they cannot exclude; the factor is fitted.
    return max((quantile + 0.84) * error, 1.25 * once**2 / (cases + once**2))


def pairs_to_find(lift: float) -> int:
    """The cap, in pairs, with which the sequential design for these cases finds such a lift."""
    return math.ceil((2.0 / lift) ** 2)


def cases_to_find(lift: float, *, noise: Noise | None = None) -> int:
    """How many cases it takes until the sequential design for cases like these finds such a lift."""

    def suffice(cases: int) -> bool:
        found = _for_cases_like_these(cases, default_cap(cases), sequential=True, noise=noise)
        return found is not None and found <= lift

    too_few, enough = FEWEST_CASES - 1, FEWEST_CASES
    while not suffice(enough):
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffice(middle) else (middle, enough)
    return enough


@dataclass(frozen=True, kw_only=True, slots=True)
class NextRun:
    """A new run that would find what this one could not."""

    calls: int
    lift: float
    cases: int | None
    """How many cases it needs; `None` where the same cases will do."""


def plan_next_run(tallies: Sequence[CaseTally], *, at_most: float, claim: Claim) -> NextRun | None:
    """Twice the run, or larger where only a smaller lift is still possible; `None` where no gain is left to find.

    A new run and not a longer one: the cap is part of the test.
    """
    if at_most < 0.01:
        return None
    if claim == "these cases":
        pairs = sum(tally.pairs for tally in tallies)
        lift = min(at_most, 2.0 / math.sqrt(2 * pairs))
        return NextRun(calls=2 * pairs_to_find(lift), lift=lift, cases=None)
    noise = estimate_noise(tallies)
    cases = 2 * len(merge_families(tallies))
    twice = _for_cases_like_these(cases, default_cap(cases), sequential=True, noise=noise)
    lift = at_most if twice is None else min(at_most, twice)
    cases = cases_to_find(lift, noise=noise)
    return NextRun(calls=2 * default_cap(cases), lift=lift, cases=cases)


def describe_plan(*, cases: int, units: int, pairs: int, sequential: bool) -> str:
    """The line to print before spending; `units` are families, and cases without one."""
    size = f"{'at most ' if sequential else ''}{pairs} pairs"
    wide = detectable_lift(cases=units, pairs=pairs, sequential=sequential, claim="cases like these")
    narrow = detectable_lift(cases=cases, pairs=pairs, sequential=sequential, claim="these cases")
    found = [
        f"{lift * 100:.0f} points {where}"
        for lift, where in ((wide, "on new cases of this kind"), (narrow, "on these cases"))
        if lift is not None
    ]
    if not found:
        return f"{size}: too few to detect any lift"
    return f"{size}: 80% power to detect a lift of {', or '.join(found)}"
