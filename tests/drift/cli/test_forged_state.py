"""A state of `upskill drift` that somebody else wrote: the chart and its limit come from the answers."""

import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill, make_port_skill


@pytest.fixture
def provider(here: Path) -> Iterator[Provider]:
    """A model that knows the port only with the skill, until a history and a night have been asked."""
    make_port_skill(here, cases=8)

    def answer(asked: ReceivedRequest) -> Behaviour:
        known = asked.has_skill and asked.number <= 56 + 20
        return Behaviour(text=f"{'7413' if known else 'no'} ({asked.number})")

    with Provider(answer) as provider:
        yield provider


def _forge(home: Path, **more: Any) -> None:
    """Date the state back by a day, and write into it what no version of upskill does."""
    (path,) = home.glob(".cache/**/drift/*.json")

    def earlier(found: re.Match[str]) -> str:
        return f'"{date.fromisoformat(found[1]) - timedelta(days=1)}"'

    state = json.loads(re.sub(r'"(\d{4}-\d\d-\d\d)"', earlier, path.read_text()))
    state["nights"] = [{**night, "level": -1e308, "expected": 0.0} for night in state["nights"]]
    path.write_text(json.dumps(state | more))


@pytest.mark.parametrize("limit", [float("nan"), 1e308])
def test_a_limit_that_somebody_wrote_neither_silences_an_alarm_nor_buys_answers_for_nothing(
    upskill: Upskill, home: Path, provider: Provider, limit: float
) -> None:
    words = ("drift", "skills/port", "-m", "any", "--base-url", provider.url)
    assert upskill(*words, "--start", "--at-once", "--answers", "5").returncode == 0
    assert len(provider.requests) == 56
    for night in range(1, 5):
        _forge(home, limit=limit)
        done = upskill(*words, "--json")
        if done.returncode:
            break
        assert len(provider.requests) == 56 + 20 * night
    assert done.returncode == 1, done.stderr
    (watch,) = json.loads(done.stdout)["watches"]
    assert watch["limit"] < watch["level"] < 80
    assert watch["alarm"]["attribution"] is not None


def test_figures_of_an_alarm_that_are_no_numbers_are_refused(upskill: Upskill, home: Path, provider: Provider) -> None:
    words = ("drift", "skills/port", "-m", "any", "--base-url", provider.url)
    assert upskill(*words, "--start", "--at-once", "--answers", "5").returncode == 0
    night = {"date": "2026-01-01", "passed": [], "failed": ["c0"], "expected": 1.0, "level": 0.0}
    change = {"before": 0.5, "now": 0.5, "interval": {"low": -0.1, "high": float("nan")}}
    counts = {"regraded": 0, "now_fail": 0, "now_pass": 0}
    arms = {"skilled": change, "baseline": change, "lift": 0.1, "lift_interval": {"low": 0.0, "high": 0.2}}
    _forge(home, nights=[night], alarm={"attribution": {"cause": "undecided", "sure": True, **arms, **counts}})
    done = upskill(*words)
    assert (done.returncode, len(provider.requests)) == (3, 56)
    assert "high: Input should be a finite number" in done.stderr
