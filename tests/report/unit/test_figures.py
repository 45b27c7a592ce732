"""Every figure of a result, for those who ask for more: nothing too wide, no words of the code."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from report.unit.evaluations import ANY, CODE_WORDS, ceiling_report, controls_report, evaluation, lift, report
from report.unit.pages import page
from upskill.core.nouns import Evaluation
from upskill.report.junit import junit_report
from upskill.report.markdown import markdown_report
from upskill.report.terminal import show_figures


def shown(found: Evaluation, *, width: int = 80) -> list[str]:
    file = io.StringIO()
    show_figures(found, Console(file=file, width=width, force_terminal=True, no_color=True, highlight=False))
    return re.sub(r"\x1b\[[\d;]*m", "", file.getvalue()).splitlines()


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("found", ANY)
def test_it_fits_and_uses_no_word_of_the_code(found: Evaluation, width: int) -> None:
    lines = shown(found, width=width)
    assert [line for line in lines if len(line) > width] == []
    assert [line for line in lines if CODE_WORDS.search(line)] == []
    assert [line for line in lines if line != line.rstrip()] == []


def test_each_arm_has_a_bar_and_its_lift() -> None:
    text = "\n".join(shown(evaluation()))
    assert "without the skill ██████████░░░░░░░░░░   50%" in text
    assert "with the skill    ███████████████░░░░░   75%  (+25 points)" in text


def test_several_models_stand_in_one_table_with_their_intervals() -> None:
    lines = shown(evaluation(report("haiku"), report("kimi")), width=120)
    header = next(line for line in lines if "pass rate" in line)
    names = ["model", "pass rate", "avg checks", "avg tokens", "cost/answer", "lift in points (95% CI)"]
    assert re.split("  +", header) == names
    assert sum("+25 (+5 to +50) helps" in line for line in lines) == 2


def test_a_verdict_stands_beside_the_interval_it_rests_on() -> None:
    narrow = report("kimi", lifts=(lift(about="these cases", units=4),))
    lines = shown(evaluation(report("haiku"), narrow), width=120)
    assert sum("+25 (+5 to +50) helps on these cases" in line for line in lines) == 1


def test_the_rates_of_several_models_stand_under_each_other() -> None:
    first, *others = report("haiku").arms
    hopeless = replace(report("haiku"), arms=(replace(first, passed=0), *others))
    lines = shown(evaluation(hopeless, report("kimi")), width=120)
    assert lines[0].endswith("across 2 models")
    assert re.match(r"\d+ cases, ", lines[1])
    starts = [line.index("Avg checks") for line in lines if "Avg checks" in line][:2]
    assert starts[0] == starts[1], lines


def test_figures_that_do_not_fit_beside_each_other_stand_under_each_other() -> None:
    repeated = tuple(replace(one, runs=5, runs_all_passed=2) for one in report().arms)
    lines = shown(evaluation(replace(report(), arms=repeated)), width=80)
    assert any(re.fullmatch(r" +without the skill  with the skill", line) for line in lines), lines
    assert any(re.fullmatch(r"  Repeats All Passed +2/5 +2/5", line) for line in lines), lines
    wide = shown(evaluation(replace(report(), arms=repeated)), width=120)
    assert any(line.endswith("Errored  Repeats All Passed") for line in wide)


def test_figures_end_where_their_names_end() -> None:
    lines = shown(evaluation(), width=120)
    number = next(number for number, line in enumerate(lines) if "Avg Tokens" in line)
    head, *rows = lines[number : number + 3]
    for name in ("Passed", "Avg Checks", "Avg Tokens", "Cost/Answer", "Spent", "Errored"):
        end = head.index(name) + len(name)
        assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows), (head, rows)


def test_the_ceiling_stands_beside_the_verdict_in_every_report() -> None:
    cases = evaluation().cases
    assert cases > 4
    figures = f"+55 points (95% CI +30 to +75, 12 pairs; 4 of {cases} cases have a passage)"
    said = f"ith the passage itself in the prompt: {figures}"
    one, several = evaluation(ceiling_report()), evaluation(ceiling_report(), ceiling_report())
    for found in (one, several):
        assert said in "\n".join(shown(found, width=400))
        assert said in markdown_report(found, day="d")
        assert said in page(found)
    assert "once it is given" not in "\n".join(shown(one, width=400))
    assert "each row shows: without the skill, then with the skill, then with the passage" in "\n".join(shown(several))
    assert "lift_ceiling" in junit_report(one, [])
    assert said not in "\n".join(shown(evaluation(), width=400))


def test_what_controls_show_stands_in_every_report() -> None:
    placebo = "with a placebo: +5 points (95% CI +5 to +50, 18 pairs); the skill over the placebo: +20 points (95% CI"
    still = "of 4 cases with an exchanged value in a check, 1 still passes and shows nothing of the skill: c1"
    one, several = evaluation(controls_report()), evaluation(controls_report(), controls_report("kimi"))
    for text in ("\n".join(shown(one, width=400)), "\n".join(shown(several, width=400)), page(one)):
        plain = text.replace("With a placebo", "with a placebo").replace("Of 4 cases", "of 4 cases")
        assert all(words in plain for words in (placebo, still))
    assert "with a placebo: +5 points" in markdown_report(one, day="d").replace("\\", "")
    assert "lift_placebo" in junit_report(one, [])


def test_a_stopped_design_counts_its_pairs_although_some_cases_have_no_ceiling() -> None:
    cases = evaluation().cases
    stopped = ceiling_report(end="decided")
    arms = tuple(replace(one, asked_cases=4 if one.arm == "ceiling" else cases) for one in stopped.arms)
    found = evaluation(replace(stopped, arms=arms), design="two looks", planned=10 * (2 * cases + 4))
    said = f"18 of at most {10 * cases} pairs; stopped because the first look was clear"
    assert said in "\n".join(shown(found, width=200))


def test_a_design_that_came_to_its_end_does_not_say_that_it_stopped() -> None:
    whole = [line.strip() for line in shown(evaluation())]
    assert "18 of at most 18 pairs; everything was asked" in whole
    several = "\n".join(shown(evaluation(report(end="copies"), report("kimi"), planned=72)))
    assert "18 of at most 18 pairs; stopped because answers repeat themselves" in several
    assert "18 of at most 18 pairs; everything was asked" in several
