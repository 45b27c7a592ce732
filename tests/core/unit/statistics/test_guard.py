"""The guard that a revision makes nothing worse."""

import random

import pytest

from upskill.core.statistics import FRESH_PAIRS, confirm_worse, screen_cases
from upskill.core.statistics.distributions import fisher_greater
from upskill.core.statistics.pairs import CaseTally


def tally(case_id: str, against: int, passed: int, pairs: int) -> CaseTally:
    return CaseTally(case_id=case_id, pairs=pairs, passed=passed, passed_against=against)


@pytest.mark.parametrize(
    ("pairs", "passed", "probability"), [(5, 0, 0.00397), (6, 0, 0.00108), (5, 1, 0.02381), (8, 2, 0.00350)]
)
def test_fisher_is_the_golden_one(pairs: int, passed: int, probability: float) -> None:
    """All passed in the baseline, so many with the skill."""
    assert fisher_greater(pairs - passed, pairs, 0, pairs) == pytest.approx(probability, abs=0.00001)


def test_screen_takes_cases_that_lost_half_of_their_pairs_and_two_at_least() -> None:
    tallies = [
        tally("one of one", 1, 0, 1),
        tally("two of three", 3, 1, 3),
        tally("one of three", 3, 2, 3),
        tally("two of five", 5, 3, 5),
        tally("three of five", 5, 2, 5),
        tally("gained", 0, 5, 5),
    ]
    assert [suspect.case_id for suspect in screen_cases(tallies)] == ["two of three", "three of five"]


def test_fresh_pairs_confirm_a_case_that_broke() -> None:
    worse = confirm_worse([tally("broken", 8, 1, 8), tally("lucky", 6, 5, 8)])
    assert [case.case_id for case in worse] == ["broken"]
    assert worse[0].probability == pytest.approx(fisher_greater(7, 8, 0, 8))


def test_holm_asks_more_of_each_where_suspects_are_many() -> None:
    # 8/8 -> 4/8 is .0385: enough for one suspect, not for two.
    assert fisher_greater(4, 8, 0, 8) == pytest.approx(0.0385, abs=0.0001)
    assert [case.case_id for case in confirm_worse([tally("a", 8, 4, 8)])] == ["a"]
    assert confirm_worse([tally("a", 8, 4, 8), tally("b", 8, 8, 8)]) == ()
    # Next to a case that is surely worse, it needs to pass only the last step.
    assert [case.case_id for case in confirm_worse([tally("a", 8, 4, 8), tally("b", 8, 0, 8)])] == ["b", "a"]
    assert confirm_worse([]) == ()


def test_broken_case_is_found_as_often_as_was_simulated() -> None:
    """Twenty cases of five pairs, one of them from .95 to 0: fresh pairs find it."""
    rng = random.Random(0)

    def draw(case_id: str, base: float, skilled: float, pairs: int) -> CaseTally:
        return tally(
            case_id,
            sum(rng.random() < base for _ in range(pairs)),
            sum(rng.random() < skilled for _ in range(pairs)),
            pairs,
        )

    with_fresh_pairs = 0
    for _ in range(200):
        rates = {f"c{nth}": (base, base) for nth in range(19) for base in [rng.betavariate(0.5, 0.5)]}
        rates["broken"] = (0.95, 0.0)
        tallies = [draw(name, *rate, 5) for name, rate in rates.items()]
        fresh = [draw(suspect.case_id, *rates[suspect.case_id], FRESH_PAIRS) for suspect in screen_cases(tallies)]
        with_fresh_pairs += "broken" in {worse.case_id for worse in confirm_worse(fresh)}
    assert with_fresh_pairs >= 196
