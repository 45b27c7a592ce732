"""Loads: the rate and its interval, and what was loaded instead."""

from dataclasses import replace

import pytest

from upskill.core.nouns import Arm, CheckResult, Errored, Grade, Scored, SkillUse, Trial
from upskill.core.statistics import Level, measure_loads
from upskill.core.statistics.distributions import exact_share
from upskill.core.statistics.intervals import share_of_new_cases, share_of_these_cases


def trial(case: str, repeat: int, arm: Arm, passed: bool, use: SkillUse | None = None, answer: str = "") -> Trial:
    grade = Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),))
    outcome = Scored(end="answered", grade=grade)
    return Trial(
        id="", student="m", case_id=case, arm=arm, repeat=repeat, outcome=outcome, skill_use=use, answer=answer
    )


def offered(case: str, repeat: int, passed: bool, loaded: bool, **use: object) -> Trial:
    return trial(case, repeat, "offered", passed, SkillUse(listed=True, loaded=loaded, **use))  # type: ignore[arg-type]


def test_the_rate_is_a_mean_over_cases_and_errors_are_not_in_it() -> None:
    errored = Trial(
        id="",
        student="m",
        case_id="b",
        arm="offered",
        repeat=2,
        outcome=Errored(fault="agent", message="x"),
        skill_use=SkillUse(listed=False, loaded=False),
    )
    answers = [offered("a", 1, True, True), offered("a", 2, True, True), offered("a", 3, False, False)]
    loads = measure_loads([*answers, offered("b", 1, False, False), errored], arm="offered", against=None)
    assert loads is not None
    assert (loads.answers, loads.loaded, loads.cases) == (4, 2, 2)
    assert loads.rate == pytest.approx(1 / 3)
    assert loads.about == "these cases", "two cases say nothing about others"
    assert loads.interval == share_of_these_cases([(2, 3), (0, 1)])


def test_a_family_is_one_unit() -> None:
    answers = [offered(case, 1, True, case == "z") for case in "abcdefz"]
    alone = measure_loads(answers, arm="offered", against=None)
    together = measure_loads(answers, arm="offered", against=None, families=dict.fromkeys("abcdef", "one"))
    assert alone is not None
    assert together is not None
    assert [alone.rate, together.rate] == pytest.approx([1 / 7, 1 / 2])
    assert (alone.about, together.about) == ("new cases", "these cases")


def test_nothing_is_said_where_no_answer_says_whether_the_skill_was_loaded() -> None:
    assert measure_loads([trial("a", 1, "offered", True)], arm="offered", against="baseline") is None
    assert measure_loads([], arm="offered", against="baseline") is None


def test_copies_of_one_answer_count_once_in_the_interval_and_are_all_counted() -> None:
    use = SkillUse(listed=True, loaded=True)
    answers = [
        trial(f"c{case}", repeat, arm, arm == "offered", use if arm == "offered" else None, answer="same")
        for case in range(8)
        for repeat in (1, 2, 3)
        for arm in ("baseline", "offered")
    ]
    loads = measure_loads(answers, arm="offered", against="baseline")
    assert loads is not None
    assert (loads.loaded, loads.answers) == (24, 24)
    assert loads.interval == share_of_new_cases([(1, 1)] * 8)


def test_the_turn_and_what_was_loaded_instead_are_told() -> None:
    answers = [
        offered("a", 1, True, True, turn=1),
        offered("a", 2, True, True, turn=4, others=("rival",)),
        offered("b", 1, False, False, others=("rival", "other")),
        offered("b", 2, False, False, others=("rival",)),
    ]
    loads = measure_loads(answers, arm="offered", against=None)
    assert loads is not None
    assert loads.turn == 2.5
    assert loads.instead == (("rival", 2), ("other", 1))
    unknown = measure_loads([*answers, offered("c", 1, True, True)], arm="offered", against=None)
    assert unknown is not None
    assert unknown.turn is None, "an answer of an earlier version does not tell"


def test_the_interval_of_a_share_is_exact() -> None:
    # Clopper and Pearson, as tabulated for 4 of 20.
    assert exact_share(4, 20, 0.025) == pytest.approx((0.0573, 0.4366), abs=5e-5)
    assert exact_share(0, 5, 0.025) == pytest.approx((0.0, 1 - 0.025 ** (1 / 5)))
    assert exact_share(5, 5, 0.025) == pytest.approx((0.025 ** (1 / 5), 1.0))


@pytest.mark.parametrize("hits", [0, 3])
def test_a_share_that_no_case_contradicts_still_has_a_width(hits: int) -> None:
    interval = share_of_new_cases([(hits, 3)] * 10)
    assert interval is not None
    assert 0.25 < interval.high - interval.low < 0.5
    wider = share_of_new_cases([(hits, 3)] * 10, Level(looks=2))
    assert wider is not None
    assert wider.high - wider.low >= interval.high - interval.low
    assert share_of_new_cases([(1, 3)] * 5) is None


def test_a_model_that_never_takes_a_second_turn_calls_no_tool() -> None:
    answers = [replace(offered(case, 1, False, False), turns=1) for case in "abcdef"]
    loads = measure_loads(answers, arm="offered", against=None)
    assert loads is not None
    assert loads.no_tool_called
    one_used_a_tool = [replace(answers[0], turns=2), *answers[1:]]
    loads = measure_loads(one_used_a_tool, arm="offered", against=None)
    assert loads is not None
    assert not loads.no_tool_called
