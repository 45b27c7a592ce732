"""Plans: every trial once, pairs together, each round in a fresh order, and no 100,000 objects."""

import tracemalloc
from dataclasses import replace
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from upskill.core.nouns import Case, Check, Student, TrialPlan


def plan_of(cases: int, *, repeats: int = 1, seed: int = 0, students: int = 1, baseline: bool = True) -> TrialPlan:
    checks = (Check(kind="contains", spec="x"),)
    return TrialPlan(
        cases=tuple(Case(id=f"c{number}", prompt="p", checks=checks) for number in range(cases)),
        students=tuple(Student(name=f"s{number}", model="m") for number in range(students)),
        arms=("baseline", "with_skill") if baseline else ("with_skill",),
        repeats=repeats,
        seed=seed,
    )


@given(cases=st.integers(1, 12), repeats=st.integers(1, 4), students=st.integers(1, 3), baseline=st.booleans())
def test_every_trial_of_a_student_comes_exactly_once(cases: int, repeats: int, students: int, baseline: bool) -> None:
    plan = plan_of(cases, repeats=repeats, students=students, baseline=baseline)
    keys = [(trial.case.id, trial.arm, trial.repeat) for trial in plan.trials()]
    assert len(keys) == len(set(keys)) == plan.trials_per_student == cases * repeats * (2 if baseline else 1)
    assert len(plan) == plan.trials_per_student * students


@given(cases=st.integers(1, 12), repeats=st.integers(1, 4), seed=st.integers())
def test_the_arms_of_a_case_stand_together(cases: int, repeats: int, seed: int) -> None:
    trials = list(plan_of(cases, repeats=repeats, seed=seed).trials())
    for first, second in zip(trials[::2], trials[1::2], strict=True):
        assert (first.case.id, first.repeat) == (second.case.id, second.repeat)
        assert (first.arm, second.arm) == ("baseline", "with_skill")


@given(cases=st.integers(1, 12), repeats=st.integers(1, 4))
def test_each_round_is_finished_before_the_next_begins(cases: int, repeats: int) -> None:
    rounds = [trial.repeat for trial in plan_of(cases, repeats=repeats).trials()]
    assert rounds == sorted(rounds)


def test_the_order_is_drawn_from_the_seed_and_differs_between_rounds() -> None:
    def orders(seed: int) -> list[list[str]]:
        trials = list(plan_of(20, repeats=2, seed=seed, baseline=False).trials())
        return [[trial.case.id for trial in trials if trial.repeat == repeat] for repeat in (1, 2)]

    assert orders(1) == orders(1)
    assert orders(1)[0] != orders(1)[1]
    assert orders(1) != orders(2)


def test_the_order_is_pinned_across_platforms_and_versions() -> None:
    assert [trial.case.id for trial in plan_of(6, seed=7, baseline=False).trials()] == [
        "c2",
        "c3",
        "c5",
        "c1",
        "c4",
        "c0",
    ]


def test_a_plan_of_a_hundred_thousand_trials_is_a_few_numbers() -> None:
    plan = plan_of(500, repeats=100)
    tracemalloc.start()
    try:
        assert len(plan) == 100_000
        first = list(islice(plan.trials(), 10))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(first) == 10
    assert peak < 1_000_000


def test_the_verdict_is_about_the_second_arm_and_what_follows_stands_beside_it() -> None:
    plan = plan_of(1)
    assert (plan.measured, plan.against) == ("with_skill", "baseline")
    tools = replace(plan, arms=("baseline", "offered", "with_skill"))
    assert (tools.measured, tools.against) == ("offered", "baseline")
    alone = replace(plan, arms=("offered",))
    assert (alone.measured, alone.against) == ("offered", None)


def test_a_case_without_a_passage_has_no_ceiling_beside_its_pair() -> None:
    plan = replace(plan_of(4, repeats=3), arms=("baseline", "with_skill", "ceiling"))
    named = tuple(replace(case, passage="p") if case.id in ("c0", "c2") else case for case in plan.cases)
    plan = replace(plan, cases=named)
    assert {turn.case.id: len(turn.arms) for turn in plan.turns()} == {"c0": 3, "c1": 2, "c2": 3, "c3": 2}
    assert plan.trials_per_student == len(list(plan.trials()))
    assert (plan.measured, plan.against, plan.deciding) == ("with_skill", "baseline", ("baseline", "with_skill"))
    assert (plan.cases_in("ceiling"), plan.cases_in("baseline")) == (2, 4)
