"""Whether a student can profit from a skill, by what the passage itself adds."""

import random
from collections.abc import Callable

import pytest

from upskill.core.nouns import Arm, Case, Check, CheckResult, Errored, Grade, Scored, Trial
from upskill.generation.aptitude import aptitude_of, ceiling_lift, most_rounds, prospect


def trial(case: int, arm: Arm, passed: bool, *, repeat: int = 1, answer: str | None = None) -> Trial:
    grade = Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),))
    return Trial(
        id=f"{case}-{arm}-{repeat}",
        student="s",
        case_id=f"c{case}",
        arm=arm,
        repeat=repeat,
        outcome=Scored(end="answered", grade=grade),
        answer=f"{case} {arm} {repeat}" if answer is None else answer,
    )


def trials(
    cases: int, rounds: int, ceiling: Callable[[int], bool], *, baseline: bool = False, copied: bool = False
) -> list[Trial]:
    answer = "the same" if copied else None
    return [
        trial(case, arm, ceiling(case) if arm == "ceiling" else baseline, repeat=repeat, answer=answer)
        for repeat in range(1, rounds + 1)
        for case in range(cases)
        for arm in ("baseline", "ceiling")
    ]


def prospect_of(mine: list[Trial], temperature: float | None = None) -> str:
    return prospect(ceiling_lift(mine, temperature=temperature))


@pytest.mark.parametrize("cases", [8, 9, 10, 12, 20])
def test_who_never_passes_anything_is_excluded_in_the_last_round_at_the_latest(cases: int) -> None:
    assert prospect_of(trials(cases, most_rounds(cases), lambda _: False)) == "cannot profit"
    assert prospect_of(trials(cases, 1, lambda _: False)) == "open"


def test_fewer_cases_than_can_stop_anything_get_one_round() -> None:
    assert [most_rounds(cases) for cases in (1, 7, 8, 10, 40)] == [1, 1, 5, 4, 4]


def test_a_gain_of_ten_points_on_average_is_enough() -> None:
    assert prospect_of(trials(10, 1, lambda case: case == 0)) == "can profit"
    assert prospect_of(trials(20, 1, lambda case: case == 0)) == "open"


def test_who_passes_all_without_anything_has_nothing_to_gain() -> None:
    assert prospect_of(trials(10, 4, lambda _: True, baseline=True)) == "cannot profit"


def test_copies_are_known_exactly_and_so_is_temperature_0() -> None:
    copied = ceiling_lift(trials(20, 2, lambda case: case == 0, copied=True), temperature=None)
    assert copied is not None
    assert copied.interval.low == copied.interval.high == copied.mean == 0.05
    assert copied.pairs == 20, "a copy counts once"
    assert prospect(copied) == "cannot profit"
    assert prospect_of(trials(20, 1, lambda case: case == 0), temperature=0.0) == "cannot profit"
    varied = ceiling_lift(trials(20, 2, lambda case: case == 0), temperature=0.0)
    assert varied is not None
    assert varied.interval.low < varied.mean < varied.interval.high, "it varies, whatever its temperature"
    assert prospect_of(trials(10, 1, lambda case: case == 0), temperature=0.0) == "can profit"


def test_what_errored_measures_nothing() -> None:
    lost = [
        Trial(id="x", student="s", case_id="c1", arm="ceiling", repeat=1, outcome=Errored(fault="crash", message=""))
    ]
    assert ceiling_lift(lost, temperature=0.0) is None
    assert prospect(None) == "open"


def test_students_that_gain_the_least_are_seldom_stopped() -> None:
    draw, stopped = random.Random(5), 0
    for _ in range(200):
        seen: list[Trial] = []
        for repeat in range(1, most_rounds(10) + 1):
            for case in range(10):
                seen.append(trial(case, "baseline", draw.random() < 0.3, repeat=repeat))
                seen.append(trial(case, "ceiling", draw.random() < 0.4, repeat=repeat))
            found = prospect_of(seen)
            if found != "open":
                break
        stopped += found == "cannot profit"
    assert stopped <= 20


def test_kinds_of_case_are_counted_by_half_of_their_repeats_and_reached_by_one() -> None:
    cases = [
        Case(id=f"c{number}", prompt="", checks=(Check(kind="contains", spec="x"),), extra={"rung": rung})
        for number, rung in enumerate(("answer", "answer", "file"))
    ]
    mine = [
        trial(0, "ceiling", True), trial(0, "ceiling", True, repeat=2),
        trial(1, "ceiling", True), trial(1, "ceiling", False, repeat=2), trial(1, "ceiling", False, repeat=3),
        trial(2, "ceiling", False), trial(2, "baseline", False), trial(0, "baseline", False),
    ]  # fmt: skip
    found = aptitude_of("s", mine, cases, harness="chat", temperature=None)
    assert [(one.rung, one.cases, one.baseline, one.ceiling) for one in found.rungs] == [
        ("answer", 2, 0, 1), ("file", 1, 0, 0)
    ]  # fmt: skip
    assert found.reachable == ("c0", "c1")
