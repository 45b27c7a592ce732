"""A few hundred simulated evaluations through the whole path; the full tables are in benchmarks/."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from upskill.core.statistics import Pair, Sequential, judge

pytestmark = pytest.mark.full

Rates = tuple[float, float]


def half(rng: random.Random) -> Rates:
    return 0.5, 0.5


def het(rng: random.Random) -> Rates:
    return (0.25, 0.75) if rng.random() < 0.5 else (0.75, 0.25)


def gain45(rng: random.Random) -> Rates:
    base = rng.betavariate(0.5, 0.5)
    return base, base + (1 - base) * 0.9


def evaluate(draw: Callable[[random.Random], Rates], *, runs: int) -> tuple[Counter[tuple[str, str | None]], float]:
    """How often each verdict and claim came up, and the mean number of calls."""
    rng = random.Random(draw.__name__)
    said: Counter[tuple[str, str | None]] = Counter()
    calls = 0
    for _ in range(runs):
        cases = [draw(rng) for _ in range(20)]
        design = Sequential(cases=20)
        for turn in range(design.cap):
            base, skilled = cases[turn % 20]
            pair = Pair(
                case_id=str(turn % 20),
                repeat=turn // 20,
                passed=rng.random() < skilled,
                passed_against=rng.random() < base,
            )
            if design.add(pair).stop:
                break
        judgement = judge(design.pairing, decision=design.decision)
        said[judgement.verdict, judgement.claim] += 1
        calls += 2 * len(design.pairing.pairs)
    return said, calls / runs


@pytest.mark.parametrize("draw", [half, het])
def test_false_verdicts_about_cases_like_these_are_rare(draw: Callable[[random.Random], Rates]) -> None:
    said, calls = evaluate(draw, runs=300)
    # One in twenty at most, and four standard errors of three hundred runs.
    assert said["helps", "cases like these"] + said["hurts", "cases like these"] <= 300 * (0.05 + 4 * 0.0126)
    assert calls == pytest.approx(84, abs=12)


def test_large_lift_is_found_every_time_in_about_forty_calls() -> None:
    said, calls = evaluate(gain45, runs=200)
    assert said["helps", "cases like these"] >= 198
    assert calls == pytest.approx(39, abs=4)
