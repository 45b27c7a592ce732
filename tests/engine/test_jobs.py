"""Jobs: evaluations as plain data. The same results in any process, and errors that come back as data."""

import json
import multiprocessing
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Make
from provider import Behaviour, Provider, ReceivedRequest
from upskill.domain.job import Caps, Job, JobResult
from upskill.storage.records import job_text, result_from_text
from upskill.workflows.evaluating.executor import Executor, InProcess, ProcessPool
from upskill.workflows.evaluating.job import run_job

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(4)]
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+(\+00:00|Z)?")


def _job(skill: Path, student: str, run: str, **values: Any) -> Job:
    return Job(skill=str(skill), students=(student,), run=run, **{"caps": Caps(max_calls=100), "runs": 2, **values})


def _measured(executor: Executor, root: Path, jobs: Iterable[Job]) -> dict[str, tuple[str, list[str]]]:
    """What each job gave, its result and its trials, without what names times, durations and places."""
    results = {str(result.run): result for result in executor.run(jobs)}
    return {run: (_plain(result), sorted(_trials(root / run))) for run, result in results.items()}


def _plain(result: JobResult) -> str:
    text = json.dumps(dict(result.evaluation or {}), sort_keys=True)
    assert result.error is None
    assert result.exit_code == 0
    return MOMENT.sub("T", f"{text} {result.spending}")


def _trials(run: Path) -> Iterable[str]:
    for line in (run / "trials.jsonl").read_text().splitlines():
        yield json.dumps(
            {key: value for key, value in json.loads(line).items() if key not in ("seconds", "finished_at")}
        )


@pytest.mark.full
def test_twelve_jobs_in_two_spawned_processes_give_what_twelve_in_one_give(
    tmp_path: Path, skill: Make, script: Any
) -> None:
    student = script(
        {"arm": "with_skill", "replies": [{"text": "yes", "weight": 3}, "no"]}, {"replies": [{"text": "no"}, "yes"]}
    )
    folders = [skill(CASES, body=f"Version {n}.\n", name=f"v{n}") for n in range(12)]

    def measure(executor: Callable[[Path], Executor], root: str) -> dict[str, tuple[str, list[str]]]:
        place = tmp_path / root
        place.mkdir()
        jobs = [
            _job(
                folder, student, f"runs/{folder.name}", store=f"stores/{folder.name}", runs=(1, 2, None)[n % 3], seed=n
            )
            for n, folder in enumerate(folders)
        ]
        return _measured(executor(place), place, jobs)

    here = measure(lambda root: InProcess(root=root), "one")
    there = measure(lambda root: ProcessPool(root=root, workers=2), "two")
    assert len(here) == 12
    assert there == here
    assert len({text for text, _ in here.values()}) > 1, "they are not all alike"


def test_a_job_runs_again_without_buying_anything_and_counts_what_it_spent(tmp_path: Path, skill: Make) -> None:
    folder = skill(CASES)
    before = Path.cwd(), dict(os.environ)
    with Provider(lambda asked: Behaviour(text="yes" if asked.has_skill else "no")) as provider:
        job = _job(folder, "any", "run", settings={"base_url": provider.url}, store="trials.sqlite3", runs=1)
        first, again = (result_from_text(run_job(job_text(job), root=str(tmp_path))) for _ in range(2))
        elsewhere = result_from_text(run_job(job_text(replace(job, run="other")), root=str(tmp_path)))
        assert len(provider.requests) == 8
    assert first.spending.calls == again.spending.calls == 8
    assert first.evaluation
    assert again.evaluation
    assert elsewhere.evaluation
    assert again.evaluation["students"] == first.evaluation["students"]
    assert elsewhere.evaluation["bought"]["reused"] == 8, "the store that the job names"
    assert first.evaluation["run"] == "run", "as seen from the root"
    assert (Path.cwd(), dict(os.environ)) == before


def test_the_share_of_a_job_holds_over_all_its_attempts(tmp_path: Path, skill: Make) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text="yes") if asked.number < 3 else Behaviour(status=400)

    with Provider(behave) as provider:
        job = _job(skill(CASES), "any", "run", settings={"base_url": provider.url}, caps=Caps(max_calls=10), runs=1)
        for _ in range(3):
            result = result_from_text(run_job(job_text(job), root=str(tmp_path)))
        assert len(provider.requests) == 10
    assert result.spending.calls == 10
    assert result.evaluation is not None
    assert "stopped at the cap of 10 calls" in json.dumps(dict(result.evaluation))


