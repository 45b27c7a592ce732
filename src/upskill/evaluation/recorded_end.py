"""How the trials of a recorded run ended, so that its result can be computed again from them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from upskill.core.nouns import StudentEnd, Trial, TrialPlan
from upskill.core.nouns.look import LookTerms, end_by_design
from upskill.core.runs.records import RunRecord
from upskill.core.statistics import FIRST_LOOK
from upskill.core.statistics.verdict import CutShort
from upskill.core.trials.schedule import Schedule, SequentialSchedule
from upskill.evaluation.conclude import by_student
from upskill.evaluation.replay import replay_trials
from upskill.evaluation.report import recorded_evaluation
from upskill.report.json_report import UnreadableResult

CUT_SHORT: Mapping[StudentEnd, CutShort] = {
    "interrupted": "interrupted",
    "endpoint down": "down",
    "cap reached": "budget",
}
"""What cut a student short, by how its trials ended."""


def recorded_ends(run: Path, record: RunRecord) -> dict[str, StudentEnd]:
    """How the trials of each student ended when they were run; a run without a result was killed."""
    try:
        recorded = recorded_evaluation(run, record, name=run.as_posix())
    except UnreadableResult:
        recorded = None
    known = () if recorded is None else recorded.students
    killed: StudentEnd = "plan finished" if record.status == "finished" else "interrupted"
    return dict.fromkeys((one.name for one in record.students), killed) | {one.student.name: one.end for one in known}


def replayed_schedules(
    plan: TrialPlan,
    trials: Iterable[Trial],
    *,
    min_lift: float | None,
    looks: Mapping[str, LookTerms],
    ends: Mapping[str, StudentEnd],
) -> dict[str, Schedule]:
    """The schedule of each student after these trials, which stops where the recorded one did."""
    mine = by_student(trials)
    schedules: dict[str, Schedule] = {}
    for student in plan.students:
        terms = looks.get(student.name, FIRST_LOOK)
        schedules[student.name] = replay_trials(plan, mine[student.name], min_lift=min_lift, terms=terms)
        _stop_there(schedules[student.name], ends[student.name])
    return schedules


def _stop_there(schedule: Schedule, end: StudentEnd) -> None:
    """Where a design stopped by itself, its replay ends too, even if the new grades would have let it go on."""
    if isinstance(schedule, SequentialSchedule) and end_by_design(end) is not None:
        schedule.end("futile" if end == "futile" else "regraded")
