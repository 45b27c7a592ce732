"""Minutes before the first call: at the pace of the last run like this one, or not at all."""

from dataclasses import replace
from pathlib import Path

import pytest

from made_runs import record
from upskill.core.nouns import Case, Check, Skill, Student, TrialPlan
from upskill.core.runs.records import RunRecord
from upskill.core.runs.run_folders import create_run
from upskill.core.trials.harness import Requests
from upskill.evaluation.estimate import PlanEstimate, estimate_plan, seconds_per_call

STUDENT = Student(name="local", model="openai-api/local/x", endpoint="http://localhost:8080/v1")
PLAN = TrialPlan(
    cases=(Case(id="a", prompt="Which port?", checks=(Check(kind="contains", spec="7413"),)),),
    students=(STUDENT,),
    arms=("baseline", "with_skill"),
    repeats=50,
)
RECORD = record(
    status="finished",
    started_at="2026-11-15T10:00:00+00:00",
    finished_at="2026-11-15T10:05:00+00:00",
    students=(STUDENT,),
    results={"bought": {"calls": 20}},
)


def keep(runs: Path, *records: RunRecord) -> Path:
    for one in records:
        create_run(runs, skill_name="x").write_record(one)
    return runs


def estimate(pace: float | None, most_minutes: float | None = None) -> PlanEstimate:
    skill = Skill(name="x", description="d", body="b", digest="d")
    return estimate_plan(PLAN, Requests(skill), pace=pace, most_minutes=most_minutes)


def test_the_pace_is_that_of_a_run_of_the_same_models(tmp_path: Path) -> None:
    assert seconds_per_call(PLAN.students, PLAN.harness, keep(tmp_path, RECORD)) == 15


@pytest.mark.parametrize(
    "other",
    [
        replace(RECORD, students=(replace(STUDENT, endpoint="http://localhost:9090/v1"),)),
        replace(RECORD, harness="agent/1"),
        replace(RECORD, finished_at=None),
        replace(RECORD, results=None),
        replace(RECORD, results={"bought": {"calls": 3}}),
        replace(RECORD, finished_at="2026-11-15T09:00:00+00:00"),
        replace(RECORD, finished_at="2026-11-20T10:00:00+00:00"),
    ],
    ids=["elsewhere", "with tools", "cut short", "no results", "few calls", "clock set back", "days later"],
)
def test_a_run_that_is_not_like_this_one_has_no_pace(tmp_path: Path, other: RunRecord) -> None:
    assert seconds_per_call(PLAN.students, PLAN.harness, keep(tmp_path, other)) is None


def test_a_damaged_run_is_passed_over(tmp_path: Path) -> None:
    keep(tmp_path, RECORD)
    (tmp_path / "9999-damaged").mkdir()
    (tmp_path / "9999-damaged" / "run.json").write_text("{")
    assert seconds_per_call(PLAN.students, PLAN.harness, tmp_path) == 15


def test_where_no_run_is_like_it_the_time_is_unknown_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    assert seconds_per_call(PLAN.students, PLAN.harness, tmp_path / "none") is None
    assert estimate(None).minutes == "time estimate after the first pair"
    assert not estimate(None).is_much


def test_a_plan_of_more_than_ten_minutes_is_asked_for_and_a_cap_bounds_it() -> None:
    assert estimate(15).minutes == "about 25 min, at most 25, at the pace of the last run"
    assert estimate(15).is_much
    assert not estimate(15, most_minutes=5).is_much
    assert estimate(0.1).minutes == "less than a minute, at the pace of the last run"