@pytest.mark.once
def test_a_job_whose_worker_is_killed_is_run_again_and_loses_nothing(tmp_path: Path, skill: Make) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.number == 3:
            for worker in multiprocessing.active_children():
                worker.kill()
        return Behaviour(text="yes" if asked.has_skill else "no")

    with Provider(behave) as provider:
        job = _job(skill(CASES), "any", "run", settings={"base_url": provider.url, "concurrency": 1}, runs=1)
        (result,) = ProcessPool(root=tmp_path, workers=1).run([job])
        assert 9 <= len(provider.requests) <= 10, "what was under way is bought again"
    assert result.evaluation
    assert [arm["trials"] for arm in result.evaluation["students"][0]["arms"].values()] == [4, 4]
    assert len(list(_trials(tmp_path / "run"))) == 8


@pytest.mark.once
def test_no_job_is_lost_where_a_worker_dies_between_two(tmp_path: Path, skill: Make, script: Any) -> None:
    folder, student = skill(CASES), script({"replies": ["yes"]})
    results = ProcessPool(root=tmp_path, workers=1).run(_job(folder, student, run, runs=1) for run in ("a", "b", "c"))
    first = next(results)
    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()
    assert [first.run, *(result.run for result in results)] == ["a", "b", "c"]


def test_a_job_keeps_no_key_and_uses_no_store_but_its_own(
    tmp_path: Path, skill: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", "sk-of-the-user-0123456789")
    with Provider() as provider:
        settings = {"base_url": provider.url, "aliases": {"student": "sk-of-the-user-0123456789"}}
        job = _job(skill(CASES), "any", "run", settings=settings, runs=1, store=str(tmp_path / "own.sqlite3"))
        for attempt in (job, replace(job, store=None)):
            result = result_from_text(run_job(job_text(attempt), root=str(tmp_path)))
            assert result.error is None
    assert (tmp_path / "own.sqlite3").exists()
    assert not (tmp_path / "cache").exists()
    assert "sk-of-the-user" not in (tmp_path / "run" / "job.json").read_text()


def test_a_share_of_nothing_sends_nothing(tmp_path: Path, skill: Make) -> None:
    with Provider() as provider:
        job = _job(skill(CASES), "any", "run", settings={"base_url": provider.url}, caps=Caps(max_calls=0))
        result = result_from_text(run_job(job_text(job), root=str(tmp_path)))
        assert provider.requests == []
    assert result.error is None
    assert result.spending.calls == 0


def test_a_run_folder_belongs_to_one_job(tmp_path: Path, skill: Make, script: Any) -> None:
    job = _job(skill(CASES), script({"replies": ["yes"]}), "run", runs=1)
    executor = InProcess(root=tmp_path)
    (first,) = executor.run([job])
    larger, other = executor.run([replace(job, caps=Caps()), replace(job, seed=1)])
    assert first.error is None
    assert larger.error is None
    assert other.error is not None
    assert (other.error.kind, other.exit_code) == ("UsageError", 2)
    assert "another job" in other.error.message


def test_errors_come_back_as_data_with_their_exit_code(tmp_path: Path, skill: Make) -> None:
    folder = skill(CASES)
    broken = skill(CASES, name="broken")
    (broken / "SKILL.md").write_text("no frontmatter")
    jobs = {
        "SkillInvalid": _job(broken, "any", "a"),
        "UsageError": replace(_job(folder, "any", "b"), students=()),
        "SettingsError": _job(folder, "any", "c", settings={"concurrency": 0}),
        "ProviderError": _job(folder, "any", "d", settings={"base_url": "http://127.0.0.1:9/v1"}),
    }
    results = {kind: next(InProcess(root=tmp_path).run([job])) for kind, job in jobs.items()}
    assert {kind: result.error.kind for kind, result in results.items() if result.error} == {
        kind: kind for kind in jobs
    }
    assert [result.exit_code for result in results.values()] == [2, 2, 3, 3]
    assert all(result.evaluation is None and result.spending.calls == 0 for result in results.values())
