"""Past runs: the one table, and the same as rows."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from upskill.core.nouns import Interval
from upskill.core.nouns.evaluation import PastResult, PastRun
from upskill.report.runs import COLUMNS, run_rows, runs_csv, show_runs


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
        "about": "new cases",
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
    run("3", result(verdict="invalid", lift=0.9), result("kimi", about="these cases")),
    run("2", result(), skill="ropes"),
    run("1", result(lift=0.1, interval=Interval(low=-0.2, high=0.4), verdict="undecided"), digest="aa" * 32),
    run("0", problem="run.json is not JSON", results=()),
]


def test_a_run_is_named_once_and_each_model_has_a_row_newest_first() -> None:
    head, *lines = shown(show_runs, RUNS[:1], width=120)
    assert head.split("  ")[0] == "date"
    assert " ".join(head.split()) == "date skill model without → with lift (95% CI) verdict cost run"
    assert " ".join(lines[0].split()) == "2026-11-15 knots haiku – – – no verdict – 3", "nothing looks like a verdict"
    assert " ".join(lines[1].split()) == "kimi 50% → 75% +25 (+10 to +40)* ▲ helps"
    assert lines[2:] == ["* on these cases only; nothing is shown for new cases of this kind"]


NAMED = "2026-11-15-093042-generate-answer-questions-about-knots-1a2b3c"


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_fits_the_terminal_and_no_run_name_is_cut(width: int) -> None:
    long = result("some/model-with-a-very-long-name-that-goes-on", interval=Interval(low=-1.0, high=1.0), lift=-1.0)
    wide = run(NAMED, long, result("kimi", verdict="no difference"), skill="kernel-builder-cuda-kernels", cost=12.34)
    lines = shown(show_runs, [wide, *RUNS], width=width)
    assert max(map(len, lines)) <= width
    assert sum(NAMED in line for line in lines) == 1
    assert any("−100 (−100 to +100)" in line and "$12.34" in line for line in lines)
    assert any("= no difference" in line for line in lines)


def test_where_there_is_no_room_the_name_of_the_run_stands_above_its_rows() -> None:
    lines = shown(show_runs, [run(NAMED, result(), result("kimi"))])
    assert lines[1] == NAMED
    assert [line.split()[0] for line in lines[2:]] == ["knots", "kimi"]
    other = shown(show_runs, [run("named-" + "by-hand-" * 12, result())])
    assert other[1].startswith("2026-11-15  named-by-hand"), "a name that does not say the date"


def test_a_run_without_figures_says_what_it_is() -> None:
    broken = run("0", problem="run.json is not JSON", results=(), status="unreadable", skill=None, started_at=None)
    stopped = run(NAMED, results=(), sentence="generate, as far as: refined", status="interrupted")
    lines = shown(show_runs, [broken, stopped])
    assert "  run.json is not JSON" in lines
    assert f"{NAMED}  interrupted" in lines
    assert "  knots: generate, as far as: refined" in lines
    assert any(
        "run.json is not JSON" in line and "0  unreadable" in line for line in shown(show_runs, [broken], width=120)
    )


def test_a_comparison_with_an_older_version_is_marked() -> None:
    lines = shown(show_runs, [run("2", result(against="previous"))])
    assert any("50% →  75%†" in line for line in lines)
    assert lines[-1] == "† old version → new version"


def test_an_interval_of_another_confidence_says_so() -> None:
    lines = shown(show_runs, [run("2", result(confidence=0.99))])
    assert any("+25 (99% CI +10 to +40)" in line for line in lines)


def test_the_versions_of_one_skill_take_the_place_of_its_name() -> None:
    file = io.StringIO()
    runs = [one for one in RUNS if one.skill == "knots"]
    show_runs(runs, Console(file=file, width=120, highlight=False, emoji=False), versions=True)
    head, *lines = file.getvalue().splitlines()
    assert head.split()[:2] == ["date", "version"]
    assert [line.split()[1] for line in lines if line.startswith("2026")][:2] == ["5f3a5f3a", "aaaaaaaa"]


def test_what_cannot_draw_signs_gets_letters() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    things = [run("2", result(), result("b", verdict="hurts", against="previous"), result("c", verdict="invalid"))]
    show_runs(things, Console(file=file, width=80, highlight=False, emoji=False))
    file.seek(0)
    head, *lines = file.read().splitlines()
    assert "without -> with" in head
    assert "50% ->  75%   " in lines[1]
    assert [line.split("  ")[-1].strip() for line in lines[2:4]] == ["- hurts", "! no verdict"]
    assert "+ helps" in lines[1]


def test_runs_name_who_answered() -> None:
    served = run("1", result(answered_by=("qwen3-4b", "qwen3-8b")), result("kimi"))
    assert shown(show_runs, [served])[-1] == "haiku (answered by qwen3-4b, qwen3-8b)"
    rows: Any = run_rows([served])
    assert [one["answered_by"] for one in rows[0]["students"]] == [["qwen3-4b", "qwen3-8b"], []]
    assert [row["answered_by"] for row in csv.DictReader(io.StringIO(runs_csv([served])))] == ["qwen3-4b qwen3-8b", ""]


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
