"""How fast calls went in past runs, so that minutes can be named before the first one."""

from datetime import datetime
from itertools import islice
from pathlib import Path

from upskill import storage
from upskill.domain import TrialPlan
from upskill.errors import UpskillError
from upskill.storage import RunRecord

MOST_RUNS = 20
LEAST_CALLS = 10
"""A run of fewer calls is mostly start-up, and says nothing about pace."""


def seconds_per_call(plan: TrialPlan, runs_dir: Path) -> float | None:
    """By the clock, in the newest run that asked the same models in the same way; `None` where there is none."""
    asked = {(student.model, student.endpoint) for student in plan.students}
    for folder in islice(storage.runs_in(runs_dir), MOST_RUNS):
        try:
            pace = _pace(storage.read_run(folder), asked, plan.harness)
        except UpskillError:
            continue  # somebody's damaged run is no reason to stop; `upskill runs` names it
        if pace is not None:
            return pace
    return None


def _pace(record: RunRecord, asked: set[tuple[str, str | None]], harness: str) -> float | None:
    bought = (record.results or {}).get("bought")
    calls = bought.get("calls") if isinstance(bought, dict) else None
    same = {(student.model, student.endpoint) for student in record.students} == asked
    if not same or record.harness.partition("/")[0] != harness or record.finished_at is None:
        return None
    if not isinstance(calls, int) or calls < LEAST_CALLS:
        return None
    seconds = (datetime.fromisoformat(record.finished_at) - datetime.fromisoformat(record.started_at)).total_seconds()
    # A resumed run lay idle in between, and a clock can be set back: neither is a pace.
    return seconds / calls if 0 <= seconds < 86_400 else None
