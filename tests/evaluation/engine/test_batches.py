"""Evaluations whose questions are asked in batches, against a stand-in for the two interfaces on loopback."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batch_server import BatchServer, Fate, all_ok
from on_engine import CommandResult, Make, Run
from upskill.errors import UsageError

OPENAI, ANTHROPIC = MODELS = ["openai/gpt-4o-mini", "anthropic/claude-3-5-haiku-latest"]
Serve = Callable[..., BatchServer]


def pass_more_with_the_skill(prompt: str, has_skill: bool, times: int) -> str:
    """Passes and fails by chance, the same in every process."""
    return "yes" if random.Random(f"{prompt}{has_skill}{times}").random() < (0.8 if has_skill else 0.4) else "no"


def _expire_first(batch: int, line: int) -> str:
    return "expired" if batch == 1 else "ok"


def _once(server: BatchServer) -> bool:
    """Whether no question was answered, and so charged, twice."""
    return set(server.answered.values()) == {1}


def _compared(result: CommandResult) -> tuple[Any, ...]:
    """What must not depend on the way in which answers are bought."""
    (student,) = result.evaluation.students
    scored = [trial for trial in result.trials if trial.passed is not None]
    return student.verdict, student.lifts, sorted((one.case_id, one.arm, one.repeat, one.answer) for one in scored)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Serve:
    """A server, and a cache and a ledger of its own: or a run would be a second look at the same cases."""
    made: list[BatchServer] = []

    def start(fate: Fate = all_ok, **options: Any) -> BatchServer:
        server = BatchServer(pass_more_with_the_skill, fate=fate, **options)
        made.append(server)
        for name, value in {**server.environment, "XDG_CACHE_HOME": str(tmp_path / f"cache-{len(made)}")}.items():
            monkeypatch.setenv(name, value)
        return server

    return start


@pytest.fixture
def folder(skill: Make) -> Callable[[int], Path]:
    return lambda cases: skill([(f"Question {number}?", {"contains": ["yes"]}) for number in range(cases)])


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_brings_the_verdict_of_single_questions_whatever_happens_on_the_way(
    model: str, folder: Callable[[int], Path], run: Run, serve: Serve
) -> None:
    """The making of the first batch is not confirmed, it expires, and the first download of the second is cut."""
    path = folder(30)
    with serve() as plainly:
        plain = run(path, [OPENAI])
    with serve(_expire_first) as server:
        server.deaf = server.downloads_cut = 1
        batched = run(path, [model], batch=True)
    assert _compared(batched)[0] == _compared(plain)[0]
    assert _compared(batched)[2] == _compared(plain)[2]
    assert len(plainly.single) == 60
    assert not server.single
    assert [len(lines) for lines in server.lines.values()] == [60, 60]
    assert sum(server.answered.values()) == batched.evaluation.bought.calls == 60, "what expired is not charged"
    assert _once(server)


def test_each_look_of_the_design_is_one_batch(folder: Callable[[int], Path], run: Run, serve: Serve) -> None:
    path = folder(12)
    with serve():
        plain = run(path, [OPENAI], repeats=None, concurrency=1)
    with serve() as server:
        batched = run(path, [OPENAI], repeats=None, batch=True)
    assert batched.evaluation.students[0].verdict == plain.evaluation.students[0].verdict
    assert batched.evaluation.students[0].lifts == plain.evaluation.students[0].lifts
    sizes = [len(lines) for lines in server.lines.values()]
    assert 2 <= len(sizes) <= 9
    assert not any(size % 12 for size in sizes), "a look is after half a round or a whole one, in both arms"
    assert sum(sizes) == sum(server.answered.values()) == batched.evaluation.bought.calls


def test_a_cap_on_calls_is_exact_and_a_cap_on_tokens_holds_if_every_answer_is_long(
    folder: Callable[[int], Path], run: Run, serve: Serve
) -> None:
    path = folder(40)
    with serve() as server:
        capped = run(path, [OPENAI], batch=True, max_calls=30)
    assert str(capped.evaluation.end.cap) == "the cap of 30 calls"
    assert sum(server.answered.values()) == 30
    with serve() as server:
        whole = run(path, [OPENAI], batch=True, max_total_tokens=60_000)
    assert whole.evaluation.end.cap is None, "answers were short, so that there was room for all"
    assert len(server.batches) > 2
    assert max(len(lines) for lines in server.lines.values()) < 60_000 / 2048
    with serve() as server:
        run(path, [OPENAI], batch=True, max_total_tokens=5_000)
    assert 0 < sum(server.answered.values()) * 110 <= 5_000


@pytest.mark.parametrize(("model", "cases"), [(OPENAI, 100), (ANTHROPIC, 20)])
def test_200_answers_with_a_client_that_is_killed_twice_are_bought_once(
    model: str, cases: int, folder: Callable[[int], Path], run: Run, serve: Serve, tmp_path: Path
) -> None:
    """Once it is interrupted. An item of the first batch failed, the second expired, results come in another order."""
    path = folder(cases)
    with serve():
        plain = run(path, [OPENAI])

    def fate(batch: int, line: int) -> str:
        return "error" if (batch, line) == (1, 7) else "expired" if batch == 2 else "ok"

    with serve(fate, quick=False) as server:
        command = [sys.executable, "-m", "upskill", "eval"]
        options = ["--batch", "--yes", "--fresh", "--json"]
        for number, arguments in enumerate([[str(path), "-m", model, "--runs", "1", *options], None], 1):
            if arguments is None:
                arguments = ["--resume", str(_newest(tmp_path)), "--json"]
            client = subprocess.Popen([*command, *arguments], cwd=tmp_path, env=dict(os.environ))
            name = server.wait_for_batch(number)
            _wait_until_written(name, tmp_path)
            client.send_signal(signal.SIGINT if (model, number) == (ANTHROPIC, 1) else signal.SIGKILL)
            assert client.wait() in (-signal.SIGKILL, 130)
            server.release()
        _forget_the_name_of_the_last_batch(_newest(tmp_path))
        server.quick = True
        ended = subprocess.run(
            [*command, "--resume", str(_newest(tmp_path)), "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
    result = json.loads(ended.stdout)
    assert [len(lines) for lines in server.lines.values()] == [2 * cases, 1, 1]
    assert sum(server.answered.values()) == 2 * cases
    assert _once(server)
    (student,) = result["students"]
    (lift,) = student["lifts"]
    (expected,) = plain.evaluation.students[0].lifts
    assert result["bought"]["calls"] <= 2 * cases
    assert student["verdict"] == plain.evaluation.students[0].verdict
    assert lift["mean"] == pytest.approx(expected.mean)
    assert lift["pairs"] == expected.pairs == cases


def _newest(folder: Path) -> Path:
    return max((folder / "runs").glob("*-thing-*"), key=lambda one: one.stat().st_mtime)


def _wait_until_written(batch: str, folder: Path) -> None:
    until = time.monotonic() + 30
    while batch not in (_newest(folder) / "batches.json").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


def _forget_the_name_of_the_last_batch(run: Path) -> None:
    """As if the client had been killed before the provider confirmed it."""
    path = run / "batches.json"
    sent = json.loads(path.read_text())
    sent[-1]["id"] = None
    path.write_text(json.dumps(sent))


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ([OPENAI], {"harness": "agent"}, "--batch: agent .* works in many steps"),
        (["groq/llama"], {}, "--batch: groq/llama has no batches"),
        (["any"], {"base_url": "http://127.0.0.1:9/v1"}, "--batch: any has no batches"),
    ],
)
def test_what_has_no_batches_is_refused_by_name(
    models: list[str], options: dict[str, Any], message: str, folder: Callable[[int], Path], run: Run
) -> None:
    with pytest.raises(UsageError, match=message):
        run(folder(6), models, batch=True, **options)
