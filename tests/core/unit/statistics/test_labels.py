"""Lift per label, and labels from baseline trials."""

import pytest

from upskill.core.nouns import Label
from upskill.core.statistics import BaselineTally, Pair, Pairing, label_of, lift_by_label, measure_lift, tally_baselines


def pairing(**cases: list[tuple[int, int]]) -> Pairing:
    """Pairs of passed and passed against, by case."""
    pairs = [
        Pair(case_id=name, repeat=repeat, passed=bool(passed), passed_against=bool(against))
        for name, results in cases.items()
        for repeat, (passed, against) in enumerate(results, 1)
    ]
    return Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs))


def test_each_label_has_the_lift_of_its_own_cases() -> None:
    pairs = pairing(a=[(1, 0)], b=[(1, 0)], c=[(0, 0)], d=[(0, 1)])
    labels: dict[str, tuple[Label, ...]] = {"a": ("recall",), "b": ("recall", "leaks"), "c": ()}
    recall, leaks, none = lift_by_label(pairs, labels)
    assert (recall.label, leaks.label, none.label) == ("recall", "leaks", None)
    assert (recall.cases, leaks.cases, none.cases) == (2, 1, 2)
    assert recall.lift is not None
    assert none.lift is not None
    assert recall.lift.mean == 1.0
    assert none.lift.mean == -0.5
    assert none.lift.pairs == 2


def test_cases_of_one_group_have_the_lift_of_all() -> None:
    pairs = pairing(a=[(1, 0), (1, 1)], b=[(0, 0)])
    (only,) = lift_by_label(pairs, {})
    assert only.lift == measure_lift(pairs)


def test_saturated_and_impossible_cases_of_the_run_itself_are_counted_without_a_lift() -> None:
    pairs = pairing(easy=[(1, 1)] * 5, hard=[(1, 0)] * 5, short=[(1, 1)] * 4)
    found = {one.label: one for one in lift_by_label(pairs, {})}
    assert found["saturated"].cases == 1
    assert found["impossible"].cases == 1
    assert found["saturated"].lift is None
    assert found["impossible"].lift is None
    assert found[None].cases == 3, "labels drop nothing"


def test_against_an_older_version_nothing_is_called_saturated() -> None:
    pairs = Pairing(arm="with_skill", against="previous", pairs=pairing(easy=[(1, 1)] * 5).pairs)
    assert [one.label for one in lift_by_label(pairs, {})] == [None]


@pytest.mark.parametrize(
    ("trials", "passed", "label"),
    [(5, 5, "saturated"), (5, 0, "impossible"), (5, 4, None), (4, 4, None), (4, 0, None), (9, 9, "saturated")],
)
def test_five_equal_outcomes_make_a_label(trials: int, passed: int, label: str | None) -> None:
    assert label_of(BaselineTally(student="s", case_id="c", trials=trials, passed=passed)) == label


def test_baselines_are_counted_per_student_and_case() -> None:
    (one, other) = tally_baselines([("s", "a", True), ("s", "a", False), ("t", "a", True)])
    assert (one.trials, one.passed, other.student, other.trials) == (2, 1, "t", 1)
