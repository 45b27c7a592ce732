"""One skill over its versions, from the runs that are there."""

from collections.abc import Iterator
from pathlib import Path

from upskill import storage
from upskill.errors import UpskillError, UsageError
from upskill.reporting.pictures import Version
from upskill.reporting.read_evaluation import UnreadableResult, read_evaluation
from upskill.storage import RunRecord
from upskill.workflows.evaluating.report import skill_of


def read_history(skill: str, runs_dir: Path) -> tuple[Version, ...]:
    """What finished runs measured of a skill, oldest first. Runs that cannot be read are passed over."""
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
        known = f"runs are there of {', '.join(sorted(names)[:5])}" if names else "there are no runs"
        raise UsageError(f"{skill}: no run in {runs_dir} measured its lift", hint=f"{known}; see `upskill runs`")
    return tuple(found)


def _versions(run: Path, record: RunRecord, *, name: str) -> Iterator[Version]:
    if record.results is None:
        return
    try:
        evaluation = read_evaluation(
            record.results,
            run=name,
            skill=skill_of(run, record),
            students=record.students,
            min_lift=record.min_lift,
            end=record.end,
        )
    except UnreadableResult:
        return
    for report in evaluation.students:
        if not report.lifts or report.lifts[0].against != "baseline":
            continue
        lift = report.lifts[0]
        measured, against = report.arm(lift.arm), report.arm(lift.against)
        yield Version(
            day=record.started_at[:10],
            digest=record.skill_digest,
            run=name,
            student=report.student.name,
            before=None if against is None else against.pass_rate,
            after=None if measured is None else measured.pass_rate,
            lift=lift.mean,
            interval=lift.these_cases,
            pairs=lift.pairs,
            verdict=report.verdict,
        )
