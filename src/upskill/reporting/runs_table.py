"""Past runs as people read them: bars, a matrix of skills and models, the history of one skill; and as rows."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from upskill.domain.case import Json
from upskill.domain.evaluation import PastResult, PastRun
from upskill.reporting import wording
from upskill.reporting.csv_report import safe_cell

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = (
    *("started", "skill", "digest"),
    *("model", "verdict", "before", "after", "lift", "low", "high", "interval_for", "pairs", "spent"),
    *("status", "folder", "answered_by"),
)
"""Of the CSV. Later versions add columns at the end only."""
_STYLES = {"helps": "green", "cheaper": "green", "hurts": "red", "invalid": "red", "no difference": "yellow"}
_MARKS = {"helps": "helps", "hurts": "hurts", "cheaper": "cheaper", "no difference": "same", "invalid": "invalid"}
_MOST_NAMES = 2


def newest_results(runs: Iterable[PastRun]) -> dict[tuple[str, str], tuple[PastRun, PastResult]]:
    """The newest comparison of each skill on each model with no skill at all.

    One with an older version stands there only where there is no other; so does an invalid one. Runs come newest first.
    """
    newest: dict[tuple[str, str], tuple[PastRun, PastResult]] = {}
    for run in runs:
        for result in run.results:
            if result.lift is None or run.skill is None:
                continue
            known = newest.setdefault((run.skill, result.model), (run, result))
            if _weight(result) > _weight(known[1]):
                newest[run.skill, result.model] = (run, result)
    return newest


def _weight(result: PastResult) -> tuple[bool, bool]:
    """What says more of a skill: measured against no skill, then with a verdict."""
    return result.against == "baseline", result.verdict != "invalid"


def _who(result: PastResult) -> str:
    """The model as it was named, and who answered where a server named another."""
    return result.model + (f" (answered by {', '.join(result.answered_by[:3])})" if result.answered_by else "")


def points(result: PastResult, *, verdict: bool = True) -> str:
    """The lift with its interval; an asterisk where it speaks of these very cases only."""
    if result.lift is None:
        return "-"
    said = wording.points(result.lift)
    if result.interval is not None:
        said += f" ({wording.between(result.interval)})" + ("*" if result.narrow else "")
    return f"{said} {_MARKS.get(result.verdict or '', result.verdict or '')}".rstrip() if verdict else said


def show_bars(found: Sequence[tuple[PastRun, PastResult]], console: "Console") -> None:
    """Baseline and with skill of each, as after an evaluation."""
    from rich.text import Text

    for run, result in found:
        title = Text(f"{run.skill}", style="bold")
        title.append(f" on {_who(result)}, {run.day}", style="not bold dim")
        console.print(title, soft_wrap=True)
        names = [
            wording.arm_name(arm, result.harness)  # type: ignore[arg-type]
            for arm in (result.against or "baseline", result.arm or "with_skill")
        ]
        rates = (result.before, result.after)
        before, after = (
            Text(f"  {name:<{max(10, *map(len, names))}} {wording.drawn_bar(rate, console, shown)}")
            for name, rate, shown in zip(names, rates, wording.percents(*rates, result.lift), strict=True)
        )
        after.append(f"  {points(result)}", style=_style(result))
        console.print(before, soft_wrap=True)
        console.print(after, soft_wrap=True)
        console.print()


def _style(result: PastResult) -> str:
    return _STYLES.get(result.verdict or "", "")


def show_matrix(runs: Sequence[PastRun], console: "Console") -> None:
    """Skills down, models across, in each cell the newest lift; models down where they do not fit across."""
    from rich.text import Text

    from upskill.reporting.listings import plain_table, print_table

    newest = newest_results(runs)
    skills = list(dict.fromkeys(skill for skill, _ in newest))
    models = list(dict.fromkeys(model for _, model in newest))
    if not newest:
        return
    needed = max(map(len, skills)) + sum(max(len(model), 24) + 3 for model in models)
    across = needed <= console.width
    table = plain_table("skill", *(models if across else ("model", "lift")))

    def cell(skill: str, model: str) -> Text:
        if (skill, model) not in newest:
            return Text("-", style="dim")
        result = newest[skill, model][1]
        against = "" if result.against == "baseline" else f", against the {result.against} version"
        return Text(points(result) + against, style=_style(result))

    for skill in skills:
        if across:
            table.add_row(Text(skill), *(cell(skill, model) for model in models))
            continue
        mine = [model for model in models if (skill, model) in newest]
        for number, model in enumerate(mine):
            table.add_row(Text(skill if number == 0 else ""), Text(model), cell(skill, model))
    print_table(table, console)
    for who in dict.fromkeys(_who(result) for _, result in newest.values() if result.answered_by):
        console.print(Text(who, style="yellow"), soft_wrap=True)
    if any(result.narrow for _, result in newest.values()):
        console.print(Text("* on these very cases; not shown for others like them", style="dim"), soft_wrap=True)


def show_history(runs: Sequence[PastRun], console: "Console") -> None:
    """One skill over its versions, newest first: the newest result of each version on each model."""
    from rich.text import Text

    from upskill.reporting.listings import plain_table, print_table

    table = plain_table()
    for name in ("version", "measured", "model", "pass rate", "lift", "against", "pairs"):
        table.add_column(name, overflow="fold", no_wrap=name in ("version", "measured", "pass rate"))
    arrow = "→" if wording.can_draw(console, "█░→") else "->"
    shown: set[tuple[str | None, str, str | None]] = set()
    last: str | None = None
    for run in runs:
        for result in run.results:
            key = (run.digest, result.model, result.against)
            if result.lift is None or key in shown:
                continue
            shown.add(key)
            version = (run.digest or "?").removeprefix("sha256:")[:8]
            rates = f" {arrow} ".join(wording.percents(result.before, result.after, result.lift))
            table.add_row(
                Text("" if version == last else version),
                Text(run.day),
                Text(_who(result)),
                Text(rates),
                Text(points(result), style=_style(result)),
                Text(result.against or ""),
                Text(str(result.pairs)),
            )
            last = version
    print_table(table, console)


def run_rows(runs: Iterable[PastRun]) -> list[Json]:
    """One object per run, as `upskill runs --json` has it. Keys are a promise: added, never changed."""
    return [
        {
            "started": run.started_at,
            "skill": run.skill,
            "status": run.status,
            "found": found(run),
            "folder": run.folder,
            "digest": run.digest,
            "finished": run.finished_at,
            "cost": run.cost,
            "students": [_student(result) for result in run.results],
        }
        for run in runs
    ]


def found(run: PastRun) -> str | None:
    """What came out, in one line."""
    if run.problem is not None or run.sentence is not None:
        return run.problem or run.sentence or ""
    return "; ".join(f"{_who(result)}: {result.verdict or result.sentence}" for result in run.results)


def found_short(run: PastRun) -> str:
    """The same for a column: models by verdict, and only their number where they are many."""
    if run.problem is not None or run.sentence is not None:
        return run.problem or run.sentence or ""
    by_verdict: dict[str, list[str]] = {}
    for result in run.results:
        by_verdict.setdefault(result.verdict or "nothing compared", []).append(_who(result))
    return "; ".join(
        f"{verdict}: {', '.join(names) if len(names) <= _MOST_NAMES else f'{len(names)} models'}"
        for verdict, names in by_verdict.items()
    )


def _student(result: PastResult) -> Json:
    return {
        "model": result.model,
        "harness": result.harness,
        "verdict": result.verdict,
        "against": result.against,
        "arm": result.arm,
        "before": result.before,
        "after": result.after,
        "lift": result.lift,
        "interval": None if result.interval is None else [result.interval.low, result.interval.high],
        "interval_for": _reach(result),
        "pairs": result.pairs,
        "spent": result.spent,
        "answered_by": list(result.answered_by),
    }


def _reach(result: PastResult) -> str | None:
    if result.interval is None:
        return None
    return "these cases" if result.narrow else "cases like these"


def runs_csv(runs: Iterable[PastRun]) -> str:
    """A row per run and model (RFC 4180). What is unknown is empty, never 0."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for run in runs:
        for result in run.results or (None,):
            writer.writerow([safe_cell(cell) for cell in _cells(run, result)])
    return file.getvalue()


def _cells(run: PastRun, result: PastResult | None) -> tuple[str | float | None, ...]:
    measured: tuple[str | float | None, ...] = (None,) * 10
    if result is not None:
        low, high = (None, None) if result.interval is None else (result.interval.low, result.interval.high)
        measured = (result.model, result.verdict, result.before, result.after, result.lift, low, high, _reach(result))
        measured += (result.pairs, result.spent)
    served = " ".join(result.answered_by) if result is not None else ""
    return (run.started_at, run.skill, run.digest, *measured, run.status, run.folder, served or None)
