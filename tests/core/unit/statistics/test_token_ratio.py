"""The typical case's token ratio: a geometric mean over cases, unknown where a count is unknown."""

import math

import pytest

from upskill.core.nouns import Arm, CheckResult, Errored, Grade, Scored, Trial, Usage
from upskill.core.statistics import Level, measure_tokens
from upskill.core.statistics.intervals import typical_ratio

PASSED = Scored(end="answered", grade=Grade(results=(CheckResult(kind="contains", passed=True, saw=""),)))


def trial(case: str, arm: Arm, tokens: int | None, *, repeat: int = 1, cost: float | None = None) -> Trial:
    return Trial(
        id=f"{case}{arm}{repeat}",
        student="s",
        case_id=case,
        arm=arm,
        repeat=repeat,
        outcome=PASSED,
        usage=Usage(input_tokens=tokens, output_tokens=0, cost=cost),
    )


def both(case: str, baseline: int | None, skilled: int | None, *, repeat: int = 1) -> list[Trial]:
    return [trial(case, "baseline", baseline, repeat=repeat), trial(case, "with_skill", skilled, repeat=repeat)]


def test_typical_case_is_a_geometric_mean_and_total_is_sum_over_sum() -> None:
    ratio = measure_tokens(
        [*both("a", 100, 50), *both("b", 1000, 2000)], arm="with_skill", against="baseline", families={}
    )
    assert ratio is not None
    assert ratio.typical == pytest.approx(1.0)
    assert ratio.total == pytest.approx(2050 / 1100)
    assert ratio.cases == 2


def test_interval_is_students_t_over_the_logarithms() -> None:
    ratio = typical_ratio([(1, 2), (1, 4), (1, 8)])
    half = 4.302653 * math.log(2) / math.sqrt(3)
    assert ratio.interval is not None
    assert ratio.interval.low == pytest.approx(math.exp(math.log(1 / 4) - half), rel=1e-5)
    assert ratio.interval.high == pytest.approx(math.exp(math.log(1 / 4) + half), rel=1e-5)
    wider = typical_ratio([(1, 2), (1, 4), (1, 8)], Level(looks=2))
    assert wider.interval is not None
    assert wider.interval.high > ratio.interval.high


def test_repeats_of_a_case_are_taken_together_before_the_ratio() -> None:
    trials = [*both("a", 100, 300), *both("a", 300, 100, repeat=2)]
    ratio = measure_tokens(trials, arm="with_skill", against="baseline", families={})
    assert ratio is not None
    assert ratio.typical == pytest.approx(1.0)
    assert ratio.interval is None
    assert not ratio.below_one


def test_swapping_the_arms_inverts_the_ratio() -> None:
    trials = [*both("a", 100, 50), *both("b", 70, 60), *both("c", 90, 91)]
    one = measure_tokens(trials, arm="with_skill", against="baseline", families={})
    other = measure_tokens(trials, arm="baseline", against="with_skill", families={})
    assert one is not None
    assert other is not None
    assert one.interval is not None
    assert other.interval is not None
    assert other.typical == pytest.approx(1 / one.typical)
    assert other.interval.low == pytest.approx(1 / one.interval.high)


def test_unknown_or_zero_count_leaves_the_ratio_unknown() -> None:
    for odd in (None, 0):
        trials = [*both("a", 100, 50), *both("b", 100, odd)]
        assert measure_tokens(trials, arm="with_skill", against="baseline", families={}) is None
    assert measure_tokens([], arm="with_skill", against="baseline", families={}) is None


def test_pair_with_an_errored_trial_is_left_out_of_both_arms() -> None:
    errored = Trial(
        id="x",
        student="s",
        case_id="b",
        arm="with_skill",
        repeat=1,
        outcome=Errored(fault="timeout", message=""),
        usage=Usage(input_tokens=10**6, output_tokens=0),
    )
    trials = [*both("a", 100, 50), trial("b", "baseline", 10**6), errored]
    ratio = measure_tokens(trials, arm="with_skill", against="baseline", families={})
    assert ratio is not None
    assert ratio.total == pytest.approx(0.5)


def test_cases_of_a_family_are_one_unit() -> None:
    trials = [*both("a", 100, 50), *both("b", 100, 60), *both("c", 100, 100), *both("d", 100, 70)]
    alone = measure_tokens(trials, arm="with_skill", against="baseline", families={})
    related = measure_tokens(trials, arm="with_skill", against="baseline", families={"a": "f", "b": "f", "c": "f"})
    assert alone is not None
    assert related is not None
    assert (alone.cases, related.cases) == (4, 2)
    assert related.typical == pytest.approx(0.7)
