"""Every figure of an evaluation as people read it on a terminal: what the short result leaves out."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from upskill.core.nouns import ArmSummary, Evaluation, Lift, StudentReport
from upskill.core.nouns.harness import harness_info
from upskill.core.nouns.text import count
from upskill.report.cases import label_lines
from upskill.report.console import print_lines
from upskill.report.facts import REASONS
from upskill.report.loading import loading_lines, turn_words
from upskill.report.terminal import style_of
from upskill.report.wording import (
    USUAL,
    arm_name,
    arm_percents,
    can_draw,
    ceiling_words,
    confidence_interval,
    dollars,
    drawn_bar,
    interval_in_column,
    judge_error_words,
    percent,
    points,
    widest_name,
)

WIDE = 100
"""Columns from which a table of models has room to breathe."""
_LEAST_MODEL = 12


def show_figures(evaluation: Evaluation, console: Console) -> None:
    """Print every figure: one student in full, several in one table."""
    if len(evaluation.students) == 1:
        print_lines(_one(evaluation, evaluation.students[0], console), console, indent=2)
        return
    print_lines(_several(evaluation), console)
    console.print(table(evaluation, console))
    print_lines([Text()], console)


def _one(evaluation: Evaluation, report: StudentReport, console: Console) -> Iterator[Text]:
    lift = report.lifts[0] if report.lifts else None
    skill, style = evaluation.skill, style_of(report.verdict or "")
    yield Text()
    yield Text(skill.name, style="bold")
    yield Text(" ".join(skill.description.split()))
    yield Text()
    yield Text(f"SKILL.md              ~{skill.tokens} tokens")
    yield Text()
    yield from bars(report, console)
    yield Text(report.sentence, style=style)
    yield from _ceiling(evaluation, report)
    if lift is not None and lift.cases_like_these is not None:
        these = f"on these {count(lift.cases or evaluation.cases, 'case')}"
        yield Text(f"{these}: {confidence_interval(lift, lift.these_cases)} points", style="dim")
    if report.stopped is not None:
        yield Text(_stopped(evaluation, report), style="dim")
    yield from _judge_error(report)
    yield from (Text(line, style="dim") for line in label_lines(report.label_lifts))
    yield from _loading(report, cases=evaluation.cases)
    yield Text()
    yield from _figures(report, width=console.width)
    yield Text()


def _ceiling(evaluation: Evaluation, report: StudentReport) -> Iterator[Text]:
    if (said := ceiling_words(report, cases=evaluation.cases)) is not None:
        yield Text(said)


def _judge_error(report: StudentReport) -> Iterator[Text]:
    if (said := judge_error_words(report)) is not None:
        yield Text(f"corrected for the judge's errors: {said}", style="dim")


def _loading(report: StudentReport, *, cases: int) -> Iterator[Text]:
    """For students that may load the skill: how many did, and what it does once it is read."""
    yield from map(Text, loading_lines(report, cases=cases))
    if report.loads is not None and (turn := turn_words(report.loads)) is not None:
        yield Text(turn)
    offered = report.arm("offered")
    files = [] if offered is None else [(path, number) for path, number in offered.skill_files if path != "SKILL.md"]
    if files:
        named = ", ".join(f"{path} in {number}" for path, number in files)
        yield Text(f"files of the skill that were opened or run: {named}")
    if (lift := report.forced) is not None and lift.cases_like_these is not None:
        name, where = arm_name(lift.arm, report.harness), f"on these {count(lift.cases or cases, 'case')}"
        yield Text(f"{name}, {where}: {confidence_interval(lift, lift.these_cases)} points", style="dim")


def _stopped(evaluation: Evaluation, report: StudentReport) -> str:
    """How far a sequential design went, and why no further."""
    # A turn has a trial in each arm, but for cases that have no ceiling.
    trials = sum((evaluation.cases if arm.asked_cases is None else arm.asked_cases) for arm in report.arms)
    most = round(evaluation.planned * evaluation.cases / (len(evaluation.students) * max(1, trials)))
    done = report.lifts[0].pairs - report.earlier_pairs if report.lifts else 0
    earlier = f" and {report.earlier_pairs} from earlier looks" if report.earlier_pairs else ""
    late = f"; {report.late} later answers were paid for but not counted" if report.late else ""
    return f"{done} of at most {most} pairs{earlier}; stopped because {REASONS[report.stopped or '']}{late}"


def bars(report: StudentReport, console: Console) -> Iterator[Text]:
    """A bar for each arm, with its lift where there is one."""
    gains = {lift.arm: f"  ({points(lift.mean)} points)" for lift in report.lifts}
    width = widest_name([arm.arm for arm in report.arms], report.harness)
    shown = arm_percents(report)
    for arm in report.arms:
        name = arm_name(arm.arm, report.harness)
        bar = drawn_bar(report.rate(arm.arm), console, shown[arm.arm])
        yield Text(f"{name:<{width}} {bar}{gains.get(arm.arm, '')}")
    yield Text()


def _figures(report: StudentReport, *, width: int) -> Iterator[Text]:
    arms = report.arms
    columns = [
        ["", *(arm_name(arm.arm, report.harness) for arm in arms)],
        ["Passed", *(f"{arm.passed}/{arm.trials}" for arm in arms)],
        ["Avg Checks", *map(_assertions, arms)],
        ["Avg Tokens", *(_number(arm.tokens) for arm in arms)],
        ["Cost/Answer", *(dollars(arm.cost) for arm in arms)],
        ["Spent", *(dollars(arm.spent) for arm in arms)],
        ["Errored", *(str(arm.errored) for arm in arms)],
    ]
    if any(arm.turns is not None for arm in arms):
        columns.append(["Avg Turns", *(_number(arm.turns, 1) for arm in arms)])
    if any(arm.runs > 1 for arm in arms):
        columns.append(["Repeats All Passed", *(f"{arm.runs_all_passed}/{arm.runs}" for arm in arms)])
    if sum(max(map(len, column)) + 2 for column in columns) > width:
        columns = _turned(columns)  # a row per figure, where an arm is too long for one
    widths = [max(map(len, column)) for column in columns]
    for number, row in enumerate(_turned(columns)):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield Text("  ".join(cells), style="" if number else "dim")


def _turned(table: list[list[str]]) -> list[list[str]]:
    return [list(row) for row in zip(*table, strict=True)]


def _assertions(arm: ArmSummary) -> str:
    if arm.checks_passed is None or arm.checks is None:
        return "-"
    of = f"{arm.checks:.0f}" if arm.checks == round(arm.checks) else f"{arm.checks:.1f}"
    return f"{arm.checks_passed:.1f}/{of}"


def _number(value: float | None, decimals: int = 0) -> str:
    return "unknown" if value is None else f"{value:.{decimals}f}"


def _several(evaluation: Evaluation) -> Iterator[Text]:
    yield Text(f"Evaluating {evaluation.skill.name} across {len(evaluation.students)} models")
    most = "up to " if evaluation.design == "sequential" else ""
    yield Text(f"{count(evaluation.cases, 'case')}, {most}{count(evaluation.repeats, 'repeat')} per model")
    first = evaluation.students[0]
    with_tools = harness_info(first.harness).with_tools
    if with_tools or len(first.arms) > 2:
        named = ", then ".join(arm_name(arm.arm, first.harness) for arm in first.arms)
        yield Text(f"{'models have tools; ' if with_tools else ''}each row shows: {named}")
    yield Text()
    for report in evaluation.students:
        yield Text(report.student.name, style="bold")
        width = widest_name([arm.arm for arm in report.arms], report.harness)
        shown = arm_percents(report)
        rates = [f"{arm.passed}/{arm.trials} ({_share(shown[arm.arm], arm)})" for arm in report.arms]
        for arm, rate in zip(report.arms, rates, strict=True):
            runs = f"  All passed: {arm.runs_all_passed}/{arm.runs} repeats" if arm.runs > 1 else ""
            name = arm_name(arm.arm, report.harness).ljust(width)
            yield Text(f"  {name} Pass rate: {rate:>{max(map(len, rates))}}  Avg checks: {_assertions(arm)}{runs}")
        yield Text(f"  {report.sentence}", style=style_of(report.verdict or ""))
        yield from (
            Text(f"  {line.plain}", style=line.style)
            for line in (
                *_ceiling(evaluation, report),
                *_judge_error(report),
                *_loading(report, cases=evaluation.cases),
            )
        )
        if report.stopped is not None:
            yield Text(f"  {_stopped(evaluation, report)}", style="dim")
        yield Text()


def _share(shown: str, arm: ArmSummary) -> str:
    """The rate beside the lift; it says so where that is not the rate over all answers that were counted before it."""
    return shown if arm.pass_rate is None or shown == percent(arm.pass_rate) else f"{shown} in complete pairs"


def _between(lift: Lift, report: StudentReport) -> str:
    """The interval that the verdict rests on, in brackets, and the verdict with its reach."""
    where = " on these cases" if report.claim == "these cases" else ""
    return f"({interval_in_column(report.interval, lift.confidence)}) {report.verdict}{where}"


def table(evaluation: Evaluation, console: Console) -> Table:
    """Several students, a row each."""
    rows = Table(safe_box=not can_draw(console), padding=(0, 1 if console.width >= WIDE else 0))
    for name in ("Model", "Pass Rate", "Avg Checks", "Avg Tokens", "Cost/Answer", f"Lift in points ({USUAL})"):
        rows.add_column(name, overflow="fold", min_width=_LEAST_MODEL if name == "Model" else None)
    arrow = " → " if can_draw(console) else " > "
    for report in evaluation.students:
        lift = report.lifts[0] if report.lifts else None
        cells = [
            arrow.join(arm_percents(report).values()),
            arrow.join(_assertions(arm) for arm in report.arms),
            arrow.join(_number(arm.tokens) for arm in report.arms),
            arrow.join(dict.fromkeys(dollars(arm.cost) for arm in report.arms)),
        ]
        lifted = f"{points(lift.mean)} {_between(lift, report)}" if lift else report.verdict or "-"
        rows.add_row(Text(report.student.name), *map(Text, cells), Text(lifted, style=style_of(report.verdict or "")))
    return rows
