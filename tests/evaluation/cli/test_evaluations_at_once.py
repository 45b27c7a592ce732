"""Evaluations of one skill at once, as real processes: each answer is bought once, also when one of them is killed."""

import json
import re
import signal
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forking import Forker, Started
from provider import Behaviour, Provider, ReceivedRequest
from typed import wait

CASES = 6
CALLS = CASES * 2
"""Of one evaluation: two arms, one repeat."""
WAITING = re.compile(r"waiting for [1-3] answers? that another evaluation has asked for")


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


def _words(url: str, *words: str) -> tuple[str, ...]:
    return ("eval", "port", "-m", "any", "--base-url", url, "--runs", "1", "--json", *words)


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """Where evaluations run side by side."""

    forker: Forker
    here: Path
    environment: dict[str, str]

    def started(self, url: str, *words: str) -> AbstractContextManager[Started]:
        return self.forker.started(self.environment, *_words(url, *words), cwd=self.here)

    def results(self, url: str, *words: str, count: int = 3) -> list[dict[str, Any]]:
        with ExitStack() as stack:
            commands = [stack.enter_context(self.started(url, *words)) for _ in range(count)]
            return [json.loads(command.wait().stdout) for command in commands]


@pytest.fixture
def side(forker: Forker, here: Path, environment: dict[str, str]) -> Side:
    return Side(forker=forker, here=here, environment=environment)


def _answers(here: Path) -> list[set[tuple[str, str, str]]]:
    """Of each run, what was answered to what."""
    runs = [path.read_text().splitlines() for path in sorted((here / "runs").glob("*/trials.jsonl"))]
    trials = [[json.loads(line) for line in run] for run in runs]
    return [{(trial["case_id"], trial["arm"], trial["answer"]) for trial in run} for run in trials]


@pytest.mark.usefixtures("port_skill")
def test_three_evaluations_at_once_buy_every_answer_once(side: Side, here: Path) -> None:
    with Provider(_answer) as provider:
        results = side.results(provider.url)
        assert len(provider.requests) == CALLS
    assert len({json.dumps(result["students"][0]["lifts"]) for result in results}) == 1
    first, *others = _answers(here)
    assert len(first) == CALLS
    assert others == [first, first]


@pytest.mark.full
@pytest.mark.usefixtures("port_skill")
def test_whoever_asks_anew_waits_for_nobody_and_takes_nothing(side: Side) -> None:
    with Provider(_answer) as provider:
        side.results(provider.url, "--fresh", count=2)
        assert len(provider.requests) == 2 * CALLS


@pytest.mark.usefixtures("port_skill")
def test_when_the_one_that_buys_is_killed_the_other_goes_on(side: Side) -> None:
    with (
        Provider(lambda asked: Behaviour(fault="stall") if asked.number <= 3 else _answer(asked)) as provider,
        side.started(provider.url, "--concurrency", "3") as killed,
    ):
        wait(lambda: len(provider.requests) >= 3)
        with side.started(provider.url) as other:
            wait(lambda: WAITING.search(other.stderr))
            killed.send(signal.SIGKILL)
            said = other.wait().stdout
        assert len(provider.requests) == CALLS + 3
    assert json.loads(said)["students"][0]["lifts"][0]["mean"] == 1.0
