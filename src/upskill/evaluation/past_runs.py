"""Past runs: listed newest first, pruned, read version by version, and laid beside each other. Calls no model."""

import os
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.core.nouns import Evaluation, Scored, StudentReport, Trial
from upskill.core.nouns.evaluation import PastRun
from upskill.core.nouns.look import Look, alike, sketch_of
from upskill.core.nouns.trial import Arm
from upskill.core.progress import SILENT, Progress
from upskill.core.runs.look_ledger import LookLedger, default_ledger_path
from upskill.core.runs.records import RunRecord, read_run
from upskill.core.runs.run_folders import RunFolder, evaluation_in, is_at_work, remove, size_of
from upskill.core.runs.run_summaries import past_runs
from upskill.core.skills.skills import read_skill
from upskill.errors import UpskillError, UsageError
from upskill.redaction import redactor_from
from upskill.report.facts import LoggedTrial
from upskill.report.json_report import UnreadableResult
from upskill.report.side_by_side import Against, RunSide, Version, against

if TYPE_CHECKING:
    from upskill.evaluation.report import Report


@dataclass(frozen=True, kw_only=True, slots=True)
class LooksOfSkill:
    """What a ledger holds of one skill."""

    skill: str
    ledger: Path
    looks: tuple[Look, ...]
    notes: tuple[str, ...]


def looks_of(skill: str, ledger: str | None) -> LooksOfSkill:
    """The looks at all versions of a skill, by its name or its folder, oldest first."""
    path = default_ledger_path() if ledger is None else Path(ledger)
    book = LookLedger(path)
    looks = book.read()
    folder = Path(skill)
    read = read_skill(folder) if folder.is_dir() else None
    name = skill if read is None else read.name
    sketches = {look.sketch for look in looks if look.skill == name} | (
        {sketch_of(read)} if read is not None else set()
    )
    mine = [look for look in looks if look.skill == name or any(alike(look.sketch, sketch) for sketch in sketches)]
    return LooksOfSkill(skill=name, ledger=book.path, looks=tuple(mine), notes=book.notes)


def trials_of(folder: Path) -> Iterator[Trial]:
    """The finished trials of a run, with their answers, in the order they ended."""
    return RunFolder(path=folder).trials.read()


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunePlan:
    """The runs that will be removed, and those that stay although they are old."""

    going: tuple[PastRun, ...]
    """Newest first."""
    bytes: int
    at_work: tuple[PastRun, ...]
    """Old enough to go, but possibly still running."""
    problems: tuple[str, ...] = ()
    """Why some could not be removed."""


def choose(
    runs: Iterable[PastRun], *, older_than: timedelta | None, keep: int | None, skills: Collection[str], now: datetime
) -> PrunePlan:
    """Choose runs older than `older_than`, except the newest `keep`; without an age, all but the newest `keep`.

    With skills, only their runs are considered. Runs that cannot be read are never chosen.
    """
    mine = [run for run in runs if run.problem is None and (not skills or run.skill in skills)]
    old = [run for run in mine[keep or 0 :] if older_than is None or _is_older(run, now - older_than)]
    old = [run for run in old if not Path(run.folder).is_symlink()]
    busy = {run.folder for run in old if run.status == "running" and is_at_work(Path(run.folder))}
    going = tuple(run for run in old if run.folder not in busy)
    return PrunePlan(
        going=going,
        bytes=sum(size_of(Path(run.folder)) for run in going),
        at_work=tuple(run for run in old if run.folder in busy),
    )


def _is_older(run: PastRun, moment: datetime) -> bool:
    """Whether a run ended before a moment, by its own record; `False` where that has no time."""
    try:
        ended = datetime.fromisoformat(run.finished_at or run.started_at or "")
    except ValueError:
        return False
    return (ended if ended.tzinfo else ended.replace(tzinfo=UTC)) < moment


def prune(plan: PrunePlan, *, progress: Progress = SILENT) -> PrunePlan:
    """Remove the chosen runs, and return what went. One that cannot be removed is a problem; the others still go."""
    gone, freed, problems = [], 0, []
    for number, run in enumerate(plan.going, 1):
        size = size_of(Path(run.folder))
        try:
            remove(Path(run.folder))
        except UpskillError as error:
            problems.append(error.message)
            continue
        gone.append(run)
        freed += size
        progress.step("removing runs", number, len(plan.going))
    return replace(plan, going=tuple(gone), bytes=freed, problems=tuple(problems))


