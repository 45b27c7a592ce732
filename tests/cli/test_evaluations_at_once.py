"""Evaluations of one skill at once, as real processes: each answer is bought once, also when one of them is killed."""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from forking import COMMAND
from provider import Behaviour, Provider, ReceivedRequest

CASES = 6
CALLS = CASES * 2
"""Of one evaluation: two arms, one repeat."""


@pytest.fixture
def port_skill(here: Path) -> Path:
    folder = here / "port"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: port\ndescription: Knows the port.\n---\nThe port is 7413.\n")
    cases = [{"id": f"c{n}", "input": f"{'abcdef'[n] * 9}?", "expected": {"contains": "7413"}} for n in range(CASES)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return folder


def _answer(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"{'7413' if asked.has_skill else 'no'}, said as number {asked.number}", latency=0.5)


def _started(here: Path, environment: dict[str, str], url: str, *words: str) -> "subprocess.Popen[str]":
    command = [COMMAND, "eval", "port", "-m", "any", "--base-url", url, "--runs", "1", "--json", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=here, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )


def _results(here: Path, environment: dict[str, str], url: str, *words: str, count: int = 3) -> list[dict[str, Any]]:
    started = [_started(here, environment, url, *words) for _ in range(count)]
    ended = [process.communicate(timeout=90) for process in started]
    return [json.loads(said) for said, _ in ended]


def _answers(here: Path) -> list[set[tuple[str, str, str]]]:
    """Of each run, what was answered to what."""
    runs = [path.read_text().splitlines() for path in sorted((here / "runs").glob("*/trials.jsonl"))]
    trials = [[json.loads(line) for line in run] for run in runs]
    return [{(trial["case_id"], trial["arm"], trial["answer"]) for trial in run} for run in trials]


@pytest.mark.usefixtures("port_skill")
def test_three_evaluations_at_once_buy_every_answer_once(here: Path, environment: dict[str, str]) -> None:
    with Provider(_answer) as provider:
        results = _results(here, environment, provider.url)
        assert len(provider.requests) == CALLS
    assert len({json.dumps(result["students"][0]["lifts"]) for result in results}) == 1
    first, *others = _answers(here)
    assert len(first) == CALLS
    assert others == [first, first]


@pytest.mark.full
@pytest.mark.usefixtures("port_skill")
def test_whoever_asks_anew_waits_for_nobody_and_takes_nothing(here: Path, environment: dict[str, str]) -> None:
    with Provider(_answer) as provider:
        _results(here, environment, provider.url, "--fresh", count=2)
        assert len(provider.requests) == 2 * CALLS


@pytest.mark.usefixtures("port_skill")
def test_when_the_one_that_buys_is_killed_the_other_goes_on(here: Path, environment: dict[str, str]) -> None:
    with Provider(lambda asked: Behaviour(fault="stall") if asked.number <= 3 else _answer(asked)) as provider:
        killed = _started(here, environment, provider.url, "--concurrency", "3")
        deadline = time.monotonic() + 60
        while len(provider.requests) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        other = _started(here, environment, provider.url)
        assert other.stderr is not None
        try:
            waiting = next((line for line in other.stderr if "waiting" in line), "")
            assert re.search(r"waiting for [1-3] answers? that another evaluation has asked for", waiting)
        finally:
            killed.kill()
            killed.communicate()
        said, _ = other.communicate(timeout=60)
        assert len(provider.requests) == CALLS + 3
    assert json.loads(said)["students"][0]["lifts"][0]["mean"] == 1.0
