"""The lift so far is the lift of a sequential design over the same pairs, whatever order they came in."""

import random

import pytest

from upskill.core.statistics import SEQUENTIAL, DroppedPair, Pair, Pairing, RunningLift, measure_lift


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


@pytest.mark.parametrize(("cases", "count"), [(1, 1), (3, 5), (6, 6), (12, 30), (40, 200)])
def test_it_is_the_lift_of_a_design_that_may_stop_at_any_moment(cases: int, count: int) -> None:
    pairs = _pairs(cases, count)
    running = RunningLift(cases=cases)
    for pair in pairs:
        running.add(pair)
    lift = measure_lift(Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs)), SEQUENTIAL)
    look = running.look()
    assert lift is not None
    assert look is not None
    assert look.mean == pytest.approx(lift.mean)
    assert look.interval == (lift.cases_like_these or lift.these_cases)
    assert look.rate == pytest.approx(lift.rate)
    assert look.rate_against == pytest.approx(lift.rate_against)
    assert (running.pairs, running.dropped) == (count, 0)


def test_of_many_cases_the_first_few_are_too_early_for_an_interval() -> None:
    running = RunningLift(cases=12)
    assert running.look() is None
    for pair in _pairs(12, 5):
        running.add(pair)
    look = running.look()
    assert look is not None
    assert look[1] is None


def test_a_dropped_pair_is_counted_and_measures_nothing() -> None:
    running = RunningLift(cases=2)
    running.add(DroppedPair(case_id="c0", repeat=1, passed=None, passed_against=True))
    assert running.look() is None
    assert (running.pairs, running.dropped) == (0, 1)
