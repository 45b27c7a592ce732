"""A result as a block of Markdown."""

from dataclasses import replace

import pytest

from report.unit.evaluations import EVALUATIONS, arm, ceiling_report, evaluation, report
from upskill.core.nouns import RunEnd
from upskill.report.glance import glance
from upskill.report.markdown import markdown, markdown_report


@pytest.mark.parametrize("name", EVALUATIONS)
def test_it_begins_with_the_glance_and_says_what_that_rests_on(name: str) -> None:
    found = EVALUATIONS[name]
    text = markdown_report(found, day="2026-11-15")
    assert text.startswith(markdown(glance(found)))
    most = "" if found.design == "fixed" else "up to "
    assert f"tarnctl: {found.cases} cases, {most}3 repeats of each, skill `5f5f5f5f5f5f`, 2026-11-15." in text


def test_the_next_command_is_a_block_that_can_be_copied() -> None:
    text = markdown_report(evaluation(end=RunEnd(interrupted=True), run="runs/a```b"), day="d")
    assert text.endswith("\n```sh\nupskill eval --resume 'runs/a'''b'\n```\n")
    hurts = evaluation(report(verdict="hurts"))
    assert "```sh\nupskill generate --from 'my skills/x' --eval-model haiku\n```" in markdown_report(
        hurts, day="d", seen=glance(hurts, skill="my skills/x")
    )


def test_what_the_table_has_no_column_for_stands_below_it() -> None:
    arms = tuple(replace(one, cost=cost) for one, cost in zip(report().arms, (0.25, 0.5), strict=True))
    assert "haiku: cost per answer \\$0.25 → \\$0.50." in markdown_report(evaluation(report(arms=arms)), day="d")
    lossy = (replace(arm("baseline"), lost=2), arm("with_skill"))
    assert "haiku: lost answers: 2 without, 0 with the skill." in markdown_report(
        evaluation(report(arms=lossy)), day="d"
    )
    assert "haiku: with the passage itself in the prompt: +55 points" in markdown_report(
        evaluation(ceiling_report()), day="d"
    )
