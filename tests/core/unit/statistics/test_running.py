"""The lift so far is the lift over the same pairs, whatever order they came in; it has no interval."""

import random

import pytest

from upskill.core.statistics import DroppedPair, Pair, Pairing, RunningLift, measure_lift


def _pairs(cases: int, count: int) -> list[Pair]:
    dice = random.Random(cases * 1_000 + count)
    return [
        Pair(
            case_id=f"c{number % cases}",
            repeat=number // cases + 1,
            passed=dice.random() < 0.8,
            passed_against=dice.random() < 0.3,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("cases", "count"), [(1, 1), (3, 6), (6, 6), (12, 30), (40, 200)])
def test_it_is_the_lift_of_the_pairs_so_far(cases: int, count: int) -> None:
    pairs = _pairs(cases, count)
    running = RunningLift()
    for pair in pairs:
        running.add(pair)
    lift = measure_lift(Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs)))
    look = running.look()
    assert lift is not None
    assert look is not None
    assert look == pytest.approx((lift.mean, lift.rate, lift.rate_against))
    assert running.pairs == count


def test_a_dropped_pair_measures_nothing() -> None:
    running = RunningLift()
    running.add(DroppedPair(case_id="c0", repeat=1, passed=None, passed_against=True))
    assert running.look() is None
    assert running.pairs == 0
