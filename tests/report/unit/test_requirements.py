"""`--require` and `--min-lift`: what meets them, and what is said where they are not met."""

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from report.unit.evaluations import evaluation, lift, report
from upskill.core.nouns import Evaluation, Interval, StudentReport, Verdict
from upskill.core.nouns.evaluation import BrokenCase
from upskill.report.json_report import evaluation_json
from upskill.report.junit import junit_report
from upskill.report.result_notes import not_met_line, requirements, result_notes

WIDE, NARROW = report(), report("kimi", lifts=(lift(about="these cases", cases=4, units=4),))
UNDECIDED = report("sonnet", verdict="undecided")


def required(of: Evaluation) -> Any:
    return json.loads(json.dumps(evaluation_json(of)))["required"]


def test_helps_on_these_cases_alone_does_not_meet_helps() -> None:
    assert evaluation(WIDE, required="helps").exit_code() == 0
    assert evaluation(NARROW, required="helps").exit_code() == 1
    assert evaluation(WIDE, NARROW, required="helps").exit_code() == 1
    assert evaluation(WIDE, UNDECIDED, required="helps").exit_code() == 1
    assert evaluation(NARROW).exit_code() == 0


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("helps", 0), ("cheaper", 0), ("no difference", 0), ("undecided", 0), ("hurts", 1), ("invalid", 3), (None, 1)],
)
def test_no_harm_is_met_by_every_verdict_but_hurts(verdict: Verdict | None, code: int) -> None:
    found = evaluation(WIDE, replace(UNDECIDED, verdict=verdict), required="no-harm")
    assert found.exit_code() == code
    assert required(found)[0]["met"] is (code == 0)
    assert ("not met: --require no-harm, sonnet" in junit_report(found, ())) is (code > 0)


def test_no_harm_says_which_loss_it_lets_through() -> None:
    wide = lift(interval=Interval(low=-0.27, high=0.4))
    lets_through = replace(UNDECIDED, lifts=(wide,))
    said = "no-harm: a loss of up to 27 points is not excluded; --min-lift -0.1 demands less than 10"
    assert said in [note.text for note in result_notes(evaluation(lets_through, required="no-harm"))]
    assert f"sonnet: {said}" in [note.text for note in result_notes(evaluation(WIDE, lets_through, required="no-harm"))]
    sure = replace(WIDE, lifts=(lift(interval=Interval(low=0.01, high=0.4)),))
    for other in (evaluation(lets_through), evaluation(sure, required="no-harm")):
        assert not any("no-harm" in note.text for note in result_notes(other))


def broken(*case_ids: str, **changes: Any) -> StudentReport:
    """A student for which a new version breaks these cases."""
    cases = tuple(BrokenCase(case_id=case_id, answers=8, passed=0, passed_before=8) for case_id in case_ids)
    return replace(report(**changes), broken=cases)


@pytest.mark.parametrize("verdict", ["helps", "cheaper", "no difference", "undecided"])
def test_no_harm_is_not_met_with_a_broken_case_whatever_the_lift(verdict: Verdict) -> None:
    found = evaluation(broken("c1", verdict=verdict), required="no-harm")
    assert found.exit_code() == 1
    assert not_met_line(requirements(found)) == "not met: --require no-harm, haiku: 1 case broken (c1)"
    many = evaluation(WIDE, broken("c1", "c2", "c3", "c4", "c5", name="kimi", verdict=verdict), required="no-harm")
    assert [one["why"] for one in required(many)] == ["kimi: 5 cases broken (c1, c2, c3 and 2 more)"]


def test_no_harm_is_not_met_while_a_case_may_be_broken() -> None:
    suspected = report(verdict="undecided", suspected=("c1", "c2"))
    found = evaluation(suspected, required="no-harm")
    assert found.exit_code() == 1
    assert [one["why"] for one in required(found)] == [
        "haiku: 2 cases may be broken, and could not be asked often enough to tell"
    ]
    assert evaluation(replace(suspected, verdict="helps"), required="helps").exit_code() == 0


def test_a_broken_case_without_a_verdict_is_called_no_verdict() -> None:
    found = evaluation(broken("c1", verdict="invalid"), required="no-harm")
    assert found.exit_code() == 3
    assert [one["why"] for one in required(found)] == ["haiku has no verdict"]


@pytest.mark.parametrize(
    ("found", "unmet"),
    [
        (evaluation(WIDE), []),
        (evaluation(WIDE, required="helps"), []),
        (evaluation(UNDECIDED, required="helps"), ["--require helps, sonnet is undecided"]),
        (
            evaluation(NARROW, UNDECIDED, required="helps"),
            [
                "--require helps, kimi is helped on these cases, which are too few to say so of new ones; "
                "sonnet is undecided"
            ],
        ),
        (
            evaluation(replace(UNDECIDED, verdict="invalid"), required="no-harm", min_lift=0.1),
            [
                "--require no-harm, sonnet has no verdict",
                "--min-lift 0.1, sonnet: a lift of at least +10 points is not shown",
            ],
        ),
        (evaluation(replace(WIDE, clears=True), min_lift=0.1), []),
        (
            evaluation(replace(WIDE, clears=False), min_lift=0.1),
            ["--min-lift 0.1, haiku: a lift of +10 points is excluded"],
        ),
    ],
)
def test_what_is_not_met_is_one_line_with_the_reasons(found: Evaluation, unmet: list[str]) -> None:
    assert not_met_line(requirements(found)) == (f"not met: {'; '.join(unmet)}" if unmet else "")
    assert [f"{one['what']}, {one['why']}" for one in required(found) if not one["met"]] == unmet


def test_json_says_it_too_where_it_is_met() -> None:
    assert required(evaluation(WIDE)) == []
    assert required(evaluation(WIDE, required="helps")) == [{"what": "--require helps", "met": True, "why": None}]


def test_in_junit_a_requirement_is_a_test_of_its_own_that_fails_for_the_students_that_do_not_meet_it() -> None:
    found = evaluation(WIDE, UNDECIDED, required="helps")
    root = ElementTree.fromstring(junit_report(found, ()))
    first, second = (suite.find("testcase[@name='--require helps']") for suite in root)
    assert first is not None
    assert first.find("failure") is None
    assert second is not None
    assert (failure := second.find("failure")) is not None
    assert failure.get("message") == "not met: --require helps, sonnet is undecided"
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
