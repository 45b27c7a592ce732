"""The intervals of a lift and the quantile behind them, against golden vectors."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.statistics.distributions import t_quantile
from upskill.core.statistics.intervals import Level, new_cases, these_cases
from upskill.core.statistics.pairs import CaseTally

TWO_LOOKS = Level(looks=2)


def tallies(against: list[int], passed: list[int], runs: list[int]) -> list[CaseTally]:
    return [
        CaseTally(case_id=f"c{nth:02}", pairs=pairs, passed=one, passed_against=other)
        for nth, (other, one, pairs) in enumerate(zip(against, passed, runs, strict=True))
    ]


TEN_BY_THREE = tallies([0, 0, 0, 1, 1, 2, 2, 3, 3, 3], [1, 3, 2, 3, 1, 3, 3, 3, 3, 2], [3] * 10)


@pytest.mark.parametrize(
    ("cases", "ends"),
    [
        (tallies([0] * 5, [1] * 5, [1] * 5), (0.2143, 1)),
        (tallies([1] * 5, [1] * 5, [1] * 5), (-0.5556, 0.5556)),
        (tallies([2, 0, 3, 0], [4, 0, 3, 1], [5, 4, 3, 1]), (-0.2178, 0.5734)),
        (tallies([0] * 3, [1] * 3, [1] * 3), (0.0445, 1)),
    ],
)
def test_interval_for_few_cases_is_the_golden_one_in_both_looks(
    cases: list[CaseTally], ends: tuple[float, float]
) -> None:
    for level in (Level(), TWO_LOOKS):
        interval = these_cases(cases, level)
        assert [interval.low, interval.high] == pytest.approx(ends, abs=0.0005)


@pytest.mark.parametrize(
    ("cases", "once", "twice"),
    [
        (tallies([5] * 20, [5] * 20, [5] * 20), (-0.1797, 0.1797), (-0.1797, 0.1797)),
        (tallies([0] * 6, [1] * 6, [1] * 6), (0.2588, 1), (0.2588, 1)),
        (TEN_BY_THREE, (-0.0584, 0.5855), (-0.0584, 0.6388)),
        (tallies([0] * 20, [5] * 18 + [0] * 2, [5] * 20), (0.6175, 1), (0.6175, 1)),
        (tallies([0] * 20, [2] * 10 + [3] * 10, [5] * 20), (0.2780, 0.6304), (0.2780, 0.6304)),
        (tallies([0] * 12, [1] * 5 + [0] * 7, [1] * 12), (0.0411, 0.7438), (0.0312, 0.8021)),
        (tallies([0] * 12, [1] * 12, [1] * 12), (0.5933, 1), (0.5933, 1)),
    ],
)
def test_interval_for_new_cases_is_the_golden_one(
    cases: list[CaseTally], once: tuple[float, float], twice: tuple[float, float]
) -> None:
    """The figures come from another implementation, in numpy and scipy."""
    for level, ends in ((Level(), once), (TWO_LOOKS, twice)):
        interval = new_cases(cases, level)
        assert interval is not None
        assert [interval.low, interval.high] == pytest.approx(ends, abs=0.0005)


def test_one_lost_answer_more_never_shows_that_the_skill_helps() -> None:
    """Four cases of eight that always win: a fifth that loses one answer of five once made the interval narrower."""
    clean = new_cases(tallies([0] * 8, [5] * 4 + [0] * 4, [5] * 8))
    stray = new_cases(tallies([0] * 7 + [1], [5] * 4 + [0] * 4, [5] * 8))
    assert clean is not None
    assert stray is not None
    assert stray.low < clean.low < 0


@given(st.lists(st.integers(0, 5), min_size=6, max_size=14), st.integers(0, 13))
def test_a_lost_answer_more_never_raises_the_low_end(passed: list[int], where: int) -> None:
    where %= len(passed)
    before = tallies([0] * len(passed), passed, [5] * len(passed))
    after = [replace(one, passed_against=1) if nth == where else one for nth, one in enumerate(before)]
    one, other = new_cases(before), new_cases(after)
    assert one is not None
    assert other is not None
    assert other.low <= one.low + 0.02, "but for what the spread of the cases says"


def test_a_spread_of_nothing_is_no_certainty() -> None:
    interval = new_cases(tallies([0] * 40, [1] * 6 + [0] * 34, [1] * 40))
    assert interval is not None
    assert interval.low > 0, "6 of 40 cases that win, and none that loses, are no chance"


def test_cases_of_one_family_count_once() -> None:
    alone = tallies([0] * 6 + [1] * 6, [1] * 12, [1] * 12)
    families = [replace(one, family=f"f{nth % 6}") for nth, one in enumerate(alone)]
    assert new_cases(families) == new_cases(tallies([1] * 6, [2] * 6, [2] * 6))
    assert new_cases([replace(one, family=f"f{nth % 5}") for nth, one in enumerate(alone)]) is None


def test_five_cases_say_nothing_about_other_cases() -> None:
    assert new_cases(tallies([0] * 5, [1] * 5, [1] * 5)) is None
    assert new_cases(tallies([0] * 6, [1] * 6, [1] * 6)) is not None


def test_a_later_evaluation_is_stricter_about_help_and_not_about_harm() -> None:
    first, later = (new_cases(TEN_BY_THREE, Level(error=error)) for error in (0.025, 0.0025))
    assert first is not None
    assert later is not None
    assert later.low < first.low
    assert later.high == first.high


@pytest.mark.parametrize(
    ("probability", "degrees", "value"),
    [(0.975, 1, 12.7062), (0.975, 4, 2.7764), (0.975, 19, 2.0930), (0.975, 39, 2.0227), (0.995, 9, 3.2498)],
)
def test_quantile_of_t_is_the_tabled_one(probability: float, degrees: int, value: float) -> None:
    assert t_quantile(probability, degrees) == pytest.approx(value, abs=0.001)
