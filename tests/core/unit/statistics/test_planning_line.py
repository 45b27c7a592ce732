"""What a plan can find before anything is spent, and how many cases find a lift."""

import pytest

from upskill.core.statistics import describe_plan, detectable_lift
from upskill.core.statistics.planning import DETECTABLE, cases_to_find


def test_more_cases_find_smaller_lifts() -> None:
    lifts = list(DETECTABLE.values())
    assert lifts == sorted(lifts, reverse=True)
    assert [detectable_lift(units) for units in (5, 6, 13, 500)] == [None, 0.94, 0.58, 0.12]


def test_the_line_names_the_lift_and_what_it_is_about() -> None:
    assert describe_plan(units=20, pairs=60, at_most=True) == (
        "at most 60 pairs: a first look finds a lift of 42 points on new cases four times in five"
    )
    assert describe_plan(units=4, pairs=4, at_most=False) == "4 pairs: too few cases for a verdict about new ones"


@pytest.mark.parametrize(
    ("lift", "cases"), [(0.95, 6), (0.9, 7), (0.5, 16), (0.42, 20), (0.12, 150), (0.05, None), (-0.3, None)]
)
def test_a_lift_is_found_by_so_many_cases(lift: float, cases: int | None) -> None:
    assert cases_to_find(lift) == cases
