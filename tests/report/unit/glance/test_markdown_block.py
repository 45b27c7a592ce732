"""The glance as Markdown: a table on GitHub, and nothing in it that a stranger's name could do."""

import re

import pytest

from report.unit.evaluations import EVALUATIONS
from report.unit.glance.results import EVERYTHING, FOUR, HELPED, STRANGERS, found
from upskill.report.glance import glance, glance_of_nothing
from upskill.report.markdown import markdown

ALL = {**EVALUATIONS, "four": FOUR, "strangers": STRANGERS, "everything": EVERYTHING}


def test_the_answer_is_bold_and_each_model_has_a_row_with_a_dumbbell() -> None:
    lines = markdown(glance(FOUR)).splitlines()
    assert lines[0] == (
        "**The skill helps 2 of 4 models and hurts 1; for strong only on these 12 cases.** "
        "Best: SmolLM2 goes from 0% to 89% of 12 cases."
    )
    assert lines[4] == (r"| SmolLM2 | `○━━━━━━━━━━━━━━━━━●··` | 0% | 89% | +89 (+35 to +100) | ▲ helps | 26 → 130 |")
    assert lines[-1] == "○ without the skill, ● with the skill, ╌╌ not clear"


@pytest.mark.parametrize("name", ALL)
def test_every_row_has_as_many_cells_as_the_head(name: str) -> None:
    lines = [line for line in markdown(glance(ALL[name])).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(ALL[name].students)
    assert {line.replace(r"\|", "").count("|") for line in lines} == {8}


def test_a_strangers_name_stays_text() -> None:
    text = markdown(glance(STRANGERS))
    assert not re.search(r"(?<!\\)<[a-z]", text)
    assert not re.search(r"(?<!\\)\]\(", text)
    assert not re.search(r"@\w|(?<!&)#\w", text)
    assert all(line.isprintable() for line in text.splitlines())
    address = found(*(HELPED, STRANGERS.students[0]))
    assert "http://" not in markdown(glance(address))


def test_nothing_measured_is_a_sentence() -> None:
    assert markdown(glance_of_nothing("x", "Saved.", None)) == "**Saved.**\n"
