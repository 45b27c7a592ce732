"""A model that changes between two versions of a skill: what stored answers of the baseline would then say.

The skill has no effect. Its answers are new, those without it may be stored ones of the model as it was.
"""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist, fmean

from tools.simulation.evaluation import by_rates, evaluate
from tools.simulation.populations import Rates, generator

CASES = 50
STORED = 2
"""Answers of each case that the first version left behind."""
ALARM = NormalDist().inv_cdf(0.9)
"""A guard takes every fifth unchanged model for a changed one: with a rarer alarm it would find still less."""
KINDS = ("abrupt", "slow", "replaced")


def changed(kind: str, drift: float, population: str, rng: random.Random) -> tuple[list[Rates], list[float]]:
    """For each case the rates of its stored answers, and its rate now."""
    bases = [base for base, _ in generator(population).cases(rng, CASES)]
    others = [base for base, _ in generator(population).cases(rng, CASES)] if kind == "replaced" else bases
    now = [base + (1 - base) * 2 * drift for base in others]
    halfway = [base + (1 - base) * drift for base in bases] if kind == "slow" else bases
    return list(zip(bases, halfway, strict=True)), now


def says_helps(kind: str, drift: float, population: str, *, guard: int | None, rng: random.Random) -> bool:
    """Whether a useless second version is said to help. `guard` is how many baseline answers are asked again; with
    `None` all are, as where a server does not say what it serves."""
    stored, now = changed(kind, drift, population, rng)
    if guard is None or (guard and _alarms(stored, now, guard, rng)):
        return _helps([(rate, rate) for rate in now], rng)
    # Half of the pairs have the first stored answer, half the second.
    nth = rng.randrange(STORED)
    return _helps([(rates[nth], rate) for rates, rate in zip(stored, now, strict=True)], rng)


def _helps(rates: Sequence[Rates], rng: random.Random) -> bool:
    return evaluate(by_rates(rng, rates), cases=range(CASES)).helps


def _alarms(stored: Sequence[Rates], now: Sequence[float], guard: int, rng: random.Random) -> bool:
    """Whether so many fresh answers differ from the stored ones of their cases by more than chance."""
    asked = rng.sample(range(CASES), guard)
    before = [fmean(rng.random() < rate for rate in stored[nth]) for nth in asked]
    gains = [(rng.random() < now[nth]) - mean for nth, mean in zip(asked, before, strict=True)]
    mean = fmean(gains)
    spread = math.sqrt(math.fsum((gain - mean) ** 2 for gain in gains) / (guard - 1))
    return abs(mean) * math.sqrt(guard) > ALARM * max(spread, 0.25)


def count_false(kind: str, drift: float, population: str, *, guard: int | None, persons: int, seed: str) -> int:
    """How many of so many persons are told that a useless version helps."""
    rng = random.Random(seed)
    return sum(says_helps(kind, drift, population, guard=guard, rng=rng) for _ in range(persons))
