"""How often a judge and the other checks agree: trial by trial, over what both looked at."""

from upskill.core.nouns import CheckResult, Errored, Grade, Scored, Trial
from upskill.core.statistics import judge_agreement


def trial(*results: tuple[str, bool]) -> Trial:
    grade = Grade(results=tuple(CheckResult(kind=kind, passed=passed, saw="") for kind, passed in results))
    return Trial(
        id="i", student="s", case_id="c", arm="baseline", repeat=1, outcome=Scored(end="answered", grade=grade)
    )


def test_a_trial_agrees_when_judge_and_other_checks_come_to_the_same_result() -> None:
    trials = [
        trial(("judge", True), ("contains", True)),
        trial(("judge", False), ("contains", False)),
        trial(("judge", True), ("judge", False), ("contains", False), ("file", True)),
        trial(("judge", True), ("contains", False)),
        trial(("judge", False), ("contains", True)),
    ]
    assert judge_agreement(trials) == (5, 5, 3)


def test_what_only_one_of_them_saw_is_not_compared() -> None:
    errored = Trial(
        id="i", student="s", case_id="c", arm="baseline", repeat=1, outcome=Errored(fault="check", message="crashed")
    )
    assert judge_agreement([trial(("judge", True)), trial(("contains", True)), errored]) == (1, 0, 0)
