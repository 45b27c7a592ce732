"""What is folded below a result: cost, cases, method."""

from dataclasses import replace
from typing import get_args

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from report.unit.evaluations import CASE_STATES, LABEL_LIFTS, agent_report, arm, evaluation, report
from report.unit.pages import EVALUATIONS, FACTS, page
from upskill.core.nouns import Interval, StudentEnd
from upskill.report.facts import REASONS, TokenRatio
from upskill.report.html.details import cases_fold, method_fold
from upskill.report.html.figures import cost_fold
from upskill.report.html.shell import Fold, render


def inside(fold: Fold | None) -> str:
    assert fold is not None
    return fold.body


def test_values_of_a_template_are_text_and_a_missing_one_is_an_error() -> None:
    assert "&lt;b&gt;\ufffd" in render("notes.html", notes=["<b>\u202e"])
    assert "<b>\ufffd" in render("notes.html", notes=[Markup("<b>\u202e")])
    with pytest.raises(UndefinedError):
        render("notes.html")


def test_cost_names_the_cheapest_model_that_is_good_enough_and_what_the_skill_adds() -> None:
    arms = (
        replace(arm("baseline", passed=10, trials=100), cost=0.001),
        replace(arm("with_skill", passed=95, trials=100), cost=0.002),
    )
    ratio = TokenRatio(student="haiku", typical=0.6, interval=Interval(low=0.5, high=0.7))
    body = inside(cost_fold(evaluation(report(arms=arms)), [ratio], enough=0.8))
    assert "Cheapest at 80% or more: haiku with the skill, 95% for $0.002 per answer." in body
    assert "40% fewer tokens (30% to 50% fewer)" in body
    nobody = inside(cost_fold(evaluation(report(arms=arms)), [], enough=0.99))
    assert "No model reached a pass rate of 99%." in nobody


def test_cases_are_counted_by_state_and_those_to_change_are_listed() -> None:
    fold = cases_fold(evaluation(report(label_lifts=LABEL_LIFTS), case_states=CASE_STATES))
    assert fold is not None
    assert fold.finding == "1 unproven, 1 rejected"
    assert "ask for more" in fold.body
    assert "haiku: +25 (95% CI +5 to +50 on these cases)" in fold.body
    assert cases_fold(evaluation()) is None


def test_further_comparisons_and_errors_are_part_of_the_method() -> None:
    body = method_fold(evaluation(agent_report(), sandbox="bubblewrap"), FACTS).body
    assert "with the skill given against without the skill" in body
    assert "The skill was loaded in 5 of 6 answers (83%, 95% CI 31% to 98%)" in body
    errors = method_fold(EVALUATIONS["invalid"], FACTS).body
    assert "6: a timeout" in errors


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("decided", "the first look was clear"),
        ("futile", "the lift was within its own noise"),
        ("copies", "answers repeat themselves"),
        ("cap reached", "a cap was reached"),
        ("interrupted", "the run was interrupted"),
    ],
)
def test_the_method_says_why_no_more_was_asked(end: StudentEnd, why: str) -> None:
    assert f"Stopped because {why}." in method_fold(evaluation(report(end=end)), FACTS).body
    assert "Stopped because" not in method_fold(evaluation(report(end=end, lifts=())), FACTS).body


def test_every_end_of_a_model_but_the_end_of_its_plan_has_a_reason_in_words() -> None:
    ends = {end for ends in get_args(StudentEnd) for end in get_args(ends)}
    assert set(REASONS) == ends - {"plan finished"}
    assert "Everything was asked." in method_fold(evaluation(report()), FACTS).body


def test_an_open_verdict_is_explained_in_full() -> None:
    open_one = report(verdict="undecided", sentence="undecided: 0 points; 5 more cases would show it")
    assert "5 more cases" not in page(evaluation(report()))
    assert "Undecided: 0 points; 5 more cases would show it." in page(evaluation(open_one))


def test_a_model_without_a_verdict_is_not_recommended_and_has_no_lift_by_label() -> None:
    lost = report(verdict="invalid", arms=(arm("baseline"), arm("with_skill", passed=6)), label_lifts=LABEL_LIFTS)
    result = evaluation(lost, case_states=CASE_STATES)
    assert "Cheapest" not in inside(cost_fold(result, [], enough=0.8))
    fold = cases_fold(result)
    assert fold is not None
    assert "+25" not in fold.body
