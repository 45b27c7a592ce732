"""`upskill drift` as people type it: real processes, a model on loopback, and kill -9 in every step.

Commands have the clock of the machine, so a test makes it the next night by dating the state back.
"""

import json
import random
import re
import signal
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from forking import Done, Forker, Started
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill, make_port_skill, wait

CASES = 8
HISTORY = CASES * (5 + 2)
ALARM = CASES * 2 * 2


class Student:
    """Passes with the skill, and mostly without; says nothing twice."""

    def __init__(self) -> None:
        self.broken = 0
        self.latency = 0.0
        self._rng = random.Random(3)

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        number = int(asked.prompt.split("Question ")[1].split("?")[0])
        passes = number >= self.broken if asked.has_skill else self._rng.random() < 0.9
        return Behaviour(text=f"{'7413' if passes else 'no'} ({asked.number})", latency=self.latency)


@pytest.fixture
def student() -> Student:
    return Student()


@pytest.fixture
def provider(student: Student, here: Path) -> Iterator[Provider]:
    make_port_skill(here, cases=CASES)
    with Provider(student) as provider:
        yield provider


Drift = Callable[..., Done]


@pytest.fixture
def drift(upskill: Upskill, provider: Provider) -> Drift:
    return lambda *words: upskill("drift", "skills/port", "-m", "any", "--base-url", provider.url, *words)


def _state(home: Path) -> Path:
    (path,) = home.glob(".cache/**/drift/*.json")
    return path


def _tomorrow(home: Path) -> None:
    """Date everything back by a day."""

    def earlier(found: re.Match[str]) -> str:
        return f'"{date.fromisoformat(found[1]) - timedelta(days=1)}"'

    path = _state(home)
    path.write_text(re.sub(r'"(\d{4}-\d\d-\d\d)"', earlier, path.read_text()))


def _asked_or_over(provider: Provider, enough: int, command: Started) -> bool:
    state = Path(f"/proc/{command.pid}/stat").read_text()
    return len(provider.requests) >= enough or state.rpartition(")")[2].split()[0] == "Z"


def test_kill_9_in_every_step_loses_no_alarm_and_buys_nothing_twice(
    forker: Forker, here: Path, home: Path, environment: dict[str, str], provider: Provider, student: Student
) -> None:
    student.latency = 0.02
    alone = {**environment, "UPSKILL_CONCURRENCY": "1"}
    words = ("drift", "skills/port", "-m", "any", "--base-url", provider.url)
    killed = 0

    def until_done(*more: str, kills: int) -> Done:
        """The same command again and again, killed after some answers, until it is allowed to end."""
        nonlocal killed
        for _ in range(kills):
            enough = len(provider.requests) + 7
            with forker.started(alone, *words, *more, cwd=here) as command:
                # A call that asks for less comes to its end: there is nothing to kill then.
                wait(partial(_asked_or_over, provider, enough, command))
                command.send(signal.SIGKILL)
                killed += command.wait().returncode < 0
        return forker.run_with(alone, *words, *more, cwd=here)

    started = until_done("--start", "--at-once", "--answers", "5", "--yes", kills=2)
    assert started.returncode == 0, started.stderr
    assert "the history is complete, 100% of 40 answers pass" in started.stdout
    assert HISTORY <= len(provider.requests) <= HISTORY + killed, "only what was in flight is asked again"
    student.broken = 7
    planned = HISTORY
    for _ in range(14):
        _tomorrow(home)
        night = until_done(kills=3)  # twice in the night, and once in what follows an alarm
        planned += 20
        if night.returncode == 1:
            planned += ALARM
            break
        assert len(provider.requests) <= planned + killed
    assert night.stdout.startswith("ALARM: port on any: the skill hurts now\n")
    assert planned <= len(provider.requests) <= planned + killed
    again = until_done(kills=0)
    assert (again.returncode, again.stdout) == (1, night.stdout)
    assert len(provider.requests) <= planned + killed


def test_an_alarm_is_words_a_comment_json_and_an_exit_code(
    drift: Drift, here: Path, home: Path, student: Student, provider: Provider
) -> None:
    nothing = drift()
    assert nothing.returncode == 2
    assert "port on any: is not watched yet" in nothing.stderr
    plan = drift("--start", "--dry-run")
    assert plan.stdout.splitlines() == [
        "port on any",
        "  history: 96 calls; price unknown",
        "  a year of nights: 7,300 calls; price unknown",
        "  each alarm: 32 calls; price unknown",
    ]
    assert not provider.requests
    few = drift("--start", "--answers", "4")
    assert few.stderr.startswith("error: --answers must be at least 5, not 4\n")
    assert drift("--start", "--at-once", "--answers", "5").returncode == 0
    assert "a history of 5 answers per case on 1 night is there" in drift("--start", "--answers", "8").stderr
    student.broken = 6
    done = drift()
    assert done.returncode == 0, "the first night is tomorrow"
    for _ in range(14):
        _tomorrow(home)
        done = drift("--json", "--write", "comment.md")
        if done.returncode:
            break
    assert done.returncode == 1
    found: dict[str, Any] = json.loads(done.stdout)
    (watch,) = found["watches"]
    alarm = watch["alarm"]
    assert (found["schema"], found["alarm"], watch["event"]) == ("upskill.drift/1", True, "alarm")
    assert alarm["level"] > alarm["limit"] == watch["limit"]
    assert sorted(alarm["attribution"]["fell"]) == [f"c{n}" for n in range(6)]
    comment = (here / "comment.md").read_text()
    assert comment.startswith("## Drift: alarm\n\n**ALARM: port on any: ")
    for figures in ("95% CI", "limit ", "now fails: c0, Question 0?", "56 stored answers graded again: 0 now fail"):
        assert figures in comment
    assert drift("--acknowledge").stdout.startswith("port on any: the alarm is acknowledged")


