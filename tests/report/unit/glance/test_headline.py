"""The answer in one or two sentences, and the figures of a row."""

from dataclasses import replace

import pytest

from report.unit.evaluations import EVALUATIONS, agent_report, arm, lift, report
from report.unit.glance.results import (
    ALONE,
    CHEAPER,
    EVERYTHING,
    FOUR,
    HELPED,
    LOST,
    OPEN,
    SAME,
    STRANGERS,
    STRONG,
    WORSE,
    found,
    student,
)
from upskill.core.nouns import RunEnd, StudentReport
from upskill.core.nouns.evaluation import BrokenCase
from upskill.core.nouns.plan import Student
from upskill.report.glance import glance, glance_of_nothing
from upskill.report.next_step import NextStep


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (HELPED, "The skill helps SmolLM2: from 0% to 89% of 12 cases, +89 points (95% CI +35 to +100)."),
        (
            STRONG,
            "The skill helps strong on these 12 cases: from 4% to 42%, +38 points (95% CI above 0 to +75).",
        ),
        (WORSE, "The skill hurts worse: from 73% to 9% of 12 cases, −64 points (95% CI −100 to −17)."),
        (OPEN, "Undecided: open goes from 38% to 55% of 12 cases, +17 points (95% CI −30 to +63)."),
        (
            SAME,
            "The skill makes no difference for same on these 12 cases: from 50% to 51%, +1 point (95% CI −8 to +10).",
        ),
        (
            CHEAPER,
            "The skill makes cheap cheaper and no worse: fewer tokens in a typical case (mean 26 → 130), "
            "from 50% to 52% of 12 cases, +2 points (95% CI −5 to +20).",
        ),
        (LOST, "No verdict: 9 of 21 answers did not arrive: a timeout."),
        (ALONE, "Not compared: alone passes 50% of 12 cases; there are no answers without the skill."),
    ],
)
def test_one_model_is_one_sentence_with_the_answer_first(measured: StudentReport, said: str) -> None:
    assert glance(found(measured)).sentences[0] == said


def test_a_skill_that_costs_tokens_and_changes_nothing_should_not_be_used() -> None:
    warning = "Do not use it with this model: it costs tokens (26 → 130 per answer) and changes nothing."
    assert glance(found(SAME)).sentences[1:] == (warning,)
    several = "Do not use it with same: it costs tokens and changes nothing there."
    assert glance(found(HELPED, SAME)).sentences[-1] == several
    for other in (HELPED, STRONG, WORSE, OPEN, CHEAPER, LOST, ALONE):
        assert len(glance(found(other)).sentences) == 1
    same_price = replace(SAME, arms=tuple(replace(one, tokens=26.0) for one in SAME.arms))
    assert len(glance(found(same_price)).sentences) == 1


def test_several_models_are_counted_and_the_best_is_named() -> None:
    assert glance(FOUR).sentences == (
        "The skill helps 2 of 4 models and hurts 1; for strong only on these 12 cases.",
        "Best: SmolLM2 goes from 0% to 89% of 12 cases.",
    )


@pytest.mark.parametrize(
    ("students", "said"),
    [
        ((HELPED, STRONG), "The skill helps all 2 models; for strong only on these 12 cases."),
        ((STRONG, OPEN), "The skill helps 1 of 2 models on these 12 cases."),
        ((HELPED, OPEN), "The skill helps 1 of 2 models."),
        ((WORSE, OPEN, SAME), "The skill hurts 1 of 3 models."),
        ((OPEN, OPEN), "Undecided for all 2 models."),
        ((LOST, LOST), "No verdict for all 2 models: 9 of 21 answers did not arrive: a timeout."),
        ((OPEN, SAME), "No effect shown on 2 models: 1 undecided, 1 no difference."),
        ((CHEAPER, SAME), "The skill makes 1 of 2 models cheaper and no worse; 1 no difference."),
    ],
)
def test_what_was_found_for_several_models_comes_first(students: tuple[StudentReport, ...], said: str) -> None:
    assert glance(found(*students)).sentences[0] == said


def test_a_model_without_a_verdict_beside_others_is_named_with_the_reason() -> None:
    assert (
        glance(found(HELPED, LOST)).sentences[-1] == "No verdict for lost: 9 of 21 answers did not arrive: a timeout."
    )


def test_an_interruption_and_a_decision_are_said_before_the_figures() -> None:
    cut = glance(found(OPEN, end=RunEnd(interrupted=True)), decision="The old version stays.")
    assert cut.sentences[:2] == ("The old version stays.", "The run was interrupted, so this is not final.")
    step = NextStep("measure it", "upskill eval x -m MODEL")
    nothing = glance_of_nothing("x", "The skill was saved, not measured.", step)
    assert (nothing.sentences, nothing.rows, nothing.next_step) == (("The skill was saved, not measured.",), (), step)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_result_has_a_sentence_and_a_row_for_each_model(name: str) -> None:
    seen = glance(EVALUATIONS[name])
    assert len(seen.rows) == len(EVALUATIONS[name].students)
    assert all(sentence.endswith(".") and sentence[0].isupper() for sentence in seen.sentences)


def test_the_difference_of_the_rates_on_screen_is_the_lift() -> None:
    for before in range(0, 1000, 7):
        for after in range(0, 1000, 13):
            (row,) = glance(found(student("m", before / 999, after / 999, "undecided", (-1, 1)))).rows
            shown = float(row.after_text[:-1]) - float(row.before_text[:-1])
            assert row.lift is not None
            assert abs(shown - float(row.lift.replace("−", "-"))) < 1e-9, (before, after)


