"""Evaluations and trials made by hand, for every form of report."""

import re
from dataclasses import replace
from typing import Any

from upskill.core.nouns import (
    Arm,
    ArmSummary,
    CheckResult,
    Errored,
    Evaluation,
    Fault,
    Grade,
    Interval,
    JudgeReport,
    LabelLift,
    Lift,
    Loads,
    Outcome,
    Price,
    Purchase,
    Qualification,
    Reason,
    RunEnd,
    Scored,
    Skill,
    Student,
    StudentReport,
    Trial,
    Usage,
    Verdict,
)
from upskill.core.nouns.evaluation import BrokenCase, ControlFindings

SKILL = Skill(name="tarnctl", description="d", body="b", digest="5f" * 32)


def arm(name: Arm, *, passed: int = 3, trials: int = 6, errored: int = 0) -> ArmSummary:
    known = trials > 0
    return ArmSummary(
        arm=name,
        trials=trials,
        passed=passed,
        errored=errored,
        faults=(("timeout", errored),) if errored else (),
        checks_passed=1.5 if known else None,
        checks=2.0 if known else None,
        tokens=120.5 if known else None,
        cost=None,
        spent=None,
        runs=3 if known else 0,
        runs_all_passed=1 if known else 0,
    )


LOADS = Loads(
    answers=6,
    loaded=5,
    cases=6,
    rate=5 / 6,
    interval=Interval(low=0.31, high=0.98),
    about="new cases",
    turn=1.0,
    instead=(("pdf-forms", 1),),
)


def agent_report(**changes: Any) -> StudentReport:
    """A student with tools, in three arms."""
    offered = replace(
        arm("offered", passed=4), turns=4.5, loaded=5, skill_files=(("SKILL.md", 5), ("scripts/check.py", 2))
    )
    values: dict[str, Any] = {
        "harness": "agent",
        "arms": (
            replace(arm("baseline", passed=1), turns=3.0),
            offered,
            replace(arm("with_skill", passed=6), turns=2.5, loaded=6),
        ),
        "lifts": (lift(arm="offered"), lift(mean=0.75, interval=Interval(low=0.4, high=0.9))),
        "loads": LOADS,
    }
    return report(**(values | changes))


def ceiling_report(**changes: Any) -> StudentReport:
    """A student that had the passage in the prompt too, where four of six cases name one."""
    values: dict[str, Any] = {
        "arms": (
            arm("baseline"),
            arm("with_skill", passed=5),
            replace(arm("ceiling", passed=4, trials=4), asked_cases=4),
        ),
        "lifts": (
            lift(),
            lift(arm="ceiling", mean=0.55, interval=Interval(low=0.3, high=0.75), pairs=12),
        ),
    }
    return report(**(values | changes))


def controls_report(name: str = "haiku", **changes: Any) -> StudentReport:
    """A student whose skill was also corrupted, and replaced by a placebo."""
    findings = ControlFindings(
        over_placebo=lift(against="placebo", mean=0.2, interval=Interval(low=-0.1, high=0.4)),
        over_corrupted=lift(against="corrupted", mean=0.4, interval=Interval(low=0.2, high=0.6)),
        passing=4,
        noticed=3,
        tested=4,
        untested=2,
        shows_nothing=("c1",),
    )
    values: dict[str, Any] = {
        "arms": tuple(arm(one) for one in ("baseline", "with_skill", "placebo", "corrupted")),
        "lifts": (lift(), lift(arm="placebo", mean=0.05), lift(arm="corrupted", mean=-0.15)),
        "controls": findings,
    }
    return report(name, **(values | changes))


def lift(**changes: Any) -> Lift:
    values: dict[str, Any] = {
        "arm": "with_skill",
        "against": "baseline",
        "mean": 0.25,
        "interval": Interval(low=0.05, high=0.5),
        "about": "new cases",
        "rate": 0.75,
        "rate_against": 0.5,
        "pairs": 18,
        "dropped": 0,
        "cases": 6,
        "units": 6,
        "better": 2,
        "worse": 0,
    }
    return Lift(**(values | changes))


def report(name: str = "haiku", **changes: Any) -> StudentReport:
    verdict: Verdict = "helps"
    values: dict[str, Any] = {
        "student": Student(
            name=name, model=f"anthropic/{name}", price=Price(input_per_million=1, output_per_million=5)
        ),
        "harness": "chat",
        "verdict": verdict,
        "sentence": "helps: +25 points, between +10 and +40, 18 pairs",
        "arms": (arm("baseline"), arm("with_skill", passed=5)),
        "lifts": (lift(),),
        "spent": 0.0123,
    }
    return StudentReport(**(values | changes))


def evaluation(*students: StudentReport, **changes: Any) -> Evaluation:
    values: dict[str, Any] = {
        "skill": SKILL,
        "run": "runs/2026-11-15-093042-tarnctl-1a2b3c",
        "cases": 6,
        "repeats": 3,
        "planned": 36,
        "design": "fixed",
        "bought": Purchase(calls=36, failed_calls=0, tokens=9000, cost=None),
        "students": students or (report(),),
    }
    return Evaluation(**(values | changes))