def test_what_was_not_measured_is_never_called_no_alarm(
    drift: Drift, upskill: Upskill, here: Path, home: Path, provider: Provider
) -> None:
    words = ("-m", "any", "--base-url", provider.url, "--write", "comment.md")
    several = upskill("drift", "skills/port", "skills/absent", *words)
    assert several.returncode == 2
    comment = (here / "comment.md").read_text()
    assert comment.startswith("## Drift: not measured\n\n**NOT MEASURED: port on any: is not watched yet")
    assert "hint:  price and buy its history: add --start" in several.stderr
    one = upskill("drift", "skills/absent", *words)
    assert one.returncode != 0
    assert (here / "comment.md").read_text().startswith("## Drift: not measured\n\n**")
    assert "port on any" not in (here / "comment.md").read_text()
    assert drift("--start", "--at-once", "--answers", "5").returncode == 0
    _tomorrow(home)
    capped = drift("--max-calls", "2", "--write", "comment.md")
    assert capped.returncode == 3
    assert capped.stdout.startswith("port on any: NOT MEASURED today\n")
    assert (here / "comment.md").read_text().startswith("## Drift: not measured\n")


def test_caps_hold_for_all_watches_of_a_command_and_an_old_history_is_put_aside(
    drift: Drift, here: Path, home: Path, provider: Provider
) -> None:
    both = drift("-m", "other", "--start", "--at-once", "--answers", "5", "--max-calls", "60")
    assert both.returncode == 3
    assert len(provider.requests) <= 60
    assert drift("--start", "--at-once", "--answers", "5").returncode == 0
    skill = here / "skills" / "port" / "SKILL.md"
    skill.write_text(skill.read_text() + "More.\n")
    anew = drift("--start", "--at-once", "--answers", "5")
    assert anew.returncode == 0
    assert "the history until now, with 0 nights, is kept in" in anew.stderr
    assert len([*home.glob(".cache/**/drift/*.old.json")]) == 1


def test_two_calls_at_once_do_not_buy_the_same_night(
    forker: Forker,
    here: Path,
    home: Path,
    environment: dict[str, str],
    drift: Drift,
    provider: Provider,
    student: Student,
) -> None:
    drift("--start", "--at-once", "--answers", "5")
    _tomorrow(home)
    student.latency, before = 0.5, len(provider.requests)
    words = ("drift", "skills/port", "-m", "any", "--base-url", provider.url)
    with forker.started(environment, *words, cwd=here) as first:
        wait(lambda: len(provider.requests) > before)
        second = drift()
        assert second.returncode == 2
        assert "another process is using this run" in second.stderr
        assert first.wait().returncode == 0
    assert len(provider.requests) == before + 20


def test_a_model_that_no_longer_needs_the_skill_is_told_so(upskill: Upskill, drift: Drift, here: Path) -> None:
    replacing = drift("--new-model", "any=better", "--yes")
    assert replacing.returncode == 2
    assert "error: port: no history was bought with any, so better has nothing to replace\n" in replacing.stderr
    assert drift("--start", "--at-once", "--answers", "5").returncode == 0
    other = drift("--new-model", "some=better", "--yes")
    assert other.returncode == 2
    assert "error: port: its history was bought with any, not with some\n" in other.stderr
    assert "hint:  type --new-model any=better\n" in other.stderr
    make_more = json.loads((here / "skills" / "port" / "skill_meta.json").read_text())
    make_more["cases"] += [
        {**make_more["cases"][0], "id": f"d{n}", "input": f"Question {n}?", "family": "none"} for n in range(8, 56)
    ]
    (here / "skills" / "port" / "skill_meta.json").write_text(json.dumps(make_more))

    def better(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text=f"7413 ({asked.number})")

    with Provider(better) as new:
        done = upskill("drift", "skills/port", "--base-url", new.url, "--new-model", "any=better", "--yes")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("port, better instead of any: no longer needed\n")
        assert "tokens saved per call without it: " in done.stdout
        assert "the skill adds less than 10 points: at most +" in done.stdout
        bought = len(new.requests)
        again = upskill("drift", "skills/port", "--base-url", new.url, "--new-model", "any=better", "--json")
        assert json.loads(again.stdout)["skills"][0]["need"] == "no longer needed"
        assert len(new.requests) == bought
    assert drift("--new-model", "better").returncode == 2
