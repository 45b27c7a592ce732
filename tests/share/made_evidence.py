"""Evidence made by hand: one model that a skill helps."""

from dataclasses import replace
from typing import Any

from upskill.core.nouns import Interval, Lift, Student, StudentReport
from upskill.core.nouns.evaluation import ArmSummary
from upskill.core.nouns.text import digest_of
from upskill.share.evidence import Evidence, EvidenceResult, MeasuredFile, MeasuredSkill

FILE = MeasuredFile(path="SKILL.md", size=3, sha256="a" * 64, sha256_lf="a" * 64)
ARM = ArmSummary(
    arm="baseline", trials=12, passed=3, errored=0, faults=(), checks_passed=None, checks=None, tokens=None, cost=None,
    spent=None, runs=1, runs_all_passed=0,
)  # fmt: skip
LIFT = Lift(
    arm="with_skill", against="baseline", mean=0.5, rate=0.75, rate_against=0.25, pairs=12, dropped=0,
    interval=Interval(low=0.1, high=0.9), about="new cases", cases=12, units=12, better=6, worse=0,
)  # fmt: skip
REPORT = StudentReport(
    student=Student(name="haiku", model="anthropic/haiku"),
    harness="chat/2",
    verdict="helps",
    sentence="helps: +50 points",
    arms=(ARM, replace(ARM, arm="with_skill", passed=9)),
    lifts=(LIFT,),
    spent=None,
)
RESULT = EvidenceResult(
    report=REPORT,
    against="baseline",
    design="fixed",
    repeats=1,
    cases=tuple(f"{number:064x}" for number in range(12)),
    versions={"upskill": "0.1.0"},
    finished_at="2026-11-15T12:00:00+00:00",
)
EVIDENCE = Evidence(
    skill=MeasuredSkill(name="port", digest=digest_of([["SKILL.md", "a" * 64]]), text_digest="c" * 64, files=(FILE,)),
    results=(RESULT,),
    date="2026-11-15",
)


def with_report(result: EvidenceResult = RESULT, **changes: Any) -> EvidenceResult:
    """A result with another report: fields of it, of its `student` (a name) or of its `lift`."""
    report = result.report
    if "student" in changes:
        name, model = changes.pop("student")
        changes["student"] = replace(report.student, name=name, model=model)
    if "lift" in changes:
        changes["lifts"] = (replace(report.lifts[0], **changes.pop("lift")),)
    return replace(result, report=replace(report, **changes))
