"""A result as a short block of Markdown, for a README or a pull request."""

import re
from collections.abc import Mapping

from upskill.domain import Evaluation, StudentReport
from upskill.domain.text import count, printable
from upskill.reporting.wording import (
    arm_name,
    arm_percents,
    ceiling_words,
    confidence_interval,
    dollars,
    loss_lines,
    points,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#|!~$&])")


def markdown_report(evaluation: Evaluation, *, day: str, pictures: Mapping[str, str] | None = None) -> str:
    """A table with the interval in it, and what it rests on. `pictures` are addresses by name."""
    first = evaluation.students[0] if evaluation.students else None
    measured, against = ("with skill", "baseline")
    if first is not None:
        measured, against = (arm_name(arm, first.harness) for arm in first.compared)
    lines = [
        f"| Student | {against.capitalize()} | {measured.capitalize()} | Lift "
        "| Tokens per task | Cost per task | Verdict |",
        "|---|---|---|---|---|---|---|",
        *(_row(report) for report in evaluation.students),
        "",
        f"{_text(evaluation.skill.name)}: {count(evaluation.cases, 'test case')}, "
        f"{'up to ' if evaluation.design == 'sequential' else ''}{count(evaluation.repeats, 'run')} of each, "
        f"skill `{evaluation.skill.digest[:12]}`, {day}. "
        "The range is the interval of the lift: what it could be, on cases like these where there are enough of them.",
    ]
    for report in evaluation.students:
        ceiling = ceiling_words(report, cases=evaluation.cases)
        for line in (*([] if ceiling is None else [ceiling]), *loss_lines(report)):
            lines += ["", f"{_text(report.student.name)}: {line}."]
    for name, address in (pictures or {}).items():
        lines += ["", f"![{_text(name)}](<{address}>)"]
    return "\n".join(lines) + "\n"


def _row(report: StudentReport) -> str:
    measured, against = (report.arm(arm) for arm in report.compared)
    if report.lifts:
        lift = report.lifts[0]
        interval = confidence_interval(lift, report.interval)
        lifted = f"{points(lift.mean)} points ({interval}), {count(lift.pairs, 'pair')}"
    else:
        lifted = "not measured"
    cells = (
        _text(report.student.name),
        *(arm_percents(report).get(arm, "–") for arm in reversed(report.compared)),
        lifted,
        " → ".join("unknown" if arm.tokens is None else f"{arm.tokens:,.0f}" for arm in (against, measured) if arm),
        _text(" → ".join(dollars(arm.cost) for arm in (against, measured) if arm)),
        report.verdict or "not compared",
    )
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Only text, whatever it holds."""
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))
