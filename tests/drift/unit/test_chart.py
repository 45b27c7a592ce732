"""The control chart: what it expects, when it alarms, and which cases changed side."""

import random

import pytest

from report.unit.evaluations import lift
from upskill.core.nouns import Interval
from upskill.core.nouns.lift import Claim, Verdict
from upskill.drift.chart import (
    NIGHT_NOISE,
    NIGHTLY,
    CaseCount,
    alarm_limit,
    change_between,
    changed_for_good,
    changed_side,
    contrasts_of,
    expect,
    night_noise,
    raised,
    rotation,
)
from upskill.drift.replaced import Need, need_of


def _history(*passed: int, answers: int = 10) -> list[CaseCount]:
    return [CaseCount(passed=one, answers=answers) for one in passed]


def _nights(*passed: int, answers: int = 80) -> list[CaseCount]:
    return [CaseCount(passed=one, answers=answers) for one in passed]


def test_cases_that_differ_keep_their_rates_and_cases_that_do_not_share_one() -> None:
    own = expect(_history(*[0] * 10, *[10] * 10), nights=_nights(*[20] * 5, answers=40)).rates
    assert own[0] < 0.06
    assert own[-1] > 0.94
    rng = random.Random(1)
    alike = expect(
        _history(*(sum(rng.random() < 0.5 for _ in range(10)) for _ in range(40))), nights=_nights(*[40] * 5)
    ).rates
    assert max(alike) - min(alike) < 0.15
    assert sum(alike) / 40 == pytest.approx(0.5, abs=0.05)


def test_a_night_as_expected_lowers_the_chart_and_a_fall_raises_it() -> None:
    assert raised(3.0, [(0.9, True)] * 18 + [(0.9, False)] * 2) == pytest.approx(1.0)
    assert raised(0.0, [(0.9, True)] * NIGHTLY) == 0.0
    assert raised(1.0, [(0.9, True)] * 14 + [(0.9, False)] * 6) == pytest.approx(3.0)


def test_the_limit_is_wider_where_less_is_known_and_where_nights_are_noisier() -> None:
    rng = random.Random(2)
    passed = [sum(rng.random() < 0.75 for _ in range(10)) for _ in range(40)]
    five, one = (expect(_history(*passed), nights=nights) for nights in (_nights(*[60] * 5), _nights(300, answers=400)))
    assert 4 < alarm_limit(five, seed="0") < alarm_limit(one, seed="0")
    assert alarm_limit(five, seed="0") < alarm_limit(five, seed="0", noise=0.08)


def test_nights_of_the_history_that_differ_by_more_than_chance_are_taken_for_noisy() -> None:
    history = _history(*[7] * 40)
    for passed, noise in (([56] * 5, 0.03), ((52, 58, 60, 54, 56), 0.03), ((40, 72, 54, 42, 70), 0.12)):
        assert night_noise(expect(history, nights=_nights(*passed)).contrasts) == noise


def test_nights_that_follow_one_another_show_their_noise() -> None:
    def nights(*passed: int) -> list[list[tuple[float, bool]]]:
        return [[(0.7, number < one) for number in range(NIGHTLY)] for one in passed]

    quiet = expect(_history(*[7] * 40), nights=_nights(*[56] * 5)).contrasts
    known = list(quiet)
    assert night_noise([*known, *contrasts_of(nights(*[14] * 20))]) == NIGHT_NOISE
    assert night_noise([*known, *contrasts_of(nights(*[18, 10] * 10))]) >= 0.08


def test_every_case_has_its_turn() -> None:
    asked = [place for nth in range(3) for place, _ in rotation(12, first=nth * NIGHTLY)]
    assert {asked.count(place) for place in range(12)} == {5}
    turns = [turn for nth in range(3) for turn in rotation(12, first=nth * NIGHTLY)]
    assert len({*turns}) == 60, "no answer is asked for twice"


def test_a_case_changes_side_only_where_chance_does_not_explain_it() -> None:
    assert changed_side(0.95, CaseCount(passed=0, answers=2))
    assert not changed_side(0.95, CaseCount(passed=1, answers=1))
    assert not changed_side(0.6, CaseCount(passed=0, answers=2)), "two failures of a case that fails in 4 of 10"
    assert changed_side(0.05, CaseCount(passed=2, answers=2))


def test_a_case_that_flaps_is_rarely_taken_for_one_that_changed_for_good() -> None:
    """At any rate, five nights of history and a year of answers on every second night."""
    rng = random.Random(4)
    for rate in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9):
        alarms = 0
        for _ in range(600):
            seen = [rng.random() < rate for _ in range(5 + 182)]
            history = CaseCount(passed=sum(seen[:5]), answers=5)
            alarms += any(changed_for_good(history, seen[5:night]) for night in range(8, 30))
            alarms += changed_for_good(history, seen[5:])
        assert alarms <= 0.03 * 600, rate
    steady = CaseCount(passed=10, answers=10)
    assert changed_for_good(steady, [True] * 4 + [False] * 3)
    assert not changed_for_good(steady, [True] * 4 + [False] * 2)
    assert not changed_for_good(steady, [False, True, False, False, False])
    assert changed_for_good(CaseCount(passed=0, answers=10), [True] * 3)
    assert not changed_for_good(CaseCount(passed=9, answers=10), [False] * 3)


def test_the_interval_of_a_change_includes_what_one_night_adds() -> None:
    same = change_between(_history(*[9] * 40), _history(*[9] * 40), nights=5, noise=0.03)
    assert same.mean == 0
    assert same.interval.high >= 0.059, "1.96 times three points, at least"
    fell = change_between(_history(*[9] * 40), _history(*[1] * 40, answers=2), nights=5, noise=0.03)
    assert fell.interval.below_zero


@pytest.mark.parametrize(
    ("verdict", "interval", "about", "need"),
    [
        ("helps", (0.02, 0.08), "new cases", "still helps"),
        ("hurts", (-0.3, -0.1), "new cases", "hurts now"),
        ("undecided", (-0.05, 0.09), "new cases", "no longer needed"),
        ("no difference", (-0.05, 0.09), "new cases", "no longer needed"),
        ("undecided", (-0.05, 0.10), "new cases", "undecided"),
        ("invalid", (-0.05, 0.05), "new cases", "undecided"),
        ("no difference", (-0.05, 0.05), "these cases", "undecided"),
    ],
)
def test_a_skill_is_not_needed_only_where_less_than_ten_points_are_shown(
    verdict: Verdict, interval: tuple[float, float], about: Claim, need: Need
) -> None:
    found = lift(mean=0, interval=Interval(low=interval[0], high=interval[1]), about=about)
    assert need_of(verdict, found) == need


def test_nothing_is_said_of_the_need_where_no_pair_is_left() -> None:
    assert need_of("undecided", None) == "undecided"
