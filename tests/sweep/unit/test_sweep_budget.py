"""The money of a sweep: nothing starts that the caps could not pay, and a killed attempt is charged in full."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.sweep.budget import Amount, SweepBudget, all_of, reserve_for, shard_caps, spent, total
from upskill.sweep.values import Caps, JobSpending, PlannedJob

JOB = PlannedJob(
    id="0" * 32,
    skill="skills/one",
    name="one",
    version="v",
    input="i",
    cases=4,
    students=("any",),
    calls_expected=20,
    calls_at_most=40,
    cost_expected=0.5,
    cost_at_most=1.0,
    tokens_at_most=1000,
)


def test_a_reserve_has_room_for_retries_and_is_what_a_killed_attempt_costs() -> None:
    reserve = reserve_for(JOB)
    assert reserve == Caps(max_cost=1.25, max_calls=54, max_total_tokens=1250)
    assert all_of(reserve) == Amount(cost=1.25, calls=54, tokens=1250)
    budget = SweepBudget(caps=Caps(max_calls=200))
    budget.reserve("a", reserve)
    budget.reserve("b", reserve)
    budget.settle("a", None)
    budget.settle("b", Amount(calls=20))
    assert budget.charged.calls == 74


def test_what_is_unknown_is_not_free() -> None:
    unpriced = replace(JOB, cost_at_most=None, cost_expected=None, tokens_at_most=None)
    assert reserve_for(unpriced) == Caps(max_calls=54)
    assert reserve_for(replace(JOB, cost_at_most=0.0)).max_cost is None, "a cap of 0 would allow nothing"
    assert spent(JobSpending(calls=3, tokens=9, cost=None), unpriced) == Amount(calls=3, tokens=9)
    assert spent(JobSpending(calls=3, tokens=9, cost=None), JOB).cost == 1.25, "of a group, some have a price"


@pytest.mark.parametrize(
    ("caps", "says"),
    [
        (Caps(max_cost=2.0), "$2.00"),
        (Caps(max_calls=100), "100 calls"),
        (Caps(max_total_tokens=2000), "2,000 tokens"),
        (Caps(), None),
        (Caps(max_cost=2.5, max_calls=108, max_total_tokens=2500), None),
    ],
)
def test_a_second_job_starts_only_if_the_caps_could_pay_both(caps: Caps, says: str | None) -> None:
    budget = SweepBudget(caps=caps)
    assert budget.refuses(reserve_for(JOB)) is None
    budget.reserve("a", reserve_for(JOB))
    assert budget.refuses(reserve_for(JOB)) == says


@given(st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=40), st.integers(0, 2000), st.integers(1, 8))
def test_no_order_of_ends_and_deaths_charges_more_than_the_cap(
    jobs: list[tuple[int, bool]], cap: int, workers: int
) -> None:
    budget = SweepBudget(caps=Caps(max_calls=cap))
    running: list[tuple[str, Amount | None]] = []
    for number, (calls, dies) in enumerate(jobs):
        reserve = Caps(max_calls=calls)
        if len(running) == workers:
            name, used = running.pop(0)
            budget.settle(name, used)
        if budget.refuses(reserve) is None:
            budget.reserve(str(number), reserve)
            running.append((str(number), None if dies else Amount(calls=calls // 2)))
        assert budget.charged.calls + sum(one.calls for one in budget.reserved.values()) <= cap


@given(st.lists(st.integers(0, 100), min_size=1, max_size=6), st.integers(0, 300))
def test_shards_stay_within_the_caps_together_whatever_was_charged_before(before: list[int], cap: int) -> None:
    charged = [Amount(calls=calls, cost=calls / 10) for calls in before]
    ends = []
    for number, own in enumerate(charged):
        caps = shard_caps(Caps(max_calls=cap, max_cost=cap / 10), charged, number)
        assert caps.max_calls is not None
        assert caps.max_cost is not None
        ends.append(Amount(calls=max(own.calls, caps.max_calls), cost=max(own.cost, caps.max_cost)))
    assert total(ends).calls <= max(cap, sum(before))
    assert total(ends).cost <= max(cap, sum(before)) / 10 + 1e-9


def test_shards_without_a_past_have_equal_parts_and_the_same_time() -> None:
    none = [Amount()] * 4
    caps = Caps(max_cost=10.0, max_calls=10, max_time_minutes=30)
    assert shard_caps(caps, none, 2) == Caps(max_cost=2.5, max_calls=2, max_time_minutes=30)
    assert shard_caps(Caps(), none, 2) == Caps()