LABEL_LIFTS = (
    LabelLift(label="recall", cases=4, lift=lift(about="these cases", cases=4, units=4)),
    LabelLift(label="impossible", cases=1, lift=None),
    LabelLift(label=None, cases=2, lift=lift(mean=-0.1, about="these cases", pairs=6, cases=2, units=2)),
)
CASE_STATES = (
    Qualification(
        case_id="c1",
        state="unproven",
        labels=("recall", "leaks"),
        reasons=(Reason(saw="a mutant passes", change="check it"), Reason(saw="a note")),
        mutants=4,
        slipped=("4 became 5",),
    ),
    Qualification(case_id="c2", state="rejected", reasons=(Reason(saw="silence passes", change="ask for more"),)),
)

JUDGE = JudgeReport(model="opus", judged=36, compared=30, agreed=27, calls=36, cost=None)
BROKEN = (BrokenCase(case_id="c1", answers=8, passed=0, passed_before=8),)

EVALUATIONS = {
    "judged": evaluation(report(verdict="undecided"), judge=JUDGE),
    "judged, agreement unknown": evaluation(judge=replace(JUDGE, compared=0, agreed=0)),
    "breaks": evaluation(
        report(
            verdict="undecided",
            arms=(arm("previous", passed=5), arm("with_skill", passed=4)),
            lifts=(
                lift(
                    against="previous",
                    mean=-1 / 6,
                    rate=4 / 6,
                    rate_against=5 / 6,
                    better=0,
                    worse=1,
                    interval=Interval(low=-0.6, high=0.3),
                ),
            ),
            broken=BROKEN,
            suspected=("c3",),
            unguarded=("c2",),
        ),
        design="gate",
    ),
    "one student": evaluation(report(label_lifts=LABEL_LIFTS), case_states=CASE_STATES),
    "several": evaluation(report("haiku"), report("kimi", verdict="hurts", spent=None), planned=72),
    "few cases": evaluation(report(lifts=(lift(about="these cases", cases=4, units=4),)), cases=4),
    "cheaper": evaluation(report(verdict="cheaper")),
    "no baseline": evaluation(
        report(verdict=None, sentence="no baseline was run", arms=(arm("with_skill"),), lifts=()), notes=("a note",)
    ),
    "invalid": evaluation(
        report(
            verdict="invalid",
            arms=(arm("baseline", passed=0, trials=0, errored=6), arm("with_skill", errored=2)),
            lifts=(),
        )
    ),
    "with tools": evaluation(agent_report(), sandbox="bubblewrap"),
    "rarely loaded": evaluation(
        agent_report(
            harness="codex",
            verdict="undecided",
            lifts=(
                lift(arm="offered", mean=0.1),
                lift(mean=0.75, interval=Interval(low=0.4, high=0.9)),
            ),
            loads=replace(LOADS, loaded=1, rate=1 / 6, interval=Interval(low=0.02, high=0.69)),
        ),
        sandbox="bubblewrap",
    ),
    "never loaded": evaluation(
        agent_report(
            harness="codex",
            lifts=(lift(arm="offered"), lift(mean=0.1, interval=Interval(low=-0.2, high=0.4))),
            loads=replace(LOADS, loaded=0, rate=0.0, interval=Interval(low=0.0, high=0.46), turn=None, instead=()),
        )
    ),
    "with tools, nothing compared": evaluation(
        agent_report(verdict=None, arms=(arm("offered"),), lifts=()), sandbox="none"
    ),
    "controls": evaluation(controls_report()),
    "interrupted": evaluation(report(verdict="undecided", spent=0.0), end=RunEnd(interrupted=True), notes=("a", "b")),
}

ERRORED = report(arms=(arm("baseline", errored=2), arm("with_skill", errored=1)), end="cap reached")
ANY = [
    evaluation(),
    *EVALUATIONS.values(),
    evaluation(ERRORED, end=RunEnd(interrupted=True), design="two looks"),
    evaluation(agent_report()),
    evaluation(agent_report(), agent_report()),
    evaluation(*(report(f"a-model-with-a-rather-long-name-{number}") for number in range(6))),
    evaluation(ceiling_report()),
    evaluation(ceiling_report(), ceiling_report()),
    evaluation(controls_report(), controls_report("kimi")),
]
"""Whatever a form of report for people must cope with."""
CODE_WORDS = re.compile(r"\b(arms?|trials?|with_skill|student_t|None)\b")
"""Words of the code, which no such report uses."""


def _trial(student: str, case: str, arm: Arm, repeat: int, outcome: Outcome, **more: Any) -> Trial:
    identity = f"{student}-{case}-{arm}-{repeat}"
    return Trial(id=identity, student=student, case_id=case, arm=arm, repeat=repeat, outcome=outcome, **more)


def scored(
    passed: bool = True,
    *,
    student: str = "haiku",
    case: str = "c1",
    arm: Arm = "with_skill",
    repeat: int = 1,
    answer: str = "It is 9.0.",
    saw: str = "found",
) -> Trial:
    seen = (
        CheckResult(kind="contains", passed=passed, saw=saw),
        CheckResult(kind="excludes", passed=True, saw="not there"),
    )
    cost = Usage(input_tokens=10, output_tokens=5, cost=0.00001)
    outcome = Scored(end="answered", grade=Grade(results=seen))
    more = {"answer": answer, "usage": cost, "seconds": 0.25, "calls": 1, "served_model": "haiku-1"}
    return _trial(student, case, arm, repeat, outcome, **more)


def errored(
    fault: Fault = "timeout",
    *,
    student: str = "haiku",
    case: str = "c1",
    arm: Arm = "with_skill",
    repeat: int = 1,
    message: str = "too slow",
) -> Trial:
    return _trial(student, case, arm, repeat, Errored(fault=fault, message=message), calls=4)
