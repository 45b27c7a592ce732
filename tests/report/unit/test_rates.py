"""Rates that stand beside a lift: those the lift is made of, rounded so that they do not contradict it."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from report.unit.evaluations import agent_report, arm, evaluation, lift, report
from report.unit.pages import page
from upskill.core.nouns import Evaluation
from upskill.generation.words import attempt_lines
from upskill.library.results import evaluation_table
from upskill.report.markdown import markdown_report
from upskill.report.terminal import show_evaluation
from upskill.report.wording import arm_percents, percents, points

# All scored trials: 31% and 44%. The pairs that both arms ended in: 35% and 31%.
PAIRED = report(
    verdict="undecided",
    arms=(arm("baseline", passed=31, trials=100), arm("with_skill", passed=44, trials=100)),
    lifts=(lift(mean=-0.04, rate=0.31, rate_against=0.35),),
)


def printed(shown: Evaluation) -> str:
    file = io.StringIO()
    show_evaluation(shown, Console(file=file, width=120))
    return file.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        printed(evaluation(PAIRED)),
        printed(evaluation(PAIRED, report("kimi"))),
        markdown_report(evaluation(PAIRED), day="2026-11-15"),
        evaluation_table(evaluation(PAIRED)),
        page(evaluation(PAIRED)),
        "\n".join(attempt_lines(evaluation(PAIRED), cases=4)),
    ],
    ids=["terminal", "table", "markdown", "notebook", "page", "generate"],
)
def test_every_view_shows_the_rates_that_the_lift_is_made_of(text: str) -> None:
    assert re.search(r"35%.*31%", text.replace("\n", " "))
    assert "44%" not in text


def test_rates_without_a_lift_are_those_of_all_scored_answers() -> None:
    assert arm_percents(report(lifts=())) == {"baseline": "50%", "with_skill": "83%"}
    assert arm_percents(agent_report(lifts=()))["offered"] == "67%"


@pytest.mark.parametrize(
    ("against", "rate", "shown"),
    [
        (1 / 3, 2 / 3, ("33%", "66%")),
        (0.125, 1.0, ("12%", "100%")),
        (0.0, 0.745, ("0%", "74%")),
        (0.5, 0.5, ("50%",) * 2),
        (0.5, 0.503, ("50.0%", "50.3%")),
    ],
)
def test_rounding_never_contradicts_the_lift(against: float, rate: float, shown: tuple[str, str]) -> None:
    assert percents(against, rate, rate - against) == shown


@given(st.integers(1, 400), st.data())
def test_the_difference_of_printed_rates_is_the_printed_lift(pairs: int, data: st.DataObject) -> None:
    against, rate = (data.draw(st.integers(0, pairs)) / pairs for _ in range(2))
    low, high = (float(one.removesuffix("%")) for one in percents(against, rate, rate - against))
    assert high - low == pytest.approx(float(points(rate - against).replace("−", "-")))
    assert 0 <= min(low, high) <= max(low, high) <= 100
    assert abs(low - 100 * against) < 1
    assert abs(high - 100 * rate) < 1
