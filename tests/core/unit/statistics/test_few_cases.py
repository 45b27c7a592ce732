"""What few cases cost, in words."""

import pytest

from upskill.core.statistics import breakage_note, more_cases_hint
from upskill.core.statistics.verdict import most_broken


@pytest.mark.parametrize(("cases", "families"), [(30, 12), (30, 30), (500, 12)])
def test_enough_cases_of_enough_families_get_no_advice(cases: int, families: int) -> None:
    assert more_cases_hint(cases=cases, families=families) is None


def test_few_cases_and_few_families_are_told_that_more_beat_repeats() -> None:
    found = "the power to detect +20 points is 68% with 20 cases and 79% with 50, for about as many calls"
    assert more_cases_hint(cases=29, families=29) == f"29 cases: more cases help more than more repeats; {found}"
    assert (
        more_cases_hint(cases=40, families=5)
        == f"40 cases in 5 families: more families of cases help more than more repeats; {found}"
    )


def test_below_twenty_the_share_that_could_be_broken_is_named() -> None:
    assert breakage_note(cases=12, families=12) == (
        "12 cases cannot rule out that the skill breaks up to 22% of new cases"
    )
    assert breakage_note(cases=1, families=1) == "1 case cannot rule out that the skill breaks up to 95% of new cases"
    assert breakage_note(cases=40, families=5) == (
        "40 cases in 5 families cannot rule out that the skill breaks up to 45% of new cases"
    )
    assert breakage_note(cases=20, families=20) is None


@pytest.mark.parametrize("families", [1, 7, 12, 19])
def test_with_that_share_broken_none_of_these_is_one_time_in_twenty(families: int) -> None:
    assert (1 - most_broken(families)) ** families == pytest.approx(0.05)