def test_an_interval_says_where_it_is_about_these_cases_only() -> None:
    wide, narrow = glance(found(HELPED, STRONG)).rows
    assert (wide.figures, wide.reach) == ("+89 (+35 to +100)", "")
    assert (narrow.figures, narrow.reach) == ("+38 (above 0 to +75)", "on these 12 cases")
    one = report(lifts=(lift(about="these cases", cases=1, units=1),))
    assert glance(found(one)).rows[0].reach == "on this 1 case"


def broken(measured: StudentReport, *case_ids: str) -> StudentReport:
    """The same student, compared with an old version, for which the new one breaks these cases."""
    cases = tuple(BrokenCase(case_id=case_id, answers=8, passed=0, passed_before=8) for case_id in case_ids)
    arms = (arm("previous"), arm("with_skill"))
    lifts = tuple(replace(one, against="previous") for one in measured.lifts)
    return replace(measured, arms=arms, lifts=lifts, broken=cases)


@pytest.mark.parametrize("measured", [HELPED, OPEN, WORSE, SAME, CHEAPER])
def test_broken_cases_come_before_the_lift_whatever_that_is(measured: StudentReport) -> None:
    seen = glance(found(broken(measured, "c1", "c2")))
    (row,) = seen.rows
    assert (row.verdict, row.sign, row.broken) == ("breaks", "▼", ("c1", "c2"))
    figures = f"from {row.before_text} to {row.after_text}"
    assert seen.sentences[0].startswith(f"The new version breaks 2 of 12 cases (c1, c2) for {row.name}: {figures}")
    many = glance(found(broken(measured, "c1", "c2", "c3", "c4", "c5"))).sentences[0]
    assert many.startswith("The new version breaks 5 of 12 cases (c1, c2, c3 and 2 more) for ")


def test_broken_cases_of_several_models_are_counted_once() -> None:
    seen = glance(found(broken(HELPED, "c1", "c2"), broken(OPEN, "c2"), broken(WORSE)))
    assert seen.sentences[0] == "The new version breaks 2 cases for 2 of 3 models."


def test_a_model_without_a_verdict_breaks_nothing() -> None:
    assert [row.verdict for row in glance(found(broken(LOST, "c1"))).rows] == ["no verdict"]


def test_a_stricter_interval_says_so() -> None:
    strict = glance(found(student("m", 0.0, 0.5, "helps", (0.1, 0.9), confidence=0.998)))
    assert strict.rows[0].figures == "+50 (99.8% CI +10 to +90)"
    assert "(99.8% CI +10 to +90)" in strict.sentences[0]


def test_without_a_verdict_no_figure_remains() -> None:
    (row,) = glance(found(LOST)).rows
    assert (row.clarity, row.before, row.after, row.lift, row.interval) == ("none", None, None, None, None)
    assert row.rates == "– → –"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"end": "endpoint down"}, "the server stopped answering after 12 answers"),
        ({"arms": (arm("baseline"), replace(arm("with_skill"), lost=4))}, "answers were lost"),
        ({"arms": (arm("baseline"), replace(arm("with_skill"), refused=4))}, "requests were refused"),
        ({"arms": (arm("baseline"), arm("with_skill")), "lifts": ()}, "no pair was complete"),
    ],
)
def test_the_reason_is_made_from_what_was_counted(changes: dict[str, object], why: str) -> None:
    measured: StudentReport = replace(LOST, **changes)  # type: ignore[arg-type]
    assert glance(found(measured)).sentences[0].startswith(f"No verdict: {why}")


def test_verdicts_have_signs_and_say_how_clear_they_are() -> None:
    rows = glance(EVERYTHING).rows
    assert [row.sign for row in rows] == ["▲", "▲", "?", "▼", "=", "◆", "–", "–"]
    assert [row.clarity for row in rows] == ["clear", "clear", "unclear", *["clear"] * 3, "none", "none"]


def test_the_arms_are_named_for_what_was_compared() -> None:
    assert (glance(FOUR).before, glance(FOUR).after) == ("without the skill", "with the skill")
    assert glance(found(agent_report())).after == "with the skill offered"
    versions = report(arms=(arm("previous"), arm("with_skill")), lifts=(lift(against="previous"),))
    seen = glance(found(versions))
    assert (seen.before, seen.after) == ("old version", "new version")
    assert seen.sentences[0].startswith("The new version helps haiku")


def test_scripts_are_named_by_their_file_and_told_from_models() -> None:
    paths = ("scripted/examples/scripted/student.yaml", "scripted/other/student.yaml", "scripted/a/strong.yaml")
    scripts = [
        replace(student(path, 0.1, 0.9, "helps", (0.2, 1)), student=Student(name=path, model=path)) for path in paths
    ]
    seen = glance(found(*scripts))
    assert [row.name for row in seen.rows] == ["scripted/student", "other/student", "strong"]
    assert seen.scripted
    assert not glance(found(scripts[0], HELPED)).scripted


def test_short_names_are_unique_and_short_whatever_was_typed() -> None:
    names = [row.name for row in glance(STRANGERS).rows]
    assert len(set(names)) == len(names)
    assert all(name.isprintable() and 0 < len(name) <= 128 for name in names)
    same = glance(found(HELPED, HELPED)).rows
    assert [row.name for row in same] == ["SmolLM2 #1", "SmolLM2 #2"]
