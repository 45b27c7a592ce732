"""What goes and what stays when old runs are taken away, and what a glance at run folders finds."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from made_runs import make_run, student_json
from upskill.core.runs.run_folders import remove
from upskill.core.runs.run_summaries import past_runs
from upskill.core.runs.trial_log import TrialWriter
from upskill.errors import EngineError
from upskill.evaluation.past_runs import PrunePlan, choose, prune

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def made(runs: Path, name: str, *, days: float = 0, **changes: Any) -> Path:
    return make_run(runs / name, at=(NOW - timedelta(days=days)).isoformat(), **changes)


def chosen(runs: Path, *, days: float | None = None, keep: int | None = None, skill: str | None = None) -> PrunePlan:
    age = None if days is None else timedelta(days=days)
    return choose(past_runs(runs), older_than=age, keep=keep, skills=() if skill is None else (skill,), now=NOW)


def names(pruning: PrunePlan) -> list[str]:
    return [Path(run.folder).name for run in pruning.going]


def test_runs_go_by_age_by_number_and_by_skill(tmp_path: Path) -> None:
    for number, days in enumerate([50, 40, 20, 0]):
        made(tmp_path, f"{number}", days=days, skill="other" if number == 1 else "knots")
    assert names(chosen(tmp_path, days=30)) == ["1", "0"]
    assert names(chosen(tmp_path, days=30, keep=3)) == ["0"]
    assert names(chosen(tmp_path, keep=1)) == ["2", "1", "0"]
    assert names(chosen(tmp_path, keep=0)) == ["3", "2", "1", "0"]
    assert names(chosen(tmp_path, days=30, skill="other")) == ["1"]
    assert names(chosen(tmp_path, days=30, keep=1, skill="knots")) == ["0"]


def test_what_is_removed_is_gone_and_what_it_freed_is_told(tmp_path: Path) -> None:
    made(tmp_path, "old", days=50)
    made(tmp_path, "new")
    pruning = chosen(tmp_path, days=30)
    pruned = prune(pruning)
    assert [one.name for one in tmp_path.iterdir()] == ["new"]
    assert pruned.bytes == pruning.bytes > 1_000
    assert pruned.problems == ()


def test_nothing_is_removed_that_is_no_run_that_cannot_be_read_or_that_lies_elsewhere(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    elsewhere = made(tmp_path / "elsewhere", "mine", days=90)
    runs.mkdir()
    (runs / "link").symlink_to(elsewhere)
    (runs / "notes").mkdir()
    (runs / "notes" / "keep.txt").write_text("mine")
    (runs / "damaged").mkdir()
    (runs / "damaged" / "run.json").write_text("{")
    made(runs, "foreign", days=90, format="other/1")
    made(runs, "timeless", started_at="yesterday", finished_at=None)
    assert names(chosen(runs, days=30)) == []
    assert "link" not in names(chosen(runs, keep=0))
    with pytest.raises(EngineError, match="not a run folder"):
        remove(runs / "link")
    with pytest.raises(EngineError, match="not a run folder"):
        remove(runs / "notes")
    assert (elsewhere / "run.json").exists()


def test_a_run_that_is_written_to_stays_and_one_that_was_killed_goes(tmp_path: Path) -> None:
    alive, killed, fresh = (
        made(tmp_path, name, days=40, status="running", finished_at=None) for name in ("alive", "killed", "fresh")
    )
    hours_ago = time.time() - 7_200
    for folder in (alive, killed):
        for file in folder.iterdir():
            os.utime(file, (hours_ago, hours_ago))
    with TrialWriter(alive / "trials.jsonl"):
        os.utime(alive / "trials.jsonl", (hours_ago, hours_ago))
        pruning = chosen(tmp_path, days=30)
    assert names(pruning) == ["killed"]
    assert {Path(run.folder).name for run in pruning.at_work} == {"alive", fresh.name}


@pytest.mark.parametrize(
    "written",
    [
        "[]",
        "null",
        "[" * 100_000,
        '{"format": "upskill.run/1"}',
        '{"format": "upskill.run/1", "results": {"students": [1, {}, {"lifts": [3], "arms": []}]}}',
        '{"format": "upskill.run/1", "skill_name": "a\\u001b[2J", "results": {"students": 5}}',
        '{"format": "upskill.run/1", "results": {"students": [{"lifts": [{"mean": 1e999, "interval": [1]}]}]}}',
    ],
)
def test_a_glance_bears_whatever_is_written(tmp_path: Path, written: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "run.json").write_text(written)
    (run,) = past_runs(tmp_path)
    assert run.status == "unreadable"
    assert (run.skill or "").isprintable()
    assert all(result.lift is None for result in run.results)


def test_a_glance_takes_the_interval_with_what_it_is_about(tmp_path: Path) -> None:
    made(tmp_path, "x", results={"students": [student_json()]})
    ((result,),) = (run.results for run in past_runs(tmp_path))
    assert result.interval is not None
    assert (result.interval.low, result.about) == (-0.05, "new cases")
