"""Attempts at one evaluation of a sweep: nothing is lost or counted twice, whoever dies, and every error is data."""

import itertools
import json
import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Make
from provider import Behaviour, Provider, ReceivedRequest
from upskill.domain.job import Caps, JobSpending
from upskill.domain.sweep import Assignment, AttemptBegun, AttemptEnd, PlannedJob, SweepPlan, SweepResult
from upskill.storage.sweep_folder import SweepFolder, value_from_text, value_text
from upskill.workflows.sweeping.attempt import run_attempt
from upskill.workflows.sweeping.plan import plan_sweep

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(6)]
ROOM = Caps(max_calls=200, max_total_tokens=1_000_000, max_cost=2.0)


class Sweep:
    """A sweep of one skill, or of several, in a folder."""

    def __init__(self, folder: Path, url: str, **manifest: Any) -> None:
        self.place = folder / "sweep"
        self.folder = SweepFolder(str(self.place))
        self._path = folder / "sweep.toml"
        values = {
            "format": "upskill.sweep/1",
            "skills": ["skills/*/"],
            "students": ["any"],
            "base_url": url,
            "runs": 3,
            "concurrency": 4,
            **manifest,
        }
        self._path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))

    def plan(self) -> tuple[SweepPlan, list[PlannedJob]]:
        plan_sweep(self._path, self.folder)
        return self.folder.plan(), self.folder.jobs()

    def text(self, job: PlannedJob | None = None, caps: Caps = ROOM) -> str:
        plan, jobs = self.plan()
        return value_text(Assignment(at=str(self.place), plan=plan, job=job or jobs[0], caps=caps))

    def attempt(self, job: PlannedJob | None = None, caps: Caps = ROOM) -> AttemptEnd:
        return end_of(run_attempt(self.text(job, caps)))

    def result(self, job: PlannedJob | None = None) -> SweepResult:
        result = self.folder.result((job or self.folder.jobs()[0]).id)
        assert result is not None
        return result


def end_of(text: str) -> AttemptEnd:
    return value_from_text(AttemptEnd, text, where="test")


def answers(asked: ReceivedRequest) -> Behaviour:
    """Depends on the case and on the skill alone; no answer is a copy of another."""
    number = int(asked.prompt.split("Question ")[1].split("?")[0])
    passes = number != 5 if asked.has_skill else number == 0
    return Behaviour(text=f"{'yes' if passes else 'no'}, {asked.number}", latency=0.02)


def told(result: SweepResult) -> dict[str, Any]:
    """What a result says of its models, without times and what was spent."""
    students = json.loads(json.dumps(result.evaluation["students"]))
    for student in students:
        del student["late"]
    return {"students": students, "rows": sorted(result.rows)}


def keys(result: SweepResult) -> Counter[tuple[Any, ...]]:
    return Counter(row[:4] for row in result.rows)


def test_a_job_has_one_result_and_is_not_bought_again(tmp_path: Path, skill: Make) -> None:
    skill(CASES)
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url)
        first, again = sweep.attempt(), sweep.attempt()
        assert len(provider.requests) == 36
    result = sweep.result()
    assert (first.done, again.done) == (True, True)
    assert first.verdicts == again.verdicts == result.summary.verdicts == {"any": "helps"}
    assert (first.spending.calls, again.spending.calls) == (36, 0)
    assert result.charged == result.spending == first.spending
    assert len(result.rows) == 36
    assert set(keys(result).values()) == {1}
    (attempt,) = sweep.folder.attempts(result.id)
    kept = sweep.place / "attempts" / result.id / attempt
    assert sorted(path.name for path in kept.iterdir()) == ["begun.json", "ended.json", "run"]
    assert sorted(path.name for path in (kept / "run").iterdir()) == ["run.json", "skill.json", "trials.jsonl"]
    assert result.evaluation["run"] == f"attempts/{result.id}/{attempt}/run"
    assert list((sweep.place / "scratch").iterdir()) == []


def test_two_attempts_at_the_same_time_write_one_result(tmp_path: Path, skill: Make) -> None:
    skill(CASES)
    ready = threading.Barrier(2, timeout=60)

    def behave(asked: ReceivedRequest) -> Behaviour:
        return answers(asked)

    with Provider(behave) as provider:
        sweep = Sweep(tmp_path, provider.url)
        text = sweep.text()
        context = server()
        with context.Pool(2) as pool:
            ends = [end_of(end) for end in pool.map(run_attempt, [text, text], chunksize=1)]
    result = sweep.result()
    assert all(end.done for end in ends)
    assert ends[0].verdicts == ends[1].verdicts == result.summary.verdicts
    assert sum(end.attempt == result.attempt for end in ends) == 1
    assert set(keys(result).values()) == {1}
    assert result.charged.calls >= max(end.spending.calls for end in ends)
    assert len(list((sweep.place / "results").iterdir())) == 1


def server() -> Any:
    """Processes that begin with the engine loaded: to load it takes seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["upskill.workflows.sweeping.attempt", "inspect_ai"])
    return context


@pytest.mark.once
@pytest.mark.parametrize("runs", [3, "auto"])
def test_kill_9_three_times_loses_nothing_and_buys_again_only_what_was_in_flight(
    tmp_path: Path, skill: Make, runs: Any
) -> None:
    skill(CASES)
    kill_at: list[int] = []
    worker: list[Any] = []

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.number in kill_at:
            worker[0].kill()
        return answers(asked)

    with Provider(behave) as provider:
        undisturbed = Sweep(tmp_path, provider.url, runs=runs)
        assert undisturbed.attempt().done
        bought = len(provider.requests)
        (tmp_path / "sweep").rename(tmp_path / "undisturbed")
        wanted = SweepFolder(str(tmp_path / "undisturbed")).result(undisturbed.folder.jobs()[0].id) if False else None
        sweep = Sweep(tmp_path, provider.url, runs=runs)
        text = sweep.text()
        for nth in (3, 5, 4):
            kill_at[:] = [len(provider.requests) + nth]
            worker[:] = [server().Process(target=run_attempt, args=(text,))]
            worker[0].start()
            worker[0].join()
            assert worker[0].exitcode == -9
        end = sweep.attempt()
        again = len(provider.requests) - 2 * bought
    wanted = SweepFolder(str(tmp_path / "undisturbed")).result(end.id)
    assert wanted is not None
    result = sweep.result()
    assert end.done
    assert 0 <= again <= 3 * 4, "at most the calls in flight at each kill"
    assert set(keys(result).values()) == {1}
    assert told(result) == told(wanted)
    killed = 3 * JobSpending(calls=200, tokens=1_000_000, cost=2.0).calls
    assert result.charged.calls == killed + end.spending.calls
    assert len(list((sweep.place / "attempts" / end.id).iterdir())) == 4
    assert list((sweep.place / "scratch").iterdir()) == [], "what killed attempts left is gone"
