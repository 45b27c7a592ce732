"""Trials, grades, usage and prices: an error is not a score, and unknown is not zero."""

from typing import get_args

import pytest

from upskill.core.nouns import CheckResult, End, Grade, Price, Scored, Skill, SkillFile, Usage
from upskill.core.nouns.evaluation import ArmSummary
from upskill.core.nouns.lift import Interval
from upskill.core.nouns.trial import ENDS_THAT_CAN_PASS


def grade(*passed: bool) -> Grade:
    return Grade(results=tuple(CheckResult(kind="contains", passed=one, saw="") for one in passed))


def test_a_grade_passes_when_every_check_does_and_never_without_checks() -> None:
    assert grade(True, True).passed
    assert not grade(True, False).passed
    assert not grade().passed
    assert (grade(True, False, True).checks_passed, grade().checks_passed) == (2, 0)


@pytest.mark.parametrize("end", get_args(End))
def test_only_an_answer_can_pass_whatever_the_checks_say(end: End) -> None:
    assert Scored(end=end, grade=grade(True)).passed is (end in ("answered", "cut"))
    assert not Scored(end=end, grade=grade(False)).passed


def test_the_ends_that_can_pass_are_ends() -> None:
    assert set(get_args(End)) >= ENDS_THAT_CAN_PASS


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (Usage(), None),
        (Usage(input_tokens=3), None),
        (Usage(output_tokens=3), None),
        (Usage(input_tokens=0, output_tokens=0), 0),
        (Usage(input_tokens=3, output_tokens=4), 7),
    ],
)
def test_tokens_are_unknown_when_either_side_is(usage: Usage, tokens: int | None) -> None:
    assert usage.tokens == tokens


def test_a_price_is_per_million() -> None:
    price = Price(input_per_million=1.0, output_per_million=5.0)
    assert price.of(input_tokens=500_000, output_tokens=100_000) == pytest.approx(1.0)


def test_a_rate_of_nothing_is_unknown() -> None:
    def arm(trials: int, passed: int) -> ArmSummary:
        return ArmSummary(
            arm="baseline",
            trials=trials,
            passed=passed,
            errored=5,
            faults=(),
            checks_passed=None,
            checks=None,
            tokens=None,
            cost=None,
            spent=None,
            runs=0,
            runs_all_passed=0,
        )

    assert arm(0, 0).pass_rate is None
    assert arm(4, 0).pass_rate == 0.0
    assert arm(4, 3).pass_rate == 0.75


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [(0.1, 0.3, True, False), (0.0, 0.3, False, False), (-0.3, 0.0, False, False), (-0.3, -0.1, False, True)],
)
def test_an_interval_that_touches_zero_is_on_neither_side(low: float, high: float, above: bool, below: bool) -> None:
    interval = Interval(low=low, high=high)
    assert (interval.above_zero, interval.below_zero) == (above, below)


def test_the_other_files_of_a_skill_are_all_but_its_text() -> None:
    files = tuple(SkillFile(path=path, size=0, sha256="") for path in ("SKILL.md", "a/SKILL.md", "b"))
    skill = Skill(name="a", description="d", body="", digest="", files=files)
    assert [file.path for file in skill.other_files] == ["a/SKILL.md", "b"]
