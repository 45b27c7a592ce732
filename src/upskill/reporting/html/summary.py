"""The first screen: for each student the verdict, the sentence and the two bars."""

from collections.abc import Iterator

from upskill.domain import ArmSummary, Evaluation, StudentReport
from upskill.domain.text import count
from upskill.reporting.estimate_path import REASONS
from upskill.reporting.html.elements import escaped, table
from upskill.reporting.pictures.palette import verdict_colour
from upskill.reporting.wording import (
    arm_name,
    arm_percents,
    ceiling_words,
    confidence_interval,
    dollars,
    loss_lines,
    points,
)


def summary(evaluation: Evaluation) -> str:
    return f'<div class="cards">{"".join(_card(evaluation, report) for report in evaluation.students)}</div>'


def _card(evaluation: Evaluation, report: StudentReport) -> str:
    colour = verdict_colour(report.verdict)
    verdict = report.verdict or "not compared"
    bars = "".join(_bar(report, arm) for arm in report.arms)
    lines = "".join(f"<p>{escaped(line)}</p>" for line in _lines(evaluation, report))
    return (
        f'<section class="card student"><h2>{escaped(report.student.name)} '
        f'<span class="verdict {colour}">{escaped(verdict)}</span></h2>'
        f'<p class="sentence">{escaped(_upper(report.sentence))}</p>{bars}{lines}{_figures(report)}</section>'
    )


def _upper(sentence: str) -> str:
    """A sentence as it stands by itself."""
    return sentence[:1].upper() + sentence[1:] + ("" if sentence.endswith(".") else ".")


def _bar(report: StudentReport, arm: ArmSummary) -> str:
    """A name, a bar and its value. The bar only repeats the value, so it is not read out."""
    name = escaped(arm_name(arm.arm, report.harness))
    rate = report.rate(arm.arm)
    measured = arm.arm == report.compared[0]
    bar = (
        '<svg class="rate" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="empty" width="100" height="10"/><rect class="{"full" if measured else "before"}" '
        f'width="{100 * (rate or 0):.1f}" height="10"/></svg>'
    )
    return f'<div class="bar"><span>{name}</span>{bar}<strong>{arm_percents(report)[arm.arm]}</strong></div>'


def _lines(evaluation: Evaluation, report: StudentReport) -> Iterator[str]:
    if (ceiling := ceiling_words(report, cases=evaluation.cases)) is not None:
        yield _upper(ceiling)
    for number, lift in enumerate(lift for lift in report.lifts if lift is not report.ceiling):
        who = arm_name(lift.arm, report.harness)
        said = f"{points(lift.mean)} points; on these very cases {confidence_interval(lift, lift.these_cases)}"
        if lift.cases_like_these is not None:
            said += f", on cases like these {confidence_interval(lift, lift.cases_like_these)}"
        dropped = f", {lift.dropped} dropped" if lift.dropped else ""
        yield f"{'Lift' if number == 0 else f'Beside it, {who}'}: {said} ({count(lift.pairs, 'pair')}{dropped})."
    if report.stopped is not None:
        done = sum(arm.trials + arm.errored for arm in report.arms)
        most = evaluation.planned // max(1, len(evaluation.students))
        late = f" {count(report.late, 'trial')} in flight by then, paid and not counted." if report.late else ""
        why = REASONS.get(report.stopped, report.stopped)
        yield f"Stopped after {done} of at most {most} trials because {why}.{late}"
    offered = report.arm("offered")
    if offered is not None and offered.trials:
        yield f"Where the skill was offered, the student loaded it in {offered.loaded or 0} of {offered.trials} trials."
    yield from (_upper(line) for line in loss_lines(report))
    for arm in report.arms:
        if arm.errored:
            faults = ", ".join(f"{number} {fault}" for fault, number in arm.faults)
            yield f"{arm_name(arm.arm, report.harness)}: {arm.errored} errored ({faults}), not counted as failures."


def _figures(report: StudentReport) -> str:
    rows = [
        (
            arm_name(arm.arm, report.harness),
            f"{arm.passed}/{arm.trials}",
            "–" if arm.checks_passed is None or arm.checks is None else f"{arm.checks_passed:.1f}/{arm.checks:.1f}",
            "unknown" if arm.tokens is None else f"{arm.tokens:,.0f}",
            dollars(arm.cost),
            str(arm.errored),
        )
        for arm in report.arms
    ]
    columns = ("Arm", "Passed", "Avg assertions", "Avg tokens", "Cost per task", "Errored")
    figures = table(columns, rows, caption="Figures per arm", label=f"Figures of {report.student.name}")
    return f"<details><summary>Figures</summary>{figures}</details>"
