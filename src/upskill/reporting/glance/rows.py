"""A row for each model of an evaluation. Rates, lift and interval come from the same pairs, in the same rounding."""

from dataclasses import replace

from upskill.domain import Evaluation, Lift, StudentReport
from upskill.domain.text import count
from upskill.reporting.glance.names import unique_names
from upskill.reporting.glance.values import NO_SIGN, SIGNS, Clarity, GlanceRow
from upskill.reporting.wording import (
    USUAL,
    arm_name,
    arm_percents,
    between,
    confidence,
    counted_by_arm,
    fault_words,
    points,
)

_NOT_ARRIVED = ("transport", "provider", "rate limit", "timeout")


def rows_of(evaluation: Evaluation) -> tuple[GlanceRow, ...]:
    """A row for each student, in the order of the evaluation."""
    names = unique_names([report.student.name for report in evaluation.students])
    return tuple(
        replace(
            row_of(report, name=name, cases=counted_cases(report, of=evaluation.cases)),
            among=_among(report, len(evaluation.students)),
        )
        for report, name in zip(evaluation.students, names, strict=True)
    )


def counted_cases(report: StudentReport, *, of: int) -> int:
    """The cases that the lift is made of: a sequential design may stop before it has asked all.

    Results of earlier versions do not say; there are never more cases than pairs.
    """
    if not report.lifts:
        return of
    known = report.lifts[0].cases
    return min(of, report.lifts[0].pairs) if known is None else known


def _among(report: StudentReport, models: int) -> str | None:
    """Each verdict is of one model by itself; among several, one may help by chance."""
    if report.holds_among is None or models < 2 or report.verdict != "helps":
        return None
    if report.holds_among:
        return f"also after correction for testing {models} models"
    return f"but not after correction for testing {models} models"


def row_of(report: StudentReport, *, name: str, cases: int) -> GlanceRow:
    """One student. Where there is no verdict there are no figures either, and the row says why."""
    lift = report.lifts[0] if report.lifts else None
    clarity = _clarity(report)
    if clarity == "none":
        return _empty(report, name=name, cases=cases)
    shown = arm_percents(report)
    measured, against = report.compared
    interval = report.interval
    return GlanceRow(
        model=report.student.name,
        name=name,
        before=report.rate(against),
        after=report.rate(measured),
        before_text=shown.get(against, "–"),
        after_text=shown.get(measured, "–"),
        lift=None if lift is None else points(lift.mean),
        ends=None if interval is None else between(interval),
        confidence=USUAL if lift is None else confidence(lift),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        reach=_reach(report, cases),
        other_interval=None if lift is None else _other(report, lift, cases),
        verdict=report.verdict or "not compared",
        sign=SIGNS.get(report.verdict or "", NO_SIGN),
        clarity=clarity,
        pairs=0 if lift is None else lift.pairs,
        cases=cases,
        tokens=_tokens(report),
        why=None,
    )


def _empty(report: StudentReport, *, name: str, cases: int) -> GlanceRow:
    """A student without a verdict. Only what was not compared keeps the one rate that it has."""
    compared = report.verdict is not None
    after = None if compared else report.rate(report.compared[0])
    return GlanceRow(
        model=report.student.name,
        name=name,
        before=None,
        after=after,
        before_text="–",
        after_text="–" if after is None else arm_percents(report)[report.compared[0]],
        lift=None,
        ends=None,
        reach="",
        other_interval=None,
        verdict="no verdict" if compared else "not compared",
        sign=NO_SIGN,
        clarity="none",
        pairs=report.lifts[0].pairs if report.lifts else 0,
        cases=cases,
        tokens=None if compared else _tokens(report),
        why=why_none(report),
    )


def why_none(report: StudentReport) -> str:
    """Why there is no verdict, from what was counted."""
    if report.verdict is None:
        return "there are no answers without the skill"
    if report.verdict == "undecided":
        return "no pair was complete"
    asked = sum(arm.trials + arm.errored for arm in report.arms)
    errored = sum(arm.errored for arm in report.arms)
    if report.end == "endpoint down":
        return f"the server stopped answering after {count(asked - errored, 'answer')}"
    if errored:
        return f"{errored:,} of {count(asked, 'answer')} {_fault(report)}"
    for what, counts in (
        ("answers were lost", [arm.lost for arm in report.arms]),
        ("requests were refused", [arm.refused for arm in report.arms]),
    ):
        if any(counts):
            names = [arm_name(arm.arm, report.harness) for arm in report.arms]
            return f"{what}: {counted_by_arm(zip(names, counts, strict=True))}"
    return "no pair was complete" if not report.lifts else "too few pairs were complete"


def _fault(report: StudentReport) -> str:
    """What became of the answers that errored, and of what the most of them did."""
    faults = [fault for arm in report.arms for fault in arm.faults]
    if not faults:
        return "could not be counted"
    name = max(faults, key=lambda fault: fault[1])[0]
    became = "did not arrive" if name in _NOT_ARRIVED else "could not be counted"
    return f"{became}: {fault_words(name)}"


def _clarity(report: StudentReport) -> Clarity:
    if report.verdict in (None, "invalid") or not report.lifts:
        return "none"
    return "unclear" if report.verdict == "undecided" else "clear"


def _narrow(report: StudentReport) -> bool:
    return bool(report.lifts) and (report.claim == "these cases" or report.lifts[0].cases_like_these is None)


def _reach(report: StudentReport, cases: int) -> str:
    return f"on {_these(cases)}" if _narrow(report) else ""


def _these(cases: int) -> str:
    return "this 1 case" if cases == 1 else f"these {cases} cases"


def _other(report: StudentReport, lift: Lift, cases: int) -> str:
    if not _narrow(report):
        return f"on {_these(cases)}: {confidence(lift)} {between(lift.these_cases)}"
    if lift.cases_like_these is None:
        return "on new cases of this kind: unknown, too few cases"
    return f"on new cases of this kind: {confidence(lift)} {between(lift.cases_like_these)}"


def _tokens(report: StudentReport) -> str | None:
    """Mean tokens per answer, from the arm measured against to the measured one; `None` where one is unknown."""
    arms = [report.arm(arm) for arm in reversed(report.compared)]
    known = [arm.tokens for arm in arms if arm is not None]
    if not known or None in known:
        return None
    return " → ".join(f"{tokens:,.0f}" for tokens in known if tokens is not None)
