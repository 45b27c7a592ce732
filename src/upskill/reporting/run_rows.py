"""Past runs for programs: as JSON rows and as CSV."""

import csv
import io
from collections.abc import Iterable

from upskill.domain.case import Json
from upskill.domain.evaluation import PastResult, PastRun
from upskill.reporting.csv_report import safe_cell

COLUMNS = (
    *("started", "skill", "digest"),
    *("model", "verdict", "before", "after", "lift", "low", "high", "interval_for", "pairs", "spent"),
    *("status", "folder", "answered_by"),
)
"""Of the CSV. Later versions add columns at the end only."""


def who(result: PastResult) -> str:
    """The model as it was named, and who answered where a server named another."""
    return result.model + (f" (answered by {', '.join(result.answered_by[:3])})" if result.answered_by else "")


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
            "students": [student_row(result) for result in run.results],
        }
        for run in runs
    ]


def found(run: PastRun) -> str | None:
    """What came out, in one line."""
    if run.problem is not None or run.sentence is not None:
        return run.problem or run.sentence or ""
    return "; ".join(f"{who(result)}: {result.verdict or result.sentence}" for result in run.results)


def student_row(result: PastResult) -> Json:
    """What a run found for one student."""
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
