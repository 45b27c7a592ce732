"""Attempts at one evaluation of a sweep: nothing is lost or counted twice, whoever dies, and every error is data."""

import json
import threading
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_sweeps import ATTEMPT
from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from sweep.engine.attempted import (
    CASES,
    ROOM,
    Sweep,
    answers,
    assert_nothing_was_lost,
    disturbed,
    end_of,
    keys,
    server,
)
from typing_again import typed_again
from upskill.core.models.retrying import RateLimit
from upskill.core.runs.records import read_run
from upskill.errors import EngineError
from upskill.evaluation.resume import resume
from upskill.report.json_report import evaluation_json
from upskill.sweep import attempt as bought
from upskill.sweep.attempt import run_attempt
from upskill.sweep.files import SweepFolder, value_text
from upskill.sweep.report import report_sweep
from upskill.sweep.values import Assignment, Caps, JobSpending, SweepResult


def test_a_job_has_one_result_and_is_not_bought_again(tmp_path: Path, skill: Make) -> None:
    skill([(f"Question {n}?", {"contains": "yes"}) for n in range(8)])
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url)
        first, again = sweep.attempt(), sweep.attempt()
        assert len(provider.requests) == 48
    result = sweep.result()
    assert (first.done, again.done) == (True, True)
    assert first.verdicts == again.verdicts == result.summary.verdicts == {"any": "helps"}
    assert (first.spending.calls, again.spending.calls) == (48, 0)
    assert result.charged == result.spending == first.spending
    assert len(result.rows) == 48
    assert set(keys(result).values()) == {1}
    (attempt,) = sweep.folder.attempts(result.id)
    kept = sweep.place / "attempts" / result.id / attempt
    assert sorted(path.name for path in kept.iterdir()) == ["begun.json", "ended.json", "run"]
    assert sorted(path.name for path in (kept / "run").iterdir()) == ["run.json", "skill.json", "trials.jsonl"]
    assert result.evaluation["run"] == f"attempts/{result.id}/{attempt}/run"
    assert not (sweep.place / "scratch").exists()
    assert report_sweep(str(sweep.place)).problems == ()


@pytest.mark.full
def test_two_attempts_at_the_same_time_write_one_result(tmp_path: Path, skill: Make) -> None:
    skill(CASES)
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1)
        text = sweep.text()
        with server().Pool(2) as pool:
            ends = [end_of(end) for end in pool.map(run_attempt, [text, text], chunksize=1)]
    result = sweep.result()
    assert all(end.done for end in ends)
    assert ends[0].verdicts == ends[1].verdicts == result.summary.verdicts
    assert sum(end.attempt == result.attempt for end in ends) == 1
    assert set(keys(result).values()) == {1}
    assert result.charged.calls >= max(end.spending.calls for end in ends)
    assert len(list((sweep.place / "results").iterdir())) == 1


@pytest.mark.once
@pytest.mark.parametrize("runs", [pytest.param(3, marks=pytest.mark.full), "auto"])
def test_kill_9_three_times_loses_nothing_and_buys_again_only_what_was_in_flight(
    tmp_path: Path, skill: Make, runs: Any
) -> None:
    skill(CASES)
    sweep, wanted, end, again = disturbed(tmp_path, str(tmp_path / "sweep"), runs=runs, context=server())
    assert_nothing_was_lost(sweep, wanted, end, again)


def test_what_a_cap_cuts_short_is_no_result_and_goes_on_where_it_ended(tmp_path: Path, skill: Make) -> None:
    skill(CASES)
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, logs="all")
        first = sweep.attempt(caps=Caps(max_calls=5))
        assert len(provider.requests) == 5
        assert sweep.folder.done() == set()
        kept = sweep.folder.ended(first.id, first.attempt)
        second = sweep.attempt()
        assert len(provider.requests) == 36
    assert (first.done, first.why) == (False, "any: stopped at the cap of 5 calls")
    assert first.evaluation is not None
    assert kept == first
    assert second.done
    result = sweep.result()
    assert set(keys(result).values()) == {1}
    assert (second.spending.calls, result.charged.calls) == (31, 36)
    files = sweep.folder.attempts(first.id)
    assert not any(name.startswith("0") for names in files.values() for name in names), "the result has it all"
    assert all(any(name.startswith("run/logs/") for name in names) for names in files.values())


