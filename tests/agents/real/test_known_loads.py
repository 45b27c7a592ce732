"""Whole evaluations with real agents whose model loads the skill and succeeds by known probabilities.

270 answers each: minutes for Codex and Claude Code, half an hour for opencode on a small machine.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

import upskill
from agents.real import zebra
from agents.real.router import Probability, serve
from upskill.core.nouns import Interval, Lift

CASES, REPEATS = 30, 3
EASY = "short"
"""The word in the prompts of the easy half."""
DAYS = ("morning", "noon", "evening")
PROMPTS = {
    f"{kind}-{number}": f"Write the {kind} greeting of {DAYS[number % 3]} {number} for the person in names.txt into "
    "greeting.txt."
    for number in range(CASES // 2)
    for kind in (EASY, "long")
}


def by_ease(easy: float, hard: float) -> Probability:
    """One probability for the easy half, one for the other."""
    return lambda prompt: easy if EASY in prompt else hard


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """What the scripted model does, and what an evaluation must find."""

    load: Probability
    if_not: Probability
    offered_lift: float
    forced_lift: float = 0.7
    load_rate: float = 0.3


TRUTHS = {
    "any case": Truth(load=0.3, if_not=0.2, offered_lift=0.3 * 0.7),
    "easy cases": Truth(load=by_ease(0.6, 0), if_not=by_ease(0.4, 0), offered_lift=0.5 * 0.6 * 0.5),
}
SEEDS = {"codex": 1, "claude-code": 2, "opencode": 3, "qwen-code": 4, "pi": 5}


@pytest.mark.full
@pytest.mark.parametrize("loads_in", TRUTHS)
@pytest.mark.parametrize("agent", SEEDS)
def test_an_evaluation_finds_what_is_known(
    agent: str, loads_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = TRUTHS[loads_in]
    zebra.settle(monkeypatch, tmp_path)
    policy = zebra.policy(PROMPTS, load=truth.load, if_loaded=0.9, if_not=truth.if_not, seed=SEEDS[agent])
    with serve(policy) as router:
        result = upskill.evaluate(
            zebra.make_skill(tmp_path, PROMPTS),
            models="local",
            base_url=router.url,
            harness=agent,
            agent_bin=zebra.PROGRAMS[agent],
            runs=REPEATS,
            concurrency=4,
            yes=True,
        )
    (report,) = result.students
    assert {arm.arm: arm.errored for arm in report.arms} == {"baseline": 0, "offered": 0, "with_skill": 0}
    loads = report.loads
    assert loads is not None
    assert (loads.answers, loads.loaded) == (CASES * REPEATS, router.drawn.loaded.total())
    assert loads.about == "new cases"
    assert _holds(loads.interval, truth.load_rate)
    assert _holds(_lift(report.lifts, "offered").interval, truth.offered_lift)
    assert _holds(_lift(report.lifts, "with_skill").interval, truth.forced_lift)


def _lift(lifts: tuple[Lift, ...], arm: str) -> Lift:
    (found,) = (lift for lift in lifts if lift.arm == arm and lift.against == "baseline")
    assert found.about == "new cases"
    return found


def _holds(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high
