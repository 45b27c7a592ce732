"""What the runs of a folder measured of one skill, version by version."""

from collections.abc import Iterator
from pathlib import Path

from upskill import storage
from upskill.errors import UpskillError, UsageError
from upskill.reporting.history import Version
from upskill.reporting.read_evaluation import UnreadableResult
from upskill.storage import RunRecord
from upskill.workflows.evaluating.report import recorded_evaluation


def read_history(skill: str, runs_dir: Path) -> tuple[Version, ...]:
    """What finished runs measured of a skill, oldest first. Runs that cannot be read are skipped."""
    found: list[Version] = []
    names: set[str] = set()
    for past in storage.past_runs(runs_dir):
        folder = Path(past.folder)
        try:
            run = storage.evaluation_in(folder)
            record = storage.read_run(run)
        except UpskillError:
            continue  # somebody's damaged run is no reason to stop; `upskill runs` names it
        names.add(record.skill_name)
        if record.skill_name == skill:
            found = [*_versions(run, record, name=folder.name), *found]
    if not found:
        known = f"there are runs of {', '.join(sorted(names)[:5])}" if names else "there are no runs"
        raise UsageError(f"{skill}: no run in {runs_dir} measured its lift", hint=f"{known}; see `upskill runs`")
    return tuple(found)


def _versions(run: Path, record: RunRecord, *, name: str) -> Iterator[Version]:
    try:
        evaluation = recorded_evaluation(run, record, name=name)
    except UnreadableResult:
        return
    if evaluation is None:
        return
    cases = frozenset(case.digest for case in record.cases)
    for report in evaluation.students:
        if report.compared[1] == "baseline" and len(report.arms) > 1:
            yield Version(day=record.started_at[:10], digest=record.skill_digest, run=name, cases=cases, report=report)
