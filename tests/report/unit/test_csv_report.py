"""The CSV: one row per trial, readable by any reader, harmless in a spreadsheet."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from report.unit.evaluations import SKILL, errored, evaluation, scored
from upskill.core.nouns import SkillUse, Trial
from upskill.core.nouns.text import visible
from upskill.report.formats import COLUMNS, csv_report, trial_rows

TEXT = st.tuples(
    st.sampled_from(["", *"=+-@\t\r'\"\n,; "]), st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
).map("".join)


def rows(*trials: Trial) -> list[dict[str, str]]:
    text = csv_report(evaluation(), trials)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_columns_and_their_order_are_a_promise() -> None:
    assert csv_report(evaluation(), []) == (
        "student,case,arm,repeat,outcome,end,fault,passed,checks_passed,checks,input_tokens,output_tokens,cost,seconds,"
        "calls,served_model,trial,skill,skill_digest,run,turns,skill_loaded,skill_files,files_left,"
        "load_turn,other_skills\r\n"
    )


def test_a_scored_trial_is_a_row_with_its_figures() -> None:
    (_, row) = csv_report(evaluation(), [scored(False, case="c7", arm="baseline", repeat=2)]).splitlines()
    assert row == (
        "haiku,c7,baseline,2,scored,answered,,false,1,2,10,5,1e-05,0.25,1,haiku-1,haiku-c7-baseline-2,tarnctl,"
        f"{SKILL.digest},runs/2026-11-15-093042-tarnctl-1a2b3c,,,,,,"
    )


def test_a_trial_with_tools_says_what_became_of_the_skill_and_how_many_files_it_left() -> None:
    use = SkillUse(listed=True, loaded=True, files=("SKILL.md", "scripts/a.py"), turn=2, others=("b", "c"))
    (row,) = rows(replace(scored(arm="offered"), turns=4, skill_use=use, files={"port.txt": b"1"}))
    wanted = {"turns": "4", "skill_loaded": "true", "skill_files": "SKILL.md scripts/a.py", "files_left": "1"}
    wanted |= {"load_turn": "2", "other_skills": "b c"}
    assert {name: row[name] for name in wanted} == wanted
    (row,) = rows(replace(scored(arm="baseline"), turns=1))
    assert (row["skill_loaded"], row["files_left"]) == ("", "0"), "a baseline has no skill to load"


def test_an_errored_trial_has_a_fault_and_no_score() -> None:
    (row,) = rows(errored("rate limit"))
    assert (row["outcome"], row["fault"], row["calls"]) == ("errored", "rate limit", "4")
    unknown = ("end", "passed", "checks_passed", "checks", "input_tokens", "output_tokens", "cost", "seconds")
    assert {row[name] for name in (*unknown, "served_model")} == {""}


def test_zero_is_a_measurement_and_not_empty() -> None:
    trial = scored(False)
    (row,) = rows(replace(trial, usage=replace(trial.usage, output_tokens=0, cost=0.0), seconds=0.0))
    assert (row["output_tokens"], row["cost"], row["seconds"]) == ("0", "0.0", "0.0")


def test_trials_are_gone_through_once_and_keep_their_order() -> None:
    def once() -> Iterator[Trial]:
        for repeat in (3, 1, 2):
            yield scored(repeat=repeat)

    text = csv_report(evaluation(), once())
    assert [line.split(",")[3] for line in text.split("\r\n")[1:-1]] == ["3", "1", "2"]


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_can_be_taken_for_a_formula(begin: str) -> None:
    (row,) = rows(replace(scored(case=f"{begin}cmd|' /C calc'!A0"), student=f"{begin}1", served_model=f"{begin}x"))
    assert [row[name][:2] for name in ("student", "case", "served_model")] == [f"'{visible(begin)[0]}"] * 3


@example(student="'", case="'=1", served="''", run="'x")
@given(student=TEXT, case=TEXT, served=TEXT, run=TEXT)
def test_any_text_comes_back_visible_and_no_cell_begins_a_formula(
    student: str, case: str, served: str, run: str
) -> None:
    trials = [replace(scored(), student=student, case_id=case, served_model=served), scored()]
    text = csv_report(evaluation(run=run), trials)
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert [len(row) for row in read] == [len(COLUMNS)] * 3
    assert not [cell for row in read for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    first = {name: cell.removeprefix("'") for name, cell in zip(COLUMNS, read[1], strict=True)}
    came_back = [first[name] for name in ("student", "case", "served_model", "run")]
    assert came_back == [visible(text) for text in (student, case, served, run)]


def test_nothing_in_a_cell_acts_on_a_terminal() -> None:
    (row,) = rows(replace(scored(), served_model="m\x1b]0;x\x07\x9b\u202e\n"))
    assert row["served_model"] == r"m\x1b]0;x\x07\x9b\u202e\n"


def test_half_a_character_can_still_be_written() -> None:
    (row,) = rows(replace(scored(), served_model="half \ud83d"))
    assert row["served_model"] == "half ?"


def test_rows_hold_the_values_as_they_are() -> None:
    trial = replace(scored(), case_id="=1+1", repeat=2, served_model="-m")
    (row,) = trial_rows(evaluation(), [trial])
    assert tuple(row) == COLUMNS
    assert (row["case"], row["served_model"], row["repeat"], row["passed"]) == ("=1+1", "-m", 2, True)
    (row,) = trial_rows(evaluation(), [errored()])
    assert (row["outcome"], row["passed"], row["checks"], row["turns"]) == ("errored", None, None, None)
