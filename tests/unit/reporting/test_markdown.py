"""A result as a block of Markdown."""

import pytest

from unit.reporting.evaluations import EVALUATIONS, evaluation, report
from upskill.reporting.markdown import markdown_report


def test_a_row_has_the_lift_with_its_interval_and_pairs() -> None:
    text = markdown_report(evaluation(), day="2026-11-15")
    assert "| haiku | 50% | 83% | +25 points (95% CI −5 to +50), 18 pairs |" in text
    assert "| helps |" in text
    assert "2026-11-15" in text


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_row_has_as_many_cells_as_the_head(name: str) -> None:
    lines = [line for line in markdown_report(EVALUATIONS[name], day="d").splitlines() if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in lines} == {8}


def test_a_hostile_name_stays_a_name() -> None:
    text = markdown_report(evaluation(report("a|b\n<img src=x>[x](http://y)`")), day="d")
    row = text.splitlines()[2]
    assert row.startswith(r"| a\|b \<img src=x\>\[x\]\(http://y\)\` |")


def test_pictures_are_named_by_where_they_are() -> None:
    text = markdown_report(evaluation(), day="d", pictures={"Lift over the baseline": "plots/my lift.svg"})
    assert "![Lift over the baseline](<plots/my lift.svg>)" in text
