"""Past runs: the matrix, the bars, the history of a skill, and the same as rows."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from upskill.domain import Interval
from upskill.domain.evaluation import PastResult, PastRun
from upskill.reporting.runs_table import (
    COLUMNS,
    found_short,
    newest_results,
    run_rows,
    runs_csv,
    show_bars,
    show_history,
    show_matrix,
)


def result(model: str = "haiku", **changes: Any) -> PastResult:
    values: dict[str, Any] = {
        "model": model,
        "harness": "chat",
        "verdict": "helps",
        "sentence": "helps: so and so",
        "against": "baseline",
        "before": 0.5,
        "arm": "with_skill",
        "after": 0.75,
        "lift": 0.25,
        "interval": Interval(low=0.1, high=0.4),
        "narrow": False,
        "pairs": 18,
        "spent": 0.5,
    }
    return PastResult(**(values | changes))


def run(name: str, *results: PastResult, **changes: Any) -> PastRun:
    values: dict[str, Any] = {
        "folder": f"runs/{name}",
        "status": "finished",
        "skill": "knots",
        "digest": "5f3a" * 16,
        "started_at": "2026-11-15T09:30:00+00:00",
        "results": results or (result(),),
    }
    return PastRun(**(values | changes))


def shown(show: Any, things: Any, *, width: int = 80) -> list[str]:
    file = io.StringIO()
    show(things, Console(file=file, width=width, highlight=False, emoji=False))
    return file.getvalue().splitlines()


RUNS = [
    run("3", result(verdict="invalid", lift=0.9), result("kimi", narrow=True)),
    run("2", result(), skill="ropes"),
    run("1", result(lift=0.1, interval=Interval(low=-0.2, high=0.4), verdict="undecided"), digest="aa" * 32),
    run("0", problem="run.json is not JSON", results=()),
]


def test_the_newest_result_that_is_worth_something_stands_in_the_matrix() -> None:
    assert newest_results(RUNS)["knots", "haiku"][1].lift == 0.1
    assert newest_results(RUNS[:1])["knots", "haiku"][1].verdict == "invalid"
    lines = shown(show_matrix, RUNS)
    assert lines[0].split() == ["skill", "haiku", "kimi"]
    assert lines[1].split("   ")[0] == "knots"
    assert "+10 (−20 to +40) undecided" in lines[1]
    assert "+25 (+10 to +40)* helps" in lines[1]
    assert lines[2].rstrip().endswith("-")
    assert lines[3].startswith("* on these very cases")


def test_a_comparison_with_an_older_version_never_replaces_the_one_with_no_skill() -> None:
    previous = run("2", result(against="previous", lift=0.05), result("kimi", against="previous"))
    known = run("1", result(lift=0.4, verdict="invalid"), digest="aa" * 32)
    newest = newest_results([previous, known])
    assert (newest["knots", "haiku"][1].against, newest["knots", "haiku"][1].lift) == ("baseline", 0.4)
    lines = shown(show_matrix, [previous, known], width=120)
    assert "+40 (+10 to +40) invalid" in lines[1]
    assert "+25 (+10 to +40) helps, against the previous version" in lines[1]


def test_runs_name_who_answered() -> None:
    served = run("1", result(answered_by=("qwen3-4b", "qwen3-8b")), result("kimi"))
    name = "haiku (answered by qwen3-4b, qwen3-8b)"
    assert found_short(served) == f"helps: {name}, kimi"
    assert shown(show_bars, [(served, served.results[0])])[0] == f"knots on {name}, 2026-11-15"
    assert name in shown(show_matrix, [served])
    assert any(name in line for line in shown(show_history, [served], width=200))
    rows: Any = run_rows([served])
    assert [one["answered_by"] for one in rows[0]["students"]] == [["qwen3-4b", "qwen3-8b"], []]
    assert [row["answered_by"] for row in csv.DictReader(io.StringIO(runs_csv([served])))] == ["qwen3-4b qwen3-8b", ""]


def test_models_that_do_not_fit_across_stand_below_each_other() -> None:
    many = [run("1", *(result(f"some/model-with-a-long-name-{number}") for number in range(6)))]
    lines = shown(show_matrix, many)
    assert lines[0].split() == ["skill", "model", "lift"]
    assert len(lines) == 7
    assert max(map(len, lines)) <= 80


def test_bars_are_those_of_an_evaluation() -> None:
    assert shown(show_bars, [(RUNS[1], RUNS[1].results[0])]) == [
        "ropes on haiku, 2026-11-15",
        "  baseline   ██████████░░░░░░░░░░   50%",
        "  with skill ███████████████░░░░░   75%  +25 (+10 to +40) helps",
        "",
    ]


@pytest.mark.parametrize("width", [80, 200])
def test_the_history_has_a_row_per_version_and_model(width: int) -> None:
    lines = shown(show_history, [one for one in RUNS if one.skill == "knots"], width=width)
    assert [line.split()[0] for line in lines[1:] if line[0] != " "] == ["5f3a5f3a", "aaaaaaaa"]
    assert sum("haiku" in line for line in lines) == 2
    assert max(map(len, lines)) <= width


def test_rows_keep_the_keys_that_were_promised() -> None:
    row = run_rows(RUNS)[0]
    assert isinstance(row, dict)
    assert list(row)[:5] == ["started", "skill", "status", "found", "folder"]
    assert row["found"] == "haiku: invalid; kimi: helps"
    assert run_rows(RUNS)[-1]["found"] == "run.json is not JSON"  # type: ignore[index,call-overload]


def test_csv_has_a_row_per_run_and_model_and_no_formula() -> None:
    hostile = run("9", replace(result(), model="=cmd()"), skill="@knots")
    rows = list(csv.DictReader(io.StringIO(runs_csv([*RUNS, hostile]))))
    assert tuple(rows[0]) == COLUMNS
    assert [row["model"] for row in rows] == ["haiku", "kimi", "haiku", "haiku", "", "'=cmd()"]
    assert rows[1]["interval_for"] == "these cases"
    assert rows[-1]["skill"] == "'@knots"


def test_many_models_are_counted_instead_of_named() -> None:
    assert found_short(RUNS[0]) == "invalid: haiku; helps: kimi"
    assert found_short(run("1", *(result(f"m{number}") for number in range(3)))) == "helps: 3 models"
