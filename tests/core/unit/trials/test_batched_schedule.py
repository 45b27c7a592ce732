"""The schedule of trials that are asked in batches: a look at a time, and the same decision as one by one."""

import random

import pytest

from upskill.core.nouns import Case, CheckResult, Errored, Grade, Scored, Student, Trial, TrialPlan, Turn
from upskill.core.trials.schedule import FixedSchedule, Schedule, SequentialSchedule, schedule_for

STUDENT = Student(name="s", model="openai/s")


def _plan(cases: int, *, repeats: int | None = None) -> TrialPlan:
    return TrialPlan(
        cases=tuple(Case(id=f"c{number}", prompt=f"Question {number}?", checks=()) for number in range(cases)),
        students=(STUDENT,),
        arms=("with_skill", "baseline"),
        repeats=repeats or 5,
        seed=1,
        harness="chat",
        design="fixed" if repeats else "sequential",
    )


def _trial(turn: Turn, arm: str, *, lift: float, seed: int, tries: int) -> Trial:
    draw = random.Random(f"{seed}/{turn.key}/{arm}")
    if tries == 1 and draw.random() < 0.05:
        outcome: Scored | Errored = Errored(fault="provider", message="expired")
    else:
        passed = draw.random() < (0.3 + lift if arm == "with_skill" else 0.3)
        outcome = Scored(end="answered", grade=Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),)))
    return Trial(id=f"{turn.key}{arm}", student="s", case_id=turn.case.id, arm=arm, repeat=turn.repeat, outcome=outcome)  # type: ignore[arg-type]


def _run(schedule: Schedule, *, lift: float, seed: int, at_once: int) -> list[int]:
    """The sizes of the groups in which turns were given out; they end in any order."""
    shuffled, tries, sizes = random.Random(seed), dict[tuple[str, int], int](), list[int]()
    while True:
        group: list[Turn] = []
        while len(group) < at_once and (turn := schedule.take()) is not None:
            group.append(turn)
        if not group:
            return sizes
        sizes.append(len(group))
        shuffled.shuffle(group)
        for turn in group:
            tries[turn.key] = tries.get(turn.key, 0) + 1
            schedule.ended(
                turn,
                {arm: _trial(turn, arm, lift=lift, seed=seed, tries=tries[turn.key]) for arm in turn.arms},
            )


@pytest.mark.parametrize("lift", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("cases", [3, 8, 20])
def test_a_batched_schedule_decides_as_one_by_one_and_at_the_same_pair(cases: int, lift: float) -> None:
    for seed in range(3):
        plan = _plan(cases)
        plain, batched = schedule_for(plan, min_lift=None), schedule_for(plan, min_lift=None, batched=True)
        assert isinstance(plain, SequentialSchedule)
        assert isinstance(batched, SequentialSchedule)
        _run(plain, lift=lift, seed=seed, at_once=1)
        sizes = _run(batched, lift=lift, seed=seed, at_once=10_000)
        assert batched.end("cap") == plain.end("cap")
        assert batched.pairing == plain.pairing
        assert len(sizes) <= 12, "a look is a half round at least"


def test_nothing_more_is_given_out_before_all_of_a_batch_has_ended() -> None:
    schedule = schedule_for(_plan(8), min_lift=None, batched=True)
    group = []
    while (turn := schedule.take()) is not None:
        group.append(turn)
    for turn in group[:-1]:
        schedule.ended(turn, {arm: _trial(turn, arm, lift=0.0, seed=2, tries=2) for arm in turn.arms})
        assert schedule.take() is None


def test_errored_turns_of_a_fixed_design_go_into_one_batch_of_their_own() -> None:
    schedule = schedule_for(_plan(40, repeats=3), min_lift=None, batched=True)
    assert isinstance(schedule, FixedSchedule)
    whole, again, *more = _run(schedule, lift=0.2, seed=3, at_once=10_000)
    assert whole == 120
    assert 0 < again < 30
    assert not more
