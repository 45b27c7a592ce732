"""JUnit: a regression is a failure named by its case; an outage is an error; the XML holds whatever models say."""

from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.unit.evaluations import EVALUATIONS, SKILL, arm, errored, evaluation, report, scored
from upskill.core.nouns import Evaluation, Trial
from upskill.report.junit import junit_report

TEXT = st.text(st.one_of(st.characters(), st.sampled_from("\x00\x0b\x1b\x7f\x85\ud800\udfff\ufffe\uffff<>&\"']]>\r\n")))


def suites(trials: list[Trial], of: Evaluation | None = None) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(junit_report(of or evaluation(), iter(trials)).encode("utf-8"))
    assert root.tag == "testsuites"
    return list(root)


def properties(of: ElementTree.Element) -> dict[str | None, str | None]:
    return {one.get("name"): one.get("value") for one in of.findall("properties/property")}


def results(trials: list[Trial], of: Evaluation | None = None) -> dict[str | None, str]:
    """What became of each case of the first student."""
    cases = suites(trials, of)[0].findall("testcase")
    tags = ("failure", "error", "skipped")
    return {case.get("name"): next((tag for tag in tags if case.find(tag) is not None), "passed") for case in cases}


def pair(passed_with: bool, passed_without: bool, *, case: str = "c1", repeat: int = 1) -> list[Trial]:
    return [
        scored(passed_without, case=case, arm="baseline", repeat=repeat),
        scored(passed_with, case=case, repeat=repeat, saw="9.0 is missing", answer="It is 8.0."),
    ]


def test_a_case_that_passes_less_with_the_skill_is_a_failure_and_the_others_are_not() -> None:
    trials = [
        *pair(False, True, case="worse"),
        *pair(True, False, case="better"),
        *pair(False, False, case="impossible"),
        *pair(True, True, case="easy"),
    ]
    assert results(trials) == {"better": "passed", "easy": "passed", "impossible": "passed", "worse": "failure"}


def test_a_failure_tells_the_counts_what_was_seen_and_what_was_said() -> None:
    trials = [*pair(True, True), *pair(False, True, repeat=2), *pair(False, False, repeat=3)]
    (failure,) = suites(trials)[0].findall("testcase/failure")
    assert failure.get("message") == "with the skill 1/3, without the skill 2/3"
    assert failure.get("type") == "regression"
    assert failure.text == "repeat 2: 9.0 is missing\nanswer: It is 8.0."


def test_gains_and_losses_in_a_case_are_weighed_against_each_other() -> None:
    assert results([*pair(False, True), *pair(True, False, repeat=2)]) == {"c1": "passed"}


def test_an_errored_trial_is_not_a_failure_and_leaves_its_partner_out() -> None:
    trials = [*pair(True, True), scored(True, arm="baseline", repeat=2), errored(repeat=2)]
    assert results(trials) == {"c1": "passed"}
    (case,) = suites(trials)[0].findall("testcase")
    assert properties(case) == {"baseline": "2/2", "with_skill": "1/1", "pairs": "1", "errored": "1"}


def test_a_trial_that_was_run_again_takes_the_place_of_the_errored_one() -> None:
    trials = [scored(True, arm="baseline"), errored(), scored(False)]
    assert results(trials) == {"c1": "failure"}


def test_a_case_of_which_all_trials_errored_is_an_error_with_its_faults() -> None:
    trials = [
        errored("timeout", arm="baseline"),
        errored("rate limit", message="429"),
        errored("timeout", repeat=2, message="again"),
    ]
    assert results(trials) == {"c1": "error"}
    (error,) = suites(trials)[0].findall("testcase/error")
    assert (error.get("message"), error.get("type")) == ("all 3 answers errored", "timeout")
    assert error.text == "timeout: too slow\nrate limit: 429"


def test_what_cannot_be_compared_is_skipped_and_says_why() -> None:
    alone = EVALUATIONS["no baseline"]
    said = {
        "no answers without the skill: nothing to compare": suites([scored(False)], alone),
        "no pair is complete: nothing to compare": suites([scored(False), errored(arm="baseline")]),
        "no answer to this case was completed": suites([errored("cancelled")]),
    }
    for message, (suite,) in said.items():
        assert [one.get("message") for one in suite.findall("testcase/skipped")] == [message]


def test_each_student_has_a_suite_and_a_case_that_only_another_met_is_skipped() -> None:
    trials = [*pair(False, True, case="c1"), *(replace(t, student="kimi") for t in pair(True, True, case="c2"))]
    first, second = suites(trials, EVALUATIONS["several"])
    assert [suite.get("name") for suite in (first, second)] == ["tarnctl / haiku", "tarnctl / kimi"]
    counts = [[suite.get(name) for name in ("tests", "failures", "errors", "skipped")] for suite in (first, second)]
    assert counts == [["2", "1", "0", "1"], ["2", "0", "0", "1"]]


def test_the_whole_counts_what_its_suites_count() -> None:
    trials = [*pair(False, True), errored(case="c2"), scored(student="kimi", case="c3")]
    root = ElementTree.fromstring(junit_report(EVALUATIONS["several"], trials))
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "1", "1", "4"]
    assert len(root.findall("testsuite/testcase")) == 6


def test_the_verdict_and_the_lift_are_properties() -> None:
    (suite,) = suites(pair(True, False))
    assert properties(suite) == {
        "skill": "tarnctl",
        "skill_digest": SKILL.digest,
        "run": "runs/2026-11-15-093042-tarnctl-1a2b3c",
        "interrupted": "false",
        "model": "haiku",
        "resolved": "anthropic/haiku",
        "harness": "chat",
        "verdict": "helps",
        "sentence": "helps: +25 points, between +10 and +40, 18 pairs",
        "spent": "0.0123",
        "lift": "0.25",
        "rate": "0.75",
        "rate_against": "0.5",
        "interval": "0.05 0.5",
        "about": "new cases",
        "pairs": "18",
        "dropped": "0",
    }


def test_the_unknown_is_left_out_of_the_properties() -> None:
    unknown = evaluation(report(verdict=None, spent=None, arms=(arm("with_skill"),), lifts=()))
    (suite,) = suites([scored()], unknown)
    assert not {"verdict", "spent", "lift", "interval", "about", "pairs"} & set(properties(suite))


@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_without_any_trial_is_still_a_report(name: str) -> None:
    assert [suite.get("tests") for suite in suites([], EVALUATIONS[name])] == ["0"] * len(EVALUATIONS[name].students)


@given(student=TEXT, case=TEXT, answer=TEXT, saw=TEXT, message=TEXT, sentence=TEXT, run=TEXT)
def test_any_text_makes_well_formed_xml(
    student: str, case: str, answer: str, saw: str, message: str, sentence: str, run: str
) -> None:
    trials = [
        scored(True, student=student, case=case, arm="baseline"),
        scored(False, student=student, case=case, answer=answer, saw=saw),
        errored(student=student, case=case + "x", message=message),
    ]
    said = evaluation(report(student, sentence=sentence), run=run)
    (suite,) = suites(trials, said)
    assert sorted(one.tag for case in suite.findall("testcase") for one in case)[:2] == ["error", "failure"]


def test_a_control_character_is_shown_as_an_escape() -> None:
    text = junit_report(evaluation(), pair(False, True, case="\x1b[31m"))
    assert 'name="\\x1b[31m"' in text


def test_trials_are_gone_through_once() -> None:
    def once() -> Iterator[Trial]:
        yield from pair(False, True)

    assert junit_report(evaluation(), once()) == junit_report(evaluation(), pair(False, True))
