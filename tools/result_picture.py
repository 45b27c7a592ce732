"""Draws the picture at the top of the README and of the documentation: a result of a real model.

`python -m tools.result_picture` writes it. The pairs are those of a run in benchmarks/results/experiments.md
(2026-11-15, a small skill on a very small model); lift, intervals and verdict are worked out from them again.
"""

from pathlib import Path

from upskill.core import statistics
from upskill.core.nouns import ArmSummary, Evaluation, Lift, Purchase, Skill, Student, StudentReport
from upskill.core.nouns.trial import Arm
from upskill.report.dumbbell import svg
from upskill.report.glance import Glance, glance

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "smollm2-result.svg"
PASSED = (True, True, False, True, False, False, True, True, True, True, False, True)
"""Whether each of the twelve cases passed with the skill; without it none did."""


def result() -> Glance:
    """What the run found."""
    pairs = tuple(
        statistics.Pair(case_id=f"case {number}", repeat=1, passed=passed, passed_against=False)
        for number, passed in enumerate(PASSED)
    )
    judged = statistics.judge(statistics.Pairing(arm="with_skill", against="baseline", pairs=pairs))
    lift = judged.lift
    assert lift is not None
    report = StudentReport(
        student=Student(name="SmolLM2-135M", model="local/smollm2"),
        harness="chat",
        verdict=judged.verdict,
        sentence=judged.sentence,
        arms=(_arm("baseline", 0), _arm("with_skill", sum(PASSED))),
        lifts=(lift,),
        spent=0.0,
        claim=judged.claim,
    )
    return glance(_evaluation(report, lift))


def _arm(name: Arm, passed: int) -> ArmSummary:
    return ArmSummary(
        arm=name,
        trials=len(PASSED),
        passed=passed,
        errored=0,
        faults=(),
        checks_passed=None,
        checks=None,
        tokens=None,
        cost=None,
        spent=None,
        runs=1,
        runs_all_passed=0,
    )


def _evaluation(report: StudentReport, lift: Lift) -> Evaluation:
    return Evaluation(
        skill=Skill(name="tarnctl", description="", body="", digest=""),
        run="",
        cases=len(PASSED),
        repeats=1,
        planned=2 * lift.pairs,
        design="fixed",
        students=(report,),
        bought=Purchase(calls=0, failed_calls=0, tokens=0, cost=None),
    )


if __name__ == "__main__":
    PICTURE.write_text(svg(result(), standalone=True) + "\n", encoding="utf-8")
