"""Both intervals and the quantile behind them, against golden vectors."""

from dataclasses import replace

import pytest

from upskill.core.statistics.distributions import t_quantile
from upskill.core.statistics.intervals import FIXED, SEQUENTIAL, cases_like_these, these_cases
from upskill.core.statistics.pairs import CaseTally


def tallies(against: list[int], passed: list[int], runs: list[int]) -> list[CaseTally]:
    return [
        CaseTally(case_id=f"c{nth:02}", pairs=pairs, passed=one, passed_against=other)
        for nth, (other, one, pairs) in enumerate(zip(against, passed, runs, strict=True))
    ]


TEN_BY_THREE = tallies([0, 0, 0, 1, 1, 2, 2, 3, 3, 3], [1, 3, 2, 3, 1, 3, 3, 3, 3, 2], [3] * 10)


@pytest.mark.parametrize(
    ("cases", "fixed", "sequential"),
    [
        (tallies([5] * 20, [5] * 20, [5] * 20), (-0.0370, 0.0370), (-0.0588, 0.0588)),
        (tallies([0] * 20, [5] * 20, [5] * 20), (0.9477, 1), (0.9168, 1)),
        (tallies([0] * 5, [1] * 5, [1] * 5), (0.3855, 1), (0.2143, 1)),
        (tallies([1] * 5, [1] * 5, [1] * 5), (-0.4345, 0.4345), (-0.5556, 0.5556)),
        (TEN_BY_THREE, (0.0914, 0.4676), (0.0325, 0.5047)),
        (tallies([2, 0, 3, 0], [4, 4, 3, 1], [5, 4, 3, 1]), (0.2019, 0.7292), (0.1024, 0.7628)),
    ],
)
def test_interval_for_these_cases_is_the_golden_one(
    cases: list[CaseTally], fixed: tuple[float, float], sequential: tuple[float, float]
) -> None:
    for level, (low, high) in ((FIXED, fixed), (SEQUENTIAL, sequential)):
        interval = these_cases(cases, level)
        assert [interval.low, interval.high] == pytest.approx([low, high], abs=0.0005)


@pytest.mark.parametrize(
    ("cases", "fixed", "sequential"),
    [
        (tallies([5] * 20, [5] * 20, [5] * 20), (-0.1797, 0.1797), (-0.1797, 0.1797)),
        (tallies([0] * 6, [1] * 6, [1] * 6), (0.2588, 1), (0.1985, 1)),
        (TEN_BY_THREE, (0.0145, 0.5855), (-0.1018, 0.7018)),
        (tallies([0] * 20, [5] * 18 + [0] * 2, [5] * 20), (0.6175, 1), (0.6175, 1)),
        (tallies([0] * 20, [2] * 10 + [3] * 10, [5] * 20), (0.2780, 0.6304), (0.2780, 0.6304)),
    ],
)
def test_interval_for_cases_like_these_is_the_golden_one(
    cases: list[CaseTally], fixed: tuple[float, float], sequential: tuple[float, float]
) -> None:
    """The figures come from another implementation, in numpy and scipy."""
    for level, (low, high) in ((FIXED, fixed), (SEQUENTIAL, sequential)):
        interval = cases_like_these(cases, level)
        assert interval is not None
        assert [interval.low, interval.high] == pytest.approx([low, high], abs=0.0005)


def test_cases_of_one_family_count_once() -> None:
    alone = tallies([0] * 6 + [1] * 6, [1] * 12, [1] * 12)
    families = [replace(one, family=f"f{nth % 6}") for nth, one in enumerate(alone)]
    assert cases_like_these(families) == cases_like_these(tallies([1] * 6, [2] * 6, [2] * 6))
    assert cases_like_these([replace(one, family=f"f{nth % 5}") for nth, one in enumerate(alone)]) is None


def test_five_cases_say_nothing_about_other_cases() -> None:
    assert cases_like_these(tallies([0] * 5, [1] * 5, [1] * 5)) is None
    assert cases_like_these(tallies([0] * 6, [1] * 6, [1] * 6)) is not None


@pytest.mark.parametrize(
    ("probability", "degrees", "value"),
    [(0.975, 1, 12.7062), (0.975, 4, 2.7764), (0.975, 19, 2.0930), (0.975, 39, 2.0227), (0.995, 9, 3.2498)],
)
def test_quantile_of_t_is_the_tabled_one(probability: float, degrees: int, value: float) -> None:
    assert t_quantile(probability, degrees) == pytest.approx(value, abs=0.001)