@pytest.mark.parametrize("fault", ["reset", "refused"])
def test_answers_that_errored_are_tried_again_and_losses_count_as_on_one_machine(
    tmp_path: Path, skill: Make, run: Any, fault: str
) -> None:
    """A lost answer counts for ever, so that no retry can turn an invalid evaluation into a valid one."""
    folder = skill(CASES)
    ill = [True]

    def behave(asked: ReceivedRequest) -> Behaviour:
        if ill and asked.has_skill and int(asked.prompt[9:-1]) < 3:
            return Behaviour(fault="reset") if fault == "reset" else Behaviour(status=500)
        return answers(asked)

    with Provider(behave) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1, max_retries=0)
        first = sweep.attempt()
        alone = run(folder, ["any"], base_url=provider.url, max_retries=0, concurrency=4)
        ill.clear()
        before = len(provider.requests)
        second = sweep.attempt()
        assert len(provider.requests) == before + 3, "what was scored is not bought again"
        resumed = resume(alone.run, typed=typed_again(alone.run, max_retries=0))
    assert not first.done
    assert (first.why or "").startswith("any: invalid: no verdict: ")
    assert second.done is (fault == "refused")
    said = sweep.result().evaluation if second.done else second.evaluation
    assert said is not None
    mine, theirs = said["students"][0], json.loads(json.dumps(evaluation_json(resumed)))["students"][0]
    assert mine["verdict"] == theirs["verdict"] == ("undecided" if fault == "refused" else "invalid")
    assert mine["sentence"] == theirs["sentence"]
    assert mine["arms"]["with_skill"]["lost"] == theirs["arms"]["with_skill"]["lost"]


def test_a_second_version_is_tested_as_strictly_as_upskill_eval_would(tmp_path: Path, skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs="auto")
        ends, levels, alone = [], [], []
        for body in ("Say so.\n", "Say so, then.\n"):
            (folder / "SKILL.md").write_text(f"---\nname: thing\ndescription: Does a thing.\n---\n{body}")
            ends.append(sweep.attempt())
            record = read_run(sweep.place / "attempts" / ends[-1].id / ends[-1].attempt / "run")
            levels.append(record.looks["any"])
            command = run(folder, ["any"], base_url=provider.url, repeats=None, ledger="looks.jsonl", concurrency=4)
            alone.append(read_run(command.run).looks["any"])
        asked = len(provider.requests)
        assert sweep.attempt().done
        assert len(provider.requests) == asked, "an unchanged skill is not looked at again"
    assert all(end.done for end in ends)
    assert levels[1].level < levels[0].level
    assert [one.level for one in levels] == [one.level for one in alone]
    results = [sweep.folder.result(end.id) for end in ends]
    looks = [look for result in results if result is not None for look in result.looks]
    assert [look["run"] for look in looks] == [f"attempts/{end.id}/{end.attempt}" for end in ends]


def test_winners_among_forty_cases_are_confirmed_on_those_that_did_not_choose_them(tmp_path: Path, skill: Make) -> None:
    cases = [(f"Question {n}?", {"contains": "yes"}) for n in range(40)]
    skill(cases)
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1)
        plan, (job,) = sweep.plan()
        assert job.cases == 20
        assert sweep.attempt(job).done
        winners = job.confirmation(["any"], seed=plan.seed + 1)
        assert sweep.attempt(winners).done
        first, second = ({row[1] for row in sweep.result(one).rows} for one in (job, winners))
        assert (len(first), len(second), first & second) == (20, 20, set())
        alone = Sweep(tmp_path, provider.url, runs=1, confirm=False)
        assert alone.plan()[1][0].cases == 40


