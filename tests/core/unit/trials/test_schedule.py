"""The stages of each design: what is asked, what is asked again, and when it is over."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from upskill.core.nouns import Arm, Case, CheckResult, Errored, Fault, Grade, Scored, Student, Trial, TrialPlan, Turn
from upskill.core.nouns.plan import Design
from upskill.core.trials.schedule import MOST_TRIES, ResumedSchedule, Schedule

ARMS: tuple[Arm, ...] = ("baseline", "with_skill")
Answers = Callable[[str, Arm, int], bool | Fault]
"""What becomes of an answer, by case, arm and repeat: it passes, it fails, or it errs."""


def plan_of(cases: int, design: Design, repeats: int, *, temperature: float | None = None) -> TrialPlan:
    return TrialPlan(
        cases=tuple(Case(id=f"c{number:02}", prompt="", checks=()) for number in range(cases)),
        students=(Student(name="m", model="m", temperature=temperature),),
        arms=ARMS,
        repeats=repeats,
        design=design,
    )


def trial(turn: Turn, arm: Arm, came: bool | Fault, *, text: str | None = None) -> Trial:
    grade = Grade(results=(CheckResult(kind="contains", passed=came is True, saw=""),))
    outcome = Scored(end="answered", grade=grade) if isinstance(came, bool) else Errored(fault=came, message="")
    answer = f"{came} {turn.repeat}" if text is None else text
    return Trial(id="", student="m", case_id=turn.case.id, arm=arm, repeat=turn.repeat, outcome=outcome, answer=answer)


def run(schedule: Schedule, answers: Answers, *, copies: bool = False) -> list[tuple[str, int]]:
    """The case and repeat of every turn that was asked, in this order."""
    asked = []
    while (turn := schedule.take()) is not None:
        asked.append(turn.key)
        text = "the same" if copies else None
        trials = {arm: trial(turn, arm, answers(turn.case.id, arm, turn.repeat), text=text) for arm in ARMS}
        schedule.ended(turn, trials)
    return asked


def repeats_of(asked: list[tuple[str, int]]) -> dict[int, int]:
    return {repeat: sum(one == repeat for _, one in asked) for repeat in sorted({one for _, one in asked})}


def helped(case_id: str, arm: Arm, _: int) -> bool:
    return arm == "with_skill"


def test_a_fixed_design_asks_every_turn_once() -> None:
    schedule = Schedule(plan_of(4, "fixed", 3))
    assert repeats_of(run(schedule, helped)) == {1: 4, 2: 4, 3: 4}
    assert (schedule.end, schedule.level.looks) == ("plan finished", 1)


# Two looks


def test_a_clear_first_look_is_the_last() -> None:
    schedule = Schedule(plan_of(12, "two looks", 3))
    assert repeats_of(run(schedule, helped)) == {1: 12}
    assert (schedule.end, schedule.level.looks) == ("decided", 2)


def test_a_lift_within_its_noise_is_not_asked_for_again() -> None:
    schedule = Schedule(plan_of(12, "two looks", 3))
    assert repeats_of(run(schedule, lambda case_id, _, __: case_id < "c06")) == {1: 12}
    assert schedule.end == "futile"


def test_an_open_first_look_is_followed_by_a_second() -> None:
    def sometimes(case_id: str, arm: Arm, repeat: int) -> bool:
        return arm == "with_skill" and (int(case_id[1:]) + repeat) % 3 == 0

    schedule = Schedule(plan_of(12, "two looks", 3))
    assert repeats_of(run(schedule, sometimes)) == {1: 12, 2: 12, 3: 12}
    assert (schedule.end, schedule.level.looks, len(schedule.pairing.pairs)) == ("plan finished", 2, 36)


@pytest.mark.parametrize(("copies", "probes"), [(True, 3), (False, 8)])
def test_where_answers_repeat_the_first_look_has_the_whole_error_and_the_probes_do_not_count(
    copies: bool, probes: int
) -> None:
    schedule = Schedule(plan_of(12, "two looks", 3))
    asked = run(schedule, lambda case_id, arm, _: arm == "with_skill" and case_id < "c04", copies=copies)
    assert repeats_of(asked) == {1: 12, 2: probes}
    assert (schedule.end, schedule.level.looks, len(schedule.pairing.pairs)) == ("copies", 1, 12)
    probe = trial(Turn(case=schedule.plan.cases[0], repeat=2, arms=ARMS), "with_skill", True)
    assert not schedule.counts(probe)
    assert schedule.counts(replace(probe, repeat=1))


def test_grades_that_repeat_by_chance_in_three_cases_end_nothing() -> None:
    def of_twelve(case_id: str, arm: Arm, repeat: int) -> bool:
        return arm == "with_skill" and case_id < "c04" and (repeat == 1 or case_id != fifth)

    schedule = Schedule(plan_of(12, "two looks", 3))
    fifth = sorted(turn.case.id for turn in list(schedule.plan.rounds())[1][3:8] if turn.case.id < "c04")[0]
    assert repeats_of(run(schedule, of_twelve)) == {1: 12, 2: 12, 3: 12}
    assert schedule.end == "plan finished"


def test_the_second_stage_waits_for_every_answer_of_the_first() -> None:
    schedule = Schedule(plan_of(6, "two looks", 3))
    turns = [schedule.take() for _ in range(6)]
    assert schedule.take() is None, "nothing is asked while the first look is open"
    for number, turn in enumerate(turns):
        assert turn is not None
        came = number < 2
        schedule.ended(
            turn, {"baseline": trial(turn, "baseline", False), "with_skill": trial(turn, "with_skill", came)}
        )
    probe = schedule.take()
    assert probe is not None
    assert probe.repeat == 2


# Errors


def test_an_errored_turn_is_asked_again_at_the_end_of_its_stage() -> None:
    tries: dict[tuple[str, int], int] = {}

    def shaky(case_id: str, arm: Arm, repeat: int) -> bool | Fault:
        tries[case_id, repeat] = tries.get((case_id, repeat), 0) + (arm == "baseline")
        return "timeout" if case_id == "c01" and tries[case_id, repeat] == 1 else arm == "with_skill"

    schedule = Schedule(plan_of(12, "two looks", 3))
    asked = run(schedule, shaky)
    assert len(asked) == 13
    assert asked[-1] == ("c01", 1)
    assert (schedule.end, len(schedule.pairing.pairs), len(schedule.pairing.drops)) == ("decided", 12, 1)


def test_a_turn_that_always_errs_does_not_hold_up_the_look() -> None:
    schedule = Schedule(plan_of(12, "two looks", 3))
    asked = run(schedule, lambda case_id, arm, _: "timeout" if case_id == "c01" else arm == "with_skill")
    assert asked.count(("c01", 1)) == MOST_TRIES
    assert (schedule.end, len(schedule.pairing.pairs)) == ("decided", 11)


@pytest.mark.parametrize("fault", ["budget", "cancelled"])
def test_what_was_called_off_ends_no_stage(fault: Fault) -> None:
    schedule = Schedule(plan_of(6, "two looks", 3))
    asked = run(schedule, lambda case_id, arm, _: fault if case_id == "c01" else arm == "with_skill")
    assert repeats_of(asked) == {1: 6}
    assert schedule.end is None


# The gate


def breaks(*cases: str) -> Answers:
    return lambda case_id, arm, _: arm == "baseline" or case_id not in cases


def test_a_gate_asks_every_case_twice_and_six_times_more_what_looks_broken() -> None:
    schedule = Schedule(plan_of(12, "gate", 8))
    asked = run(schedule, breaks("c03"))
    assert repeats_of(asked) == {1: 12, 2: 12, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1}
    assert schedule.gate is not None
    assert [tally.case_id for tally in schedule.gate.broken] == ["c03"]
    assert len(schedule.pairing.pairs) == 24, "the lift rests on what was asked of every case"
    assert Schedule(plan_of(2, "fixed", 1)).gate is None


def test_a_gate_that_suspects_nothing_is_over() -> None:
    schedule = Schedule(plan_of(12, "gate", 8))
    assert repeats_of(run(schedule, breaks())) == {1: 12, 2: 12}
    assert schedule.gate is not None
    assert not schedule.gate.broken


def test_copies_are_asked_twice_more_and_at_temperature_zero_once() -> None:
    copied = Schedule(plan_of(12, "gate", 8))
    assert repeats_of(run(copied, breaks("c03"), copies=True)) == {1: 12, 2: 12, 3: 1, 4: 1}
    cold = Schedule(plan_of(12, "gate", 8, temperature=0.0))
    assert repeats_of(run(cold, breaks("c03"), copies=True)) == {1: 12, 2: 1}
    for schedule in (copied, cold):
        assert schedule.gate is not None
        assert [tally.case_id for tally in schedule.gate.broken] == ["c03"]


def test_a_suspicion_that_cannot_be_confirmed_any_more_is_dropped() -> None:
    schedule = Schedule(plan_of(12, "gate", 8))
    asked = run(schedule, lambda case_id, arm, repeat: case_id != "c03" or (arm == "baseline") is (repeat <= 2))
    assert repeats_of(asked) == {1: 12, 2: 12, 3: 1, 4: 1}
    assert schedule.gate is not None
    assert not schedule.gate.broken


def test_a_suspect_that_errs_when_it_is_asked_again_is_not_cleared() -> None:
    def errs(case_id: str, arm: Arm, repeat: int) -> bool | Fault:
        return "timeout" if repeat > 2 else arm == "baseline" or case_id != "c03"

    schedule = Schedule(plan_of(12, "gate", 8))
    run(schedule, errs)
    assert schedule.gate is not None
    assert (schedule.gate.broken, schedule.gate.suspected) == ((), ("c03",))


# Answers that are there


def test_a_schedule_is_over_without_the_engine_where_all_answers_are_there() -> None:
    schedule = Schedule(plan_of(12, "two looks", 3))
    resumed = ResumedSchedule(
        schedule,
        lambda planned: trial(
            Turn(case=planned.case, repeat=planned.repeat, arms=ARMS), planned.arm, planned.arm != "baseline"
        ),
    )
    assert resumed.is_over
    assert schedule.end == "decided"
