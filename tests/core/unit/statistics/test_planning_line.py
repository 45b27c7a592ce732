"""What a plan can find before anything is spent, and evidence without a cap."""

import pytest

from upskill.core.statistics import default_cap, describe_plan, detectable_lift
from upskill.core.statistics.pairs import CaseTally, Claim
from upskill.core.statistics.planning import Noise, cases_to_find, estimate_noise, pairs_to_find, plan_next_run

HERE: Claim = "these cases"
LIKE: Claim = "cases like these"


@pytest.mark.parametrize(
    ("cases", "repeats", "points"),
    [(20, 5, 20), (10, 5, 28), (40, 3, 18), (20, 10, 14), (5, 10, 28), (60, 10, 8), (20, 3, 26)],
)
def test_sequential_design_for_these_cases_finds_what_was_simulated(cases: int, repeats: int, points: int) -> None:
    lift = detectable_lift(cases=cases, pairs=cases * repeats, sequential=True, claim=HERE)
    assert lift is not None
    assert round(100 * lift) == points


@pytest.mark.parametrize(("cases", "repeats", "points"), [(20, 5, 22), (12, 5, 36), (10, 5, 42), (50, 2, 19)])
def test_fixed_design_for_cases_like_these_finds_what_was_simulated(cases: int, repeats: int, points: int) -> None:
    lift = detectable_lift(cases=cases, pairs=cases * repeats, sequential=False, claim=LIKE)
    assert lift is not None
    assert round(100 * lift) == points


def test_stopping_early_costs_something_for_either_claim() -> None:
    for claim in (HERE, LIKE):
        fixed = detectable_lift(cases=20, pairs=100, sequential=False, claim=claim)
        early = detectable_lift(cases=20, pairs=100, sequential=True, claim=claim)
        assert fixed is not None
        assert early is not None
        assert fixed < early


def test_plan_too_small_to_find_anything_says_so() -> None:
    assert detectable_lift(cases=5, pairs=5, sequential=True, claim=HERE) is None
    assert detectable_lift(cases=5, pairs=45, sequential=True, claim=LIKE) is None
    assert describe_plan(cases=5, units=5, pairs=5, sequential=True) == "at most 5 pairs: too few to detect any lift"


def test_planning_line_names_both_claims() -> None:
    assert describe_plan(cases=20, units=20, pairs=100, sequential=True) == (
        "at most 100 pairs: 80% power to detect a lift of 27 points on new cases of this kind, "
        "or 20 points on these cases"
    )
    assert describe_plan(cases=4, units=4, pairs=20, sequential=False) == (
        "20 pairs: 80% power to detect a lift of 40 points on these cases"
    )


def test_what_it_takes_to_find_a_lift_finds_it() -> None:
    assert pairs_to_find(0.2) == 100
    cases = cases_to_find(0.15)
    found = detectable_lift(cases=cases, pairs=default_cap(cases), sequential=True, claim=LIKE)
    assert found is not None
    assert found <= 0.15


def test_next_run_is_at_least_twice_as_large_and_looks_for_nothing_already_excluded() -> None:
    tallies = [CaseTally(case_id=str(nth), pairs=2, passed=1, passed_against=1) for nth in range(20)]
    run = plan_next_run(tallies, at_most=0.30, claim=LIKE)
    assert run is not None
    assert run.cases is not None
    assert run.cases >= 39
    small = plan_next_run(tallies, at_most=0.05, claim=LIKE)
    assert small is not None
    assert small.lift == 0.05
    assert small.calls > run.calls
    assert plan_next_run(tallies, at_most=0.0, claim=LIKE) is None


def test_noise_is_taken_from_the_run_and_never_believed_to_be_almost_none() -> None:
    still = [CaseTally(case_id=str(nth), pairs=5, passed=5, passed_against=5) for nth in range(20)]
    assert estimate_noise(still) == Noise(runs=0.175, cases=0.1)
    apart = [CaseTally(case_id=str(nth), pairs=5, passed=5 * (nth % 2), passed_against=0) for nth in range(20)]
    assert estimate_noise(apart).cases > 0.4
    assert estimate_noise(still[:3]) == Noise()