def read_history(skill: str, runs_dir: Path) -> tuple[Version, ...]:
    """What finished runs measured of a skill, oldest first. Runs that cannot be read are skipped."""
    found: list[Version] = []
    names: set[str] = set()
    for past in past_runs(runs_dir):
        folder = Path(past.folder)
        try:
            run = evaluation_in(folder)
            record = read_run(run)
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
    from upskill.evaluation.replay import recorded_evaluation
    from upskill.evaluation.report import skill_folder_of

    try:
        evaluation = recorded_evaluation(run, record, name=name)
    except UnreadableResult:
        return
    if evaluation is None:
        return
    cases = frozenset(case.digest for case in record.cases)
    for report in evaluation.students:
        if report.compared[1] == "baseline" and len(report.arms) > 1:
            yield Version(
                day=record.started_at[:10],
                digest=record.skill_digest,
                run=name,
                cases=cases,
                report=report,
                folder=skill_folder_of(run),
            )


Rates = dict[tuple[str, str], tuple[float, float]]


def page_of_two_runs(run: Path, other: Path) -> str:
    """The page of `run` (B) beside an `other` run (A). Raises where the two are one."""
    from upskill.evaluation.report import read_report
    from upskill.report.html import against_page

    if run.resolve() == other.resolve():
        raise UsageError(f"{run}: --against needs a different run", hint="list the runs with `upskill runs`")
    first, second = (read_report(evaluation_in(folder)) for folder in (other, run))
    found = against(
        _side("A", other, first),
        _side("B", run, second),
        _rates(first, second),
        skill=second.facts.skill_folder,
    )
    shared = {(one.model, case) for one in found.shared for case in one.rates}
    page = against_page(
        found,
        _answered(found, first, second),
        cases=[case for case in second.cases if case.id in {case for _, case in shared}],
        trials=_trials(shared, first, second),
    )
    return redactor_from(os.environ).clean_own(page)


def _side(label: str, run: Path, report: "Report") -> RunSide:
    return RunSide(
        label=label,
        run=run.as_posix(),
        day=report.record.started_at[:10],
        evaluation=report.evaluation,
        cases={case.id: case.digest for case in report.record.cases},
        harness=report.record.harness,
    )


def _measured(report: "Report") -> Arm:
    """The arm with the skill that the verdict is about."""
    return report.evaluation.students[0].compared[0] if report.evaluation.students else "with_skill"


def _rates(first: "Report", second: "Report") -> Rates:
    """By model and case, the share of counted answers with the skill that passed in each run."""
    one, other = _passed(first), _passed(second)
    return {key: (_share(one[key]), _share(other[key])) for key in one.keys() & other.keys()}


def _passed(report: "Report") -> dict[tuple[str, str], list[bool]]:
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for _, trial in report.trials():
        if trial.arm == _measured(report) and report.counts(trial) and isinstance(trial.outcome, Scored):
            found[trial.student, trial.case_id].append(trial.outcome.passed)
    return found


def _share(passed: list[bool]) -> float:
    return sum(passed) / len(passed)


def _answered(found: Against, first: "Report", second: "Report") -> Evaluation | None:
    """The second evaluation with the models of both runs, and two arms: the first run's answers and its own."""
    mine = {report.student.name: report for report in first.evaluation.students}
    models = {one.model for one in found.shared}
    students = tuple(
        _two_arms(mine[report.student.name], report)
        for report in second.evaluation.students
        if report.student.name in models
    )
    return replace(second.evaluation, students=students) if students else None


def _two_arms(first: StudentReport, second: StudentReport) -> StudentReport:
    before, after = first.arm(first.compared[0]), second.arm(second.compared[0])
    arms = (
        *([] if before is None else [replace(before, arm="previous")]),
        *([] if after is None else [replace(after, arm="with_skill")]),
    )
    return replace(second, arms=arms, lifts=())


def _trials(shared: Container[tuple[str, str]], first: "Report", second: "Report") -> Iterator[LoggedTrial]:
    """The answers with the skill to shared cases, of the first run and then of the second."""
    arms: tuple[tuple[Report, Arm], ...] = ((first, "previous"), (second, "with_skill"))
    for report, arm in arms:
        for logged in report.logged():
            trial = logged.trial
            if trial.arm == _measured(report) and (trial.student, trial.case_id) in shared:
                yield replace(logged, trial=replace(trial, arm=arm))
