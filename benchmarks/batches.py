"""When batches pay: calls, price and hours of designs that stop early, in batches and question by question, simulated.

`python -m benchmarks.batches` writes `benchmarks/results/batches.md`. No model is asked and no batch is made.
"""

import random
import statistics
from dataclasses import dataclass
from pathlib import Path

from upskill.core.models.batches import PRICE_SHARE
from upskill.core.nouns import Arm, Case, CheckResult, Grade, Scored, Student, Trial, TrialPlan, Turn
from upskill.core.statistics import Decision
from upskill.core.trials.schedule import SequentialSchedule, schedule_for

SIMULATIONS = 200
BASELINE = 0.3
AT_ONCE = 8
SECONDS_PER_CALL = 5.0
CASES = (12, 20, 50)
LIFTS = (0.0, 0.2, 0.45)
RESULTS = Path(__file__).parent / "results" / "batches.md"
STUDENT = Student(name="s", model="openai/s")


@dataclass(frozen=True, kw_only=True)
class Way:
    """What one simulated evaluation took."""

    calls: int
    groups: int
    """Groups of turns that were asked together: batches."""
    decision: Decision


def _plan(cases: int) -> TrialPlan:
    return TrialPlan(
        cases=tuple(Case(id=f"c{number}", prompt=f"Question {number}?", checks=()) for number in range(cases)),
        students=(STUDENT,),
        arms=("with_skill", "baseline"),
        repeats=5,
        seed=1,
        harness="chat",
        design="sequential",
    )


def _trial(turn: Turn, arm: Arm, *, lift: float, seed: int) -> Trial:
    case = random.Random(f"{seed}/{turn.case.id}").gauss(0.0, 0.15)  # cases differ
    share = BASELINE + case + (lift if arm == "with_skill" else 0.0)
    passed = random.Random(f"{seed}/{turn.key}/{arm}").random() < share
    grade = Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),))
    outcome = Scored(end="answered", grade=grade)
    return Trial(id="", student="s", case_id=turn.case.id, arm=arm, repeat=turn.repeat, outcome=outcome)


def simulate(cases: int, *, lift: float, seed: int, batched: bool) -> Way:
    """One evaluation: all turns that are given out together, or so many at once."""
    schedule = schedule_for(_plan(cases), min_lift=None, batched=batched)
    assert isinstance(schedule, SequentialSchedule)
    calls = groups = 0
    most = cases * 5 if batched else AT_ONCE // 2
    while True:
        group: list[Turn] = []
        while len(group) < most and (turn := schedule.take()) is not None:
            group.append(turn)
        if not group:
            return Way(calls=calls, groups=groups, decision=schedule.end("cap"))
        groups += 1
        calls += 2 * len(group)
        for turn in group:
            schedule.ended(turn, {arm: _trial(turn, arm, lift=lift, seed=seed) for arm in turn.arms})


def _row(cases: int, lift: float) -> str:
    seeds = range(SIMULATIONS)
    plain = [simulate(cases, lift=lift, seed=seed, batched=False) for seed in seeds]
    batched = [simulate(cases, lift=lift, seed=seed, batched=True) for seed in seeds]
    if any(one.decision != other.decision for one, other in zip(plain, batched, strict=True)):
        raise SystemExit("a decision depends on the way in which answers are bought")
    asked = [statistics.mean(way.calls for way in ways) for ways in (plain, batched)]
    minutes = asked[0] * SECONDS_PER_CALL / AT_ONCE / 60
    out = statistics.mean(way.groups for way in batched)
    price = PRICE_SHARE * asked[1] / asked[0]
    return (
        f"| {cases} | {100 * lift:.0f} | {asked[0]:.0f} | {asked[1]:.0f} | {100 * price:.0f}% | {minutes:.1f} min "
        f"| {out:.1f} ({max(way.groups for way in batched)}) | {out:.1f} h | {24 * out:.0f} h |"
    )


def main() -> None:
    """Write the table."""
    rows = [_row(cases, lift) for cases in CASES for lift in LIFTS]
    table = [
        "| cases | true lift, points | calls, plain | calls, batches | price against plain | plain "
        "| batches: mean (most) | at 1 h each | at 24 h each |",
        "|" + "---:|" * 9,
        *rows,
    ]
    RESULTS.write_text(
        "# When batches pay\n\n"
        f"{SIMULATIONS} simulated evaluations a row (`python -m benchmarks.batches`), with a pass rate of\n"
        f"{BASELINE:.0%} without the skill. Plain: {AT_ONCE} questions at a time, {SECONDS_PER_CALL:g} seconds each.\n"
        "No provider was asked: how long a batch takes is assumed, 24 hours at most by either provider.\n"
        "Every decision was the same in both ways.\n\n" + "\n".join(table) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
