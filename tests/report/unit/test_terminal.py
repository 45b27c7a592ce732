"""The result as people read it: the answer first, in few rows, nothing too wide, errors never left out."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from report.unit.evaluations import (
    ANY,
    CODE_WORDS,
    ERRORED,
    EVALUATIONS,
    JUDGE,
    agent_report,
    arm,
    evaluation,
    report,
)
from report.unit.pages import page
from upskill.core.nouns import Evaluation, JudgeReport, Purchase, RunEnd, StudentReport
from upskill.core.nouns.look import Cap
from upskill.report.json_report import evaluation_json
from upskill.report.junit import junit_report
from upskill.report.markdown import markdown_report
from upskill.report.terminal import most_rows, show_evaluation

ABOVE_AND_BELOW = 3
"""Rows that `eval` needs besides: one on what is measured, two for the next command."""
RUN = "runs/2026-11-15-093042-tarnctl-1a2b3c"


def shown(found: Evaluation, *, width: int = 80, terminal: bool = True, **options: Any) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, no_color=True, highlight=False, emoji=False)
    show_evaluation(found, console, **options)
    return re.sub(r"\x1b\[[\d;]*m", "", file.getvalue()).splitlines()


def rows(lines: list[str], width: int = 80) -> int:
    """As a terminal counts them: what is too wide takes another."""
    return sum(max(1, -(-cell_len(line) // width)) for line in lines)


def troubled(name: str, *, with_tools: bool = False) -> StudentReport:
    """A student with whatever can be said beside a verdict."""
    lost = (
        replace(arm("baseline", errored=12), lost=3, faults=(("timeout", 7), ("rate limit", 3), ("provider", 2))),
        replace(arm("offered" if with_tools else "with_skill", errored=1), lost=46, refused=3, loaded=5),
    )
    return report(
        name,
        arms=lost,
        harness="agent" if with_tools else "chat",
        answered_by=("some-other-model-that-the-server-names-at-length",),
        end="cap reached",
        verdict="undecided",
    )


LONG = "an-organisation-with-a-long-name/a-model-with-an-even-longer-name-instruct-2411"
NOTES = (
    "the skill is offered with 14 files that no student with tools has opened, such as references/first-steps.md",
    "2 cases were left out",
    "9 cases cannot rule out that the skill breaks up to 28% of new cases",
    "18 of 36 answers were cut at 2,048 tokens (with skill 18); UPSKILL_MAX_OUTPUT_TOKENS raises the limit",
    "answers repeat themselves, so each case was asked once; more cases say more, repeats do not",
)


def hard(models: int, *, with_tools: bool = False) -> Evaluation:
    """An evaluation about which there is much to say."""
    students = [troubled(f"{LONG}-{number}", with_tools=with_tools) for number in range(models)]
    about_models = tuple(f"{one.student.name}: a script answers, not a model" for one in students)
    return evaluation(
        *students,
        notes=(*about_models, *NOTES),
        end=RunEnd(interrupted=True),
        required="helps",
        min_lift=0.1,
        judge=JudgeReport(model="opus", judged=3, compared=2, agreed=1, calls=3, cost=None),
        bought=Purchase(calls=3, failed_calls=1, tokens=3, cost=0.02, lost=0.01, reused=4, oldest_reused_days=1.0),
    )


@pytest.mark.parametrize(("models", "most"), [(1, 12), (3, 16), (10, 30)])
@pytest.mark.parametrize("with_tools", [False, True])
def test_the_rows_are_few_whatever_there_is_to_say(models: int, most: int, with_tools: bool) -> None:
    assert most_rows(models) == most
    found = hard(models, with_tools=with_tools)
    lines = shown(found, taken=ABOVE_AND_BELOW)
    long_name = models == 1
    assert rows(lines) + ABOVE_AND_BELOW <= most + long_name, lines
    assert len(shown(found, width=120, terminal=False, taken=ABOVE_AND_BELOW)) + ABOVE_AND_BELOW <= most


@pytest.mark.parametrize("models", [1, 3, 10])
def test_errors_lost_answers_and_what_was_required_are_never_left_out(models: int) -> None:
    text = " ".join(line.strip() for line in shown(hard(models), taken=ABOVE_AND_BELOW))
    assert "interrupted" in text
    assert re.search(r"errored, not counted as failures: |\d+ errored", text)
    assert re.search(rf"lost answers: {3 * models} without|{49 * models} lost", text)
    assert "not met: --require helps" in text
    assert re.search(rf"\d+ more notes: upskill report {RUN} --open", text)


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("found", [*ANY, hard(1), hard(3)])
def test_it_fits_and_uses_no_word_of_the_code(found: Evaluation, width: int) -> None:
    lines = shown(found, width=width)
    assert [line for line in lines if len(line) > width] == []
    assert [line for line in lines if CODE_WORDS.search(line)] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert rows(lines, width) <= most_rows(len(found.students))


def test_the_answer_comes_first_then_the_picture_then_the_rest() -> None:
    lines = shown(evaluation(report(verdict="undecided"), notes=("a", "b")), width=100)
    assert lines[0].startswith("Undecided: haiku goes from 50% to 75% of 6 cases")
    assert "○" in lines[1]
    assert lines[2].startswith("○ without the skill")
    assert lines[3:] == ["spent: price unknown, 36 calls, 9,000 tokens", "note: a", "note: b", f"Run saved in {RUN}"]


def test_three_notes_are_shown_and_the_others_counted() -> None:
    lines = shown(evaluation(notes=tuple("abcde")), width=100)
    assert lines[-5:] == [
        "note: a",
        "note: b",
        "note: c",
        f"2 more notes: upskill report {RUN} --open",
        f"Run saved in {RUN}",
    ]
    assert sum(line.startswith("note: ") for line in shown(evaluation(notes=tuple("abcde")), every_note=True)) == 5


def test_the_cap_that_ended_a_run_is_named_once_and_before_every_other_note() -> None:
    cap = Cap(kind="calls", amount=1)
    found = evaluation(ERRORED, end=RunEnd(cap=cap), notes=("first", "stopped at the cap of 1 call"))
    lines = [line for line in shown(found) if "errored" in line or "stopped at" in line or line.startswith("note")]
    assert lines[0] == "stopped at the cap of 1 call"
    assert sum("stopped at" in line for line in lines) == 1


def test_what_is_the_same_for_several_models_is_said_once() -> None:
    names = ("scripted/a/one.yaml", "scripted/a/two.yaml", "kimi")
    notes = (f"{names[0]}: a script answers", f"{names[1]}: a script answers", "kimi: is slow", "all is well")
    lines = shown(evaluation(*map(report, names), notes=notes), width=100)
    assert lines[-4:-1] == ["note: 2 models: a script answers", "note: kimi: is slow", "note: all is well"]
    assert "note: a script answers" in shown(evaluation(report(names[0]), notes=notes[:1]), width=100)


def test_piped_lines_are_not_wrapped_and_words_never_broken() -> None:
    long = "the sandbox is off, so programs of models run on this machine with your rights; " * 3
    lines = shown(evaluation(notes=(long.strip(),)), width=120, terminal=False)
    assert f"note: {long.strip()}" in lines
    wrapped = [line for line in shown(evaluation(notes=(long.strip(),))) if "rights" in line or "sandbox" in line]
    assert len(wrapped) > 1
    assert " ".join(line.strip() for line in wrapped).count("with your rights;") == 3


def test_errors_of_several_models_are_one_line() -> None:
    lines = shown(evaluation(ERRORED, replace(ERRORED, student=report("kimi").student), report("opus")), width=100)
    assert "errored, not counted as failures: 6 answers of 2 models (a timeout)" in lines
    lines = shown(evaluation(ERRORED), width=100)
    assert "errored, not counted as failures: without the skill 2 (a timeout), with the skill 1 (a timeout)" in lines


def test_a_server_that_names_another_model_is_in_the_first_note() -> None:
    other = report(answered_by=("tiny-1",))
    said = "the server names the model tiny-1 (asked for: haiku)"
    assert said in shown(evaluation(other, notes=tuple("abc")), width=100)
    lines = shown(evaluation(other, report("kimi"), notes=tuple("abc")), width=100)
    assert "model names given by the servers: haiku is tiny-1" in lines


def test_how_often_a_skill_was_loaded_is_said_for_students_with_tools() -> None:
    assert "the skill was loaded in 5 of 6 answers (83%, 95% CI 31% to 98%)" in shown(evaluation(agent_report()))
    assert not [line for line in shown(evaluation()) if "loaded" in line]


def test_the_note_on_the_judge_says_that_the_interval_does_not_include_its_errors() -> None:
    lines = shown(EVALUATIONS["judged"], width=200)
    said = "judge: opus, 36 answers, 36 calls, unknown; agrees with the other checks in 27 of 30 (90%)"
    assert f"{said}; the interval does not include its errors" in lines
    assert "judge: opus, 36 answers, 36 calls, unknown; no answer had other checks to compare it with" in shown(
        EVALUATIONS["judged, agreement unknown"], width=200
    )


def test_a_judge_that_errs_is_shown_however_little_room_there_is() -> None:
    many = {"notes": tuple("abcdefgh"), "required": "helps"}
    judges = [replace(JUDGE, agreed=agreed) for agreed in (26, 27)]
    texts = [" ".join(shown(evaluation(report(verdict="undecided"), judge=one, **many), taken=5)) for one in judges]
    assert ["judge: opus" in text for text in texts] == [True, False]


def test_every_form_names_the_arm_that_lost_answers() -> None:
    arms = (replace(arm("baseline"), lost=2), replace(arm("with_skill"), lost=46, refused=3))
    found = evaluation(report(verdict="invalid", arms=arms))
    said = "lost answers: 2 without, 46 with the skill"
    assert f"{said}; refused requests: 0 without, 3 with the skill" in shown(found, width=100)
    assert said in " ".join(shown(replace(found, students=(found.students[0], report("kimi"))), width=100))
    assert said in markdown_report(found, day="2026-11-15")
    assert 'name="lost_answers" value="2 without, 46 with the skill"' in junit_report(found, ())
    assert "Lost answers: 2 without, 46 with the skill." in page(found)
    written: Any = evaluation_json(found)
    assert [(one["lost"], one["refused"]) for one in written["students"][0]["arms"].values()] == [(2, 0), (46, 3)]
    assert not [line for line in shown(evaluation(), width=100) if "lost" in line or "refused" in line]
