"""The result as people read it: nothing too wide, no words of the code, errors last, what to type next."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from unit.reporting.evaluations import CASE_STATES, EVALUATIONS, agent_report, arm, evaluation, report
from upskill.domain import Evaluation, JudgeReport, Purchase, RunEnd
from upskill.reporting.next_step import next_steps
from upskill.reporting.terminal import show_evaluation

CODE_WORDS = re.compile(r"\b(arms?|trials?|with_skill|student_t|None)\b")


def shown(found: Evaluation, *, width: int = 80) -> list[str]:
    file = io.StringIO()
    show_evaluation(found, Console(file=file, width=width, highlight=False, emoji=False))
    return file.getvalue().splitlines()


ERRORED = report(arms=(arm("baseline", errored=2), arm("with_skill", errored=1)), stopped="cap", late=2)
FOUND = [
    evaluation(),
    evaluation(ERRORED, end=RunEnd(interrupted=True), design="sequential"),
    evaluation(agent_report()),
    evaluation(*(report(f"a-model-with-a-rather-long-name-{number}") for number in range(6))),
    evaluation(agent_report(), agent_report()),
    EVALUATIONS["judged"],
    evaluation(
        bought=Purchase(calls=3, failed_calls=1, tokens=3, cost=0.02, lost=0.01, reused=4, oldest_reused_days=1.0),
        judge=JudgeReport(model="opus", judged=3, compared=2, agreed=1, calls=3, cost=None),
    ),
]


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("found", FOUND)
def test_it_fits_and_uses_no_word_of_the_code(found: Evaluation, width: int) -> None:
    lines = shown(found, width=width)
    assert [line for line in lines if len(line) > width] == []
    assert [line for line in lines if CODE_WORDS.search(line)] == []
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_lift_without_the_judges_errors_is_beside_the_verdict() -> None:
    corrected = (
        "corrected for the judge's errors: +5 points (95% CI -20 to +30; with skill: fails 8% of right answers, "
        "passes 42% of wrong ones; baseline: fails 8% of right answers, passes 3% of wrong ones; 76 answers compared)"
    )
    judged = EVALUATIONS["judged"]
    for found in (judged, replace(judged, students=judged.students * 2)):
        text = "\n".join(shown(found, width=400))
        assert corrected in text
        assert "stopped: decided as judged, and open once the judge's errors are counted" in text


def test_the_seeds_shapes_are_kept() -> None:
    text = "\n".join(shown(evaluation()))
    assert "50% -> 83% (+25%) OK" in text
    assert "baseline   ██████████░░░░░░░░░░   50%" in text
    assert "with skill █████████████████░░░   83%  (+25%)" in text


def test_several_models_stand_in_one_table_with_their_intervals() -> None:
    lines = shown(evaluation(report("haiku"), report("kimi")), width=120)
    header = next(line for line in lines if "Pass Rate" in line)
    names = ["Model", "Pass Rate", "Avg Assertions", "Avg Tokens", "Cost/Task", "Lift (95% CI)"]
    assert [cell.strip() for cell in header.strip("┃").split("┃")] == names
    assert sum("+25% (-5 to +50) helps" in line for line in lines) == 2


def test_a_verdict_stands_beside_the_interval_it_rests_on() -> None:
    narrow = report("kimi", claim="these cases")
    lines = shown(evaluation(report("haiku"), narrow), width=120)
    assert sum("+25% (+10 to +40) helps on these cases" in line for line in lines) == 1


def test_the_rates_of_several_models_stand_under_each_other() -> None:
    first, *others = report("haiku").arms
    hopeless = replace(report("haiku"), arms=(replace(first, passed=0), *others))
    lines = shown(evaluation(hopeless, report("kimi")), width=120)
    assert lines[0].endswith("across 2 models")
    assert re.match(r"\d+ test cases, ", lines[1])
    starts = [line.index("Avg assertions") for line in lines if "Avg assertions" in line][:2]
    assert starts[0] == starts[1], lines


def test_errors_come_last_under_everything_else() -> None:
    lines = shown(evaluation(ERRORED, end=RunEnd(interrupted=True)), width=100)
    assert lines[-2] == "errored, not counted as failures: baseline 2 (2 timeout); with skill 1 (1 timeout)"
    assert lines[-1].startswith("interrupted: ")
    assert lines[-3].startswith("Run kept in ")


def test_the_next_command_fits_what_happened() -> None:
    (only,) = next_steps(evaluation(), skill="skills/x")
    assert only.command.startswith("upskill report runs/2026-11-15-093042-tarnctl-1a2b3c")
    first, _ = next_steps(evaluation(end=RunEnd(interrupted=True)))
    assert first.command.startswith("upskill eval --resume runs/")
    undecided = evaluation(report(verdict="undecided"), case_states=CASE_STATES)
    first, _ = next_steps(undecided, skill="my skills/x")
    assert first.command.startswith("upskill cases check 'my skills/x'")
    invalid = replace(undecided, students=(report(verdict="invalid"),))
    assert next(next_steps(invalid)).what == "put again what errored, and only that"


@pytest.mark.parametrize("verdict", ["undecided", "invalid"])
def test_what_a_budget_stopped_can_go_on_and_nothing_is_said_of_errors(verdict: str) -> None:
    stopped = evaluation(report(verdict=verdict, stopped="budget"), case_states=CASE_STATES)
    first, _ = next_steps(stopped, skill="skills/x")
    assert first.what == "go on where it stopped, for as much again"
    assert first.command.startswith("upskill eval --resume runs/")


def test_figures_that_do_not_fit_beside_each_other_stand_under_each_other() -> None:
    repeated = tuple(replace(one, runs=5, runs_all_passed=2) for one in report().arms)
    lines = shown(evaluation(replace(report(), arms=repeated)), width=80)
    assert any(re.fullmatch(r" +baseline  with skill", line) for line in lines), lines
    assert any(re.fullmatch(r"  Runs All Passed +2/5 +2/5", line) for line in lines), lines
    wide = shown(evaluation(replace(report(), arms=repeated)), width=120)
    assert any(line.endswith("Errored  Runs All Passed") for line in wide)


def test_figures_end_where_their_names_end() -> None:
    lines = shown(evaluation(), width=120)
    number = next(number for number, line in enumerate(lines) if "Avg Tokens" in line)
    head, *rows = lines[number : number + 3]
    for name in ("Passed", "Avg Assertions", "Avg Tokens", "Cost/Task", "Spent", "Errored"):
        end = head.index(name) + len(name)
        assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows), (head, rows)