def test_a_confirmation_is_fresh_and_counts_no_look(tmp_path: Path, skill: Make) -> None:
    skill(CASES)
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs="auto")
        first = sweep.attempt()
        bought = len(provider.requests)
        plan, (job,) = sweep.plan()
        again = sweep.attempt(job.confirmation(["any"], seed=plan.seed + 1))
        assert len(provider.requests) >= 2 * bought - 8, "all answers are new"
    result = sweep.folder.result(again.id)
    assert result is not None
    assert (result.confirms, result.looks) == (first.id, ())
    record = read_run(sweep.place / "attempts" / again.id / again.attempt / "run")
    assert record.seed == plan.seed + 1
    assert record.looks == {}


def test_no_object_holds_a_key_of_the_user(tmp_path: Path, skill: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-of-the-user-0123456789"
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", key)
    skill(CASES[:1], body=f"The key is {key}.\n")

    def behave(asked: ReceivedRequest) -> Behaviour:
        assert key in asked.headers["authorization"]
        return Behaviour(text=f"yes, and your key is {key}", model=key)

    with Provider(behave) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1, logs="all")
        end = run_attempt(sweep.text())
    assert end_of(end).done
    assert key not in end
    objects = {path: path.read_bytes() for path in sweep.place.rglob("*") if path.is_file()}
    logs = [path for path in objects if path.suffix == ".eval"]
    assert logs
    for path in logs:
        with zipfile.ZipFile(path) as log:
            objects |= {path / name: log.read(name) for name in log.namelist()}
    archive = next(path for path in objects if path.suffix == ".tar")
    assert key.encode() in objects.pop(archive), "what the user wrote into the skill is measured as it is"
    assert [path for path, data in objects.items() if key.encode() in data] == []


DEEP = b"[" * 100_000 + b"]" * 100_000
OTHER = "0" * 32


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("results/ID.json", b"\x00garbage\x1b[2J"),
        ("results/ID.json", DEEP),
        ("results/ID.json", b"{}"),
        ("attempts/ID/ATTEMPT/begun.json", b"\xff"),
        ("attempts/ID/ATTEMPT/begun.json", b'{"caps": {"max_calls": -1}, "host": "", "at": ""}'),
        ("attempts/ID/ATTEMPT/ended.json", DEEP),
        ("attempts/ID/ATTEMPT/ended.json", b'{"id": "", "attempt": "", "done": false, "spending": {"calls": -1000}}'),
        ("attempts/ID/ATTEMPT/000001.jsonl", b"garbage\n"),
        ("attempts/ID/ATTEMPT/000001.jsonl", DEEP + b"\n"),
        ("attempts/ID/ATTEMPT/ended.json", b'{"id": "ID", "attempt": "b", "done": true}'),
        ("inputs/INPUT.tar", b"garbage"),
    ],
)
def test_a_hostile_file_ends_in_one_clear_line_before_anything_is_bought(
    tmp_path: Path, skill: Make, name: str, data: bytes
) -> None:
    skill(CASES[:1])
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1)
        text = sweep.text()
        (job,) = sweep.folder.jobs()
        path = sweep.place / name.replace("ID", job.id).replace("ATTEMPT", ATTEMPT).replace("INPUT", job.input)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        end = end_of(run_attempt(text))
        assert provider.requests == []
    assert not end.done
    assert end.error == "EngineError"
    assert end.why is not None
    assert end.why.isprintable()
    assert path.name in end.why
    assert len(end.why) < 1_000


