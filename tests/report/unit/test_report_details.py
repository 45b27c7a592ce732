"""What is folded below a result: cost, how the estimate settled, cases, method."""

from dataclasses import replace

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from report.unit.evaluations import CASE_STATES, LABEL_LIFTS, agent_report, arm, evaluation, lift, report
from report.unit.pages import EVALUATIONS, FACTS, Parsed, page, path
from upskill.core.nouns import Interval, RunEnd, StudentReport
from upskill.report.facts import TokenRatio
from upskill.report.html.details import cases_fold, method_fold
from upskill.report.html.figures import cost_fold, settled_fold
from upskill.report.html.shell import Fold, render


def settled(model: StudentReport, **changes: object) -> str:
    fold = settled_fold(evaluation(model, **changes), [path()])
    assert fold is not None
    return str(fold.body)


def inside(fold: Fold | None) -> str:
    assert fold is not None
    return fold.body


def test_values_of_a_template_are_text_and_a_missing_one_is_an_error() -> None:
    assert "&lt;b&gt;\ufffd" in render("notes.html", notes=["<b>\u202e"])
    assert "<b>\ufffd" in render("notes.html", notes=[Markup("<b>\u202e")])
    with pytest.raises(UndefinedError):
        render("notes.html")


def test_the_picture_says_since_when_the_estimate_is_on_one_side_and_why_it_stopped() -> None:
    body = settled(report(stopped="decided"))
    assert "The confidence interval has been above 0 since pair 4." in body
    assert "Stopped after 6 of at most 60 pairs because the result was clear." in body
    assert '<figure class="panel good">' in body


def test_a_verdict_on_these_cases_is_followed_by_the_interval_for_these_cases() -> None:
    assert "above 0 since pair 3" in settled(report(stopped="decided", claim="these cases"))


def test_an_estimate_that_never_settled_says_so_and_is_grey() -> None:
    points = tuple(replace(point, cases_like_these=Interval(low=-0.2, high=0.9)) for point in path().points)
    fold = settled_fold(evaluation(report(verdict="undecided", stopped="cap")), [path(points=points)])
    assert fold is not None
    assert "still includes 0" in fold.body
    assert "because the plan was complete" in fold.body
    assert '<figure class="panel unsure">' in fold.body


def test_a_fixed_plan_that_was_complete_did_not_stop_and_one_that_was_cut_short_did() -> None:
    whole = settled_fold(evaluation(), [path(cap=6)])
    assert whole is not None
    assert "All 6 planned pairs were run." in whole.body
    assert "because the run was interrupted" in settled(report(), end=RunEnd(interrupted=True))


def test_answers_that_came_too_late_are_counted_apart() -> None:
    assert "2 answers arrived later and did not count." in settled(report(stopped="decided", late=2))


def test_one_pair_draws_nothing() -> None:
    assert settled_fold(evaluation(), [path(points=path().points[:1])]) is None


def test_every_point_of_the_picture_lies_inside_it() -> None:
    fold = settled_fold(evaluation(report(lifts=(lift(),)), report("kimi")), [path(), path("kimi")])
    assert fold is not None
    for shape in Parsed(str(fold.body)).named("polygon"):
        for place in str(shape["points"]).split():
            across, down = map(float, place.split(","))
            assert 0 <= across <= 320
            assert 0 <= down <= 120


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
    assert "haiku: +25 (95% CI +10 to +40)" in fold.body
    assert cases_fold(evaluation()) is None


def test_further_comparisons_and_errors_are_part_of_the_method() -> None:
    body = method_fold(evaluation(agent_report(), sandbox="bubblewrap"), FACTS).body
    assert "with the skill given against without the skill" in body
    assert "The skill was loaded in 5 of 6 answers (83%, 95% CI 31% to 98%)" in body
    errors = method_fold(EVALUATIONS["invalid"], FACTS).body
    assert "6: a timeout" in errors


def test_an_open_verdict_is_explained_in_full() -> None:
    open_one = report(verdict="undecided", sentence="undecided: 0 points; to detect +31: 140 more calls")
    assert "To detect +31" not in page(evaluation(report()))
    assert "to detect +31: 140 more calls." in page(evaluation(open_one))


def test_a_model_without_a_verdict_is_neither_recommended_nor_drawn() -> None:
    lost = report(verdict="invalid", arms=(arm("baseline"), arm("with_skill", passed=6)), label_lifts=LABEL_LIFTS)
    result = evaluation(lost, case_states=CASE_STATES)
    assert "Cheapest" not in inside(cost_fold(result, [], enough=0.8))
    assert settled_fold(result, [path()]) is None
    fold = cases_fold(result)
    assert fold is not None
    assert "+25" not in fold.body
