"""Two runs beside each other: what differs is named, and nothing is claimed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from report.unit.evaluations import SKILL, evaluation, scored
from report.unit.glance.results import HELPED, WORSE, found
from upskill.core.nouns import StudentReport
from upskill.report.html import CaseText, LoggedTrial, against_page
from upskill.report.side_by_side import NOT_A_TEST, Against, RunSide, against

CASES = {"port": "1", "host": "2", "file": "3"}
RATES = {("SmolLM2", "port"): (0.0, 1.0), ("SmolLM2", "host"): (1.0, 1.0), ("SmolLM2", "file"): (1.0, 0.5)}


def side(label: str, *students: StudentReport, digest: str = "a", name: str = "tarnctl", **changes: Any) -> RunSide:
    measured = found(*(students or (HELPED,)), skill=replace(SKILL, digest=digest * 64, name=name))
    values: dict[str, Any] = {"run": f"runs/{label}", "day": "2026-11-15", "cases": CASES, "harness": "chat/1"}
    return RunSide(label=label, evaluation=measured, **(values | changes))


def beside(
    first: RunSide, second: RunSide, rates: Mapping[tuple[str, str], tuple[float, float]] | None = None
) -> Against:
    return against(first, second, RATES if rates is None else rates, skill="skills/tarnctl")


def test_two_versions_are_described_over_the_shared_cases_and_nothing_is_claimed() -> None:
    seen = beside(side("A", digest="a"), side("B", digest="b"))
    assert seen.glance.sentences == (
        "With the skill, SmolLM2 passes 67% of 3 shared cases in A and 83% in B (+16 points): 1 better, 1 worse.",
        "Different: the skill's text. The same: the cases, the models, the harness.",
        NOT_A_TEST,
    )
    assert seen.glance.next_step is not None
    assert seen.glance.next_step.command == ("upskill eval skills/tarnctl -m SmolLM2 --compare previous:OLD_VERSION")


def test_each_model_has_a_row_of_each_run_that_asked_it() -> None:
    seen = beside(side("A", HELPED, WORSE), side("B", HELPED))
    assert [row.name for row in seen.glance.rows] == ["A SmolLM2", "B SmolLM2", "A worse"]
    assert "Different: the models. The same: the skill's text" in seen.glance.sentences[1]


def test_the_same_on_both_sides_is_called_chance_and_needs_no_command() -> None:
    seen = beside(side("A"), side("B"))
    assert seen.glance.sentences[1].endswith("are the same, so any difference is chance.")
    assert seen.glance.next_step is None


def test_two_skills_are_shown_and_said_to_be_two() -> None:
    seen = beside(side("A"), side("B", name="toml", digest="b"))
    assert seen.glance.sentences[1] == "These are two different skills, tarnctl and toml."
    assert len(seen.glance.rows) == 2
    assert seen.glance.next_step is None


def test_a_changed_case_is_not_a_shared_one() -> None:
    seen = beside(side("A", cases={**CASES, "port": "other"}), side("B"))
    assert seen.glance.sentences[0].startswith(
        "With the skill, SmolLM2 passes 100% of 2 shared cases in A and 75% in B"
    )
    assert "the cases (2 of 3 cases are shared)" in seen.glance.sentences[1]


def test_runs_without_a_shared_case_or_model_say_so() -> None:
    for other in (side("A", cases={}), side("A", WORSE)):
        seen = beside(other, side("B"))
        assert seen.glance.sentences[0].startswith("No case was answered by the same model in both runs")
        assert seen.shared == ()
        assert "What changed" not in against_page(seen, None)


def test_the_page_has_both_answers_of_a_case_side_by_side() -> None:
    seen = beside(side("A"), side("B", name="<b>tarnctl</b>"))
    answers = [
        LoggedTrial(trial=replace(scored(False, student="SmolLM2", case="port", answer="No idea.")), line=1),
        LoggedTrial(trial=scored(student="SmolLM2", case="port", answer="Port <7413>."), line=2),
    ]
    answers[0] = replace(answers[0], trial=replace(answers[0].trial, arm="previous"))
    first, second = HELPED.arms
    both = replace(HELPED, arms=(replace(first, arm="previous"), second), lifts=())
    page = against_page(seen, evaluation(both), cases=[CaseText(id="port", prompt="Which port?")], trials=answers)
    for said in ("A, with the skill", "B, with the skill", "Better in B 1, worse in B 0, same 0", "No idea."):
        assert said in page
    assert "<b>tarnctl" not in page
    assert "<7413>" not in page
    assert page.count('class="dumbbell wide"') == 1