@pytest.mark.parametrize("students", [3, [3], [{"verdict": "helps"}], {"a": 1}])
def test_a_result_without_verdicts_is_not_taken(tmp_path: Path, students: Any) -> None:
    result = SweepResult(
        id=OTHER, skill="a", name="a", version="v", students=("any",), attempt="a", evaluation={"students": students},
        rows=(), spending=JobSpending(), charged=JobSpending(), finished_at="",
    )  # fmt: skip
    folder = SweepFolder(str(tmp_path))
    folder.objects.create(f"results/{OTHER}.json", value_text(result).encode())
    with pytest.raises(EngineError, match=r"results/0+\.json: cannot be read: it has no verdicts"):
        folder.result(OTHER)


def test_the_result_of_another_job_is_not_taken(tmp_path: Path, skill: Make) -> None:
    skill(CASES[:1])
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1)
        assert sweep.attempt().done
        result = sweep.result()
        sweep.folder.objects.replace(f"results/{result.id}.json", value_text(replace(result, id=OTHER)).encode())
        end = sweep.attempt()
    assert end.why is not None
    assert end.why.endswith(f"is the result of another job ({OTHER})")


def test_errors_come_back_as_data_and_spend_nothing(tmp_path: Path, skill: Make) -> None:
    skill(CASES[:1])
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1)
        plan, (job,) = sweep.plan()
        given = Assignment(at=str(sweep.place), plan=plan, job=job, caps=ROOM)
        (student,) = plan.students
        gone = "http://127.0.0.1:9/v1"
        moved = replace(student, endpoint=gone)
        cases = {
            "EngineError": replace(given, job=replace(job, input=OTHER)),
            "UsageError": replace(given, plan=replace(plan, students=(replace(student, served="another"),))),
            "SettingsError": replace(given, plan=replace(plan, settings={**plan.settings, "concurrency": 0})),
            "ProviderError": replace(given, plan=replace(plan, settings={"base_url": gone}, students=(moved,))),
        }
        ends = {kind: end_of(run_attempt(value_text(one))) for kind, one in cases.items()}
        strange = end_of(run_attempt("{}"))
        other_seed = end_of(run_attempt(value_text(replace(given, plan=replace(plan, seed=7)))))
        assert provider.requests == []
    assert {kind: end.error for kind, end in ends.items() if end.error} == {kind: kind for kind in cases}
    assert all(end.spending == JobSpending() and not end.done for end in ends.values())
    assert "served by another model" in (ends["UsageError"].why or "")
    assert "the assignment: cannot be read" in (strange.why or "")
    assert "would ask something else" in (other_seed.why or "")


def test_requests_keep_the_pace_that_the_worker_was_given(tmp_path: Path, skill: Make) -> None:
    skill(CASES[:3])
    with Provider(answers) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=1)
        plan, (job,) = sweep.plan()
        limits = {"any": RateLimit(requests_per_minute=120)}
        given = Assignment(at=str(sweep.place), plan=plan, job=job, caps=ROOM, limits=limits)
        assert end_of(run_attempt(value_text(given))).done
        times = [asked.at for asked in provider.requests]
    assert times[-1] - times[0] >= 1.5, "five times half a second, less what the first one took to connect"


def test_a_store_that_takes_nothing_more_ends_the_attempt(
    tmp_path: Path, skill: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill(CASES)
    monkeypatch.setattr(bought, "PAUSES", (0.01,))
    full = threading.Event()

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.number == 8:
            full.set()
        return answers(asked)

    def keep(folder: SweepFolder, job: str, attempt: str, number: int, lines: bytes) -> None:
        if full.is_set():
            raise EngineError("the store takes nothing more")
        kept(folder, job, attempt, number, lines)

    kept = SweepFolder.keep_trials
    monkeypatch.setattr(SweepFolder, "keep_trials", keep)
    with Provider(behave) as provider:
        sweep = Sweep(tmp_path, provider.url)
        end = sweep.attempt()
        assert len(provider.requests) < 30, "nothing more is bought"
        assert end.spending.calls == len(provider.requests)
    assert (end.done, end.why) == (False, "the store takes nothing more")
    assert sweep.folder.ended(end.id, end.attempt) == end
