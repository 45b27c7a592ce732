"""What people read about loads, in every form of report."""

from dataclasses import replace
from typing import Any

import pytest

from report.unit.evaluations import EVALUATIONS, LOADS, agent_report, arm, evaluation, lift
from report.unit.pages import Parsed, page
from upskill.core.nouns import Interval, Loads
from upskill.core.nouns.harness import harness_names
from upskill.report.glance import glance
from upskill.report.next_step import next_step
from upskill.report.result_notes import result_notes
from upskill.report.wording import (
    forced_words,
    load_words,
    loading_lines,
    rarely_loaded,
    turn_words,
)

RARE, NEVER = EVALUATIONS["rarely loaded"], EVALUATIONS["never loaded"]


def loads(**changes: Any) -> Loads:
    return replace(LOADS, **changes)


def test_the_load_rate_has_its_interval_and_says_what_it_is_of() -> None:
    assert load_words(LOADS) == "the skill was loaded in 5 of 6 answers (83%, 95% CI 31% to 98%)"
    few = loads(interval=Interval(low=0.36, high=0.99), about="these cases", cases=2, confidence=0.98765)
    assert load_words(few) == "the skill was loaded in 5 of 6 answers (83%, 98.8% CI 36% to 99% on these 2 cases)"


@pytest.mark.skipif("codex" not in harness_names(), reason="coding agents were removed")
def test_the_forced_lift_is_called_as_the_harness_calls_it() -> None:
    report = agent_report()
    assert forced_words(report) == "skill given: +75 points (95% CI +40 to +90, 18 pairs)"
    few = lift(mean=0.75, about="these cases", cases=5, units=5)
    codex = replace(report, harness="codex/1", lifts=(report.lifts[0], few))
    assert forced_words(codex) == "skill forced: +75 points (95% CI +5 to +50 on these 5 cases, 18 pairs)"
    assert forced_words(agent_report(lifts=(lift(arm="offered"),))) is None


def test_a_result_of_an_earlier_version_tells_the_number_of_loads() -> None:
    (line, forced) = loading_lines(agent_report(loads=None))
    assert line == "the skill was loaded in 5 of 6 answers (83%)"
    assert forced.startswith("skill given: ")


def test_the_loads_of_an_old_version_stand_beside_those_of_the_new_one() -> None:
    report = agent_report(
        arms=(replace(arm("previous"), loaded=2), arm("offered")),
        lifts=(lift(arm="offered", against="previous"),),
        loads=loads(instead=()),
    )
    assert list(loading_lines(report))[1:] == ["the old version was loaded in 2 of 6 answers (33%)"]


def test_turns_and_other_skills_are_told_where_they_are_known() -> None:
    assert turn_words(LOADS) == "typically loaded in turn 1"
    assert turn_words(loads(turn=None)) is None
    many = tuple((f"s{number}", 9 - number) for number in range(5))
    lines = list(loading_lines(agent_report(loads=loads(instead=many))))
    assert lines[-1] == "other skills loaded instead: s0 in 9 answers, s1 in 8 answers, s2 in 7 answers and 2 more"


@pytest.mark.parametrize(
    ("rate", "low", "rare"), [(0.2, 0.1, True), (0.5, 0.1, False), (0.2, -0.05, False), (0.2, 0.0, False)]
)
def test_a_skill_is_rarely_loaded_only_if_it_is_shown_to_help_when_forced(rate: float, low: float, rare: bool) -> None:
    forced = lift(interval=Interval(low=low, high=0.9))
    report = agent_report(lifts=(lift(arm="offered"), forced), loads=loads(rate=rate))
    assert rarely_loaded(report) == rare
    assert not rarely_loaded(replace(report, loads=None))


@pytest.mark.skipif("codex" not in harness_names(), reason="coding agents were removed")
def test_a_skill_that_helps_when_forced_and_is_rarely_loaded_names_the_description() -> None:
    sentence = glance(RARE).sentences[-1]
    assert sentence == (
        "It helps when forced (+75 points, 95% CI +40 to +90), but was loaded in 1 of 6 answers: work on its "
        "description."
    )
    step = next_step(RARE, skill="my skill")
    assert step.command == ("upskill generate --description-only --from 'my skill' --eval-model haiku --harness codex")
    assert sentence in page(RARE).replace("&#43;", "+")
    several = evaluation(replace(RARE.students[0]), agent_report(student=replace(RARE.students[0].student, name="b")))
    assert glance(several).sentences[-1] == (
        "It helps when it is forced, but is rarely loaded by haiku: work on its description."
    )


def test_a_model_that_calls_no_tool_is_not_helped_by_another_description() -> None:
    silent = loads(loaded=0, rate=0.0, answers=10, no_tool_called=True)
    seen = evaluation(replace(RARE.students[0], loads=silent, verdict="undecided"))
    sentence = glance(seen).sentences[-1]
    assert "the model called no tool in 10 answers, so it can load no skill" in sentence
    assert "description" not in sentence
    assert "--description-only" not in (next_step(seen, skill="my skill").command or "")


def test_a_difference_without_a_load_shows_nothing_about_the_text() -> None:
    assert "nothing is shown about its text" in glance(NEVER).sentences[-1]
    undecided = evaluation(replace(NEVER.students[0], verdict="undecided"))
    assert len(glance(undecided).sentences) == 1
    assert "0 of 6: 0%, 95% CI 0% to 46%" in page(NEVER)


def test_facts_about_loads_stand_beside_the_result_of_one_and_of_several_models() -> None:
    one = [note.text for note in result_notes(EVALUATIONS["with tools"]) if note.is_fact]
    assert one == [
        "the skill was loaded in 5 of 6 answers (83%, 95% CI 31% to 98%)",
        "skill given: +75 points (95% CI +40 to +90, 18 pairs)",
        "other skills loaded instead: pdf-forms in 1 answer",
    ]
    other = agent_report(student=replace(RARE.students[0].student, name="kimi"))
    both = [note.text for note in result_notes(evaluation(agent_report(), other)) if note.is_fact]
    assert both == [
        "load rate: haiku 83%, 95% CI 31% to 98%; kimi 83%, 95% CI 31% to 98%",
        "skill given: haiku +75 (95% CI +40 to +90); kimi +75 (95% CI +40 to +90)",
    ]


def test_the_page_has_the_load_rate_and_both_lifts_in_one_table() -> None:
    text = Parsed(page(EVALUATIONS["with tools"])).text
    lifts = ("Skill offered", "+25 (95% CI +5 to +50)", "Skill given", "+75 (95% CI +40 to +90)")
    for figure in ("5 of 6: 83%, 95% CI 31% to 98%", *lifts):
        assert figure in text, figure
    assert "Was it loaded?" not in page(EVALUATIONS["one student"])
