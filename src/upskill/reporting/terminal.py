"""An evaluation as people read it on a terminal, in the words and shapes they know."""

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from upskill.domain import ArmSummary, Evaluation, Lift, StudentReport
from upskill.reporting.tokens import estimate_tokens

BAR = 20
_NAMES = {"baseline": "baseline", "with_skill": "with skill"}
_STYLES = {"helps": "green", "hurts": "red", "invalid": "red", "no difference": "yellow"}


def show_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print the result: one student in full, several in one table."""
    plain = not _can_draw(console)
    if len(evaluation.students) == 1:
        console.print(_one(evaluation, evaluation.students[0], plain))
    else:
        console.print(_several(evaluation))
    for note in evaluation.notes:
        console.print(f"note: {note}", style="dim", markup=False, highlight=False)
    if evaluation.interrupted:
        done = sum(arm.trials + arm.errored for report in evaluation.students for arm in report.arms)
        console.print(f"interrupted: {done} of {evaluation.planned} trials ended", style="yellow", highlight=False)
    console.print(f"Run kept in {evaluation.run}", markup=False, highlight=False, soft_wrap=True)


def _can_draw(console: Console) -> bool:
    try:
        "█░→┃".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def percent(share: float | None) -> str:
    """A share as whole percent; nothing was measured: a dash."""
    return "-" if share is None else f"{share:.0%}"


def _signed(share: float) -> str:
    return f"{round(share * 100):+d}%"


def _one(evaluation: Evaluation, report: StudentReport, plain: bool) -> RenderableType:
    lift = report.lifts[0] if report.lifts else None
    skill = evaluation.skill
    parts: list[RenderableType] = []
    if lift is not None:
        parts += [Text(_headline(report, lift), style=_STYLES.get(report.verdict or "", "")), Text()]
    size = estimate_tokens(skill.body)
    parts += [
        Text(skill.name, style="bold"),
        Text(skill.description),
        Text(),
        Text(f"SKILL.md              ~{size} tokens"),
        Text(),
        *(_bar(arm, lift if arm.arm == "with_skill" else None, plain) for arm in report.arms),
        Text(),
        Text(report.sentence, style=_STYLES.get(report.verdict or "", "")),
    ]
    if lift is not None and lift.cases_like_these is not None:
        parts.append(
            Text(
                f"on these very cases: between {_points(lift.these_cases.low)} and "
                f"{_points(lift.these_cases.high)} points",
                style="dim",
            )
        )
    parts += [Text(), _figures(report), *_faults(report.arms), Text()]
    return Padding(Group(*parts), (0, 2), expand=False)


def _headline(report: StudentReport, lift: Lift) -> str:
    rates = {arm.arm: arm.pass_rate for arm in report.arms}
    mark = "OK" if report.verdict == "helps" else report.verdict
    return f"{percent(rates.get('baseline'))} -> {percent(rates.get('with_skill'))} ({_signed(lift.mean)}) {mark}"


def _points(share: float) -> str:
    return f"{round(share * 100):+d}"


def _bar(arm: ArmSummary, lift: Lift | None, plain: bool) -> Text:
    rate = arm.pass_rate
    full, empty = ("#", ".") if plain else ("█", "░")
    filled = 0 if rate is None else round(rate * BAR)
    gain = f"  ({_signed(lift.mean)})" if lift is not None else ""
    return Text(f"{_NAMES[arm.arm]:<10} {full * filled}{empty * (BAR - filled)} {percent(rate):>5}{gain}")


def _figures(report: StudentReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for name in ("", "Passed", "Avg Assertions", "Avg Tokens", "Cost/Trial", "Errored"):
        table.add_column(name, no_wrap=True)
    repeated = any(arm.runs > 1 for arm in report.arms)
    if repeated:
        table.add_column("All Passed", no_wrap=True)
    for arm in report.arms:
        row = [
            _NAMES[arm.arm],
            f"{arm.passed}/{arm.trials}",
            _assertions(arm),
            _number(arm.tokens),
            dollars(arm.cost),
            str(arm.errored),
        ]
        table.add_row(*row, *([f"{arm.runs_all_passed}/{arm.runs} runs"] if repeated else []))
    return table


def _assertions(arm: ArmSummary) -> str:
    if arm.checks_passed is None or arm.checks is None:
        return "-"
    of = f"{arm.checks:.0f}" if arm.checks == round(arm.checks) else f"{arm.checks:.1f}"
    return f"{arm.checks_passed:.1f}/{of}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f}"


def dollars(cost: float | None) -> str:
    """A sum of money with as many digits as it needs; unknown is said, never 0."""
    if cost is None:
        return "unknown"
    return f"${cost:.2f}" if cost >= 0.1 or cost == 0 else f"${cost:.2g}"


def _faults(arms: Iterable[ArmSummary]) -> list[Text]:
    return [
        Text(
            f"{_NAMES[arm.arm]}: {arm.errored} errored ("
            + ", ".join(f"{count} {fault}" for fault, count in arm.faults)
            + "), not counted as failures",
            style="yellow",
        )
        for arm in arms
        if arm.errored
    ]


def _several(evaluation: Evaluation) -> RenderableType:
    head = Text.assemble(
        f"Evaluating {evaluation.skill.name} across {len(evaluation.students)} model(s)\n",
        f"{evaluation.cases} test case(s), {evaluation.repeats} run(s) per model\n",
    )
    parts: list[RenderableType] = [head]
    for report in evaluation.students:
        parts += [_block(report), Text()]
    table = Table()
    table.add_column("Model", overflow="fold")
    for name in ("Pass Rate", "Avg Assertions", "Avg Tokens", "Lift"):
        table.add_column(name, overflow="fold")
    for report in evaluation.students:
        lift = report.lifts[0] if report.lifts else None
        table.add_row(
            Text(report.student.name),
            Text("\n".join(f"{_NAMES[arm.arm]:<10} {percent(arm.pass_rate):>4}" for arm in report.arms)),
            Text("\n".join(_assertions(arm) for arm in report.arms)),
            Text("\n".join(_number(arm.tokens) for arm in report.arms)),
            Text(
                f"{_signed(lift.mean) if lift else '-'}\n{report.verdict or ''}",
                style=_STYLES.get(report.verdict or "", ""),
            ),
        )
    parts += [table, Text()]
    return Group(*parts)


def _block(report: StudentReport) -> RenderableType:
    lines: list[RenderableType] = []
    for arm in report.arms:
        runs = f", {arm.runs_all_passed}/{arm.runs} runs all passed" if arm.runs > 1 else ""
        lines.append(
            Text(
                f"{_NAMES[arm.arm]:<10} Pass rate: {arm.passed}/{arm.trials} ({percent(arm.pass_rate)})  "
                f"Avg assertions: {_assertions(arm)}{runs}"
            )
        )
    lines += _faults(report.arms)
    lines.append(Text(report.sentence, style=_STYLES.get(report.verdict or "", "")))
    return Group(Text(report.student.name, style="bold"), Padding(Group(*lines), (0, 0, 0, 2)))
