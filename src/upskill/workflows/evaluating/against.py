"""Lay two runs beside each other, from what their folders hold. Calls no model."""

import os
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path

from upskill import storage
from upskill.domain import Evaluation, Scored, StudentReport
from upskill.domain.trial import Arm
from upskill.errors import UsageError
from upskill.redaction import redactor_from
from upskill.reporting.against import Against, RunSide, against
from upskill.reporting.html import LoggedTrial, against_page
from upskill.workflows.evaluating.report import Report, read_report

Rates = dict[tuple[str, str], tuple[float, float]]


def page_of_two_runs(run: Path, other: Path) -> str:
    """The page of `run` (B) beside an `other` run (A). Raises where the two are one."""
    if run.resolve() == other.resolve():
        raise UsageError(f"{run}: --against needs a different run", hint="list the runs with `upskill runs`")
    first, second = (read_report(storage.evaluation_in(folder)) for folder in (other, run))
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


def _side(label: str, run: Path, report: Report) -> RunSide:
    return RunSide(
        label=label,
        run=run.as_posix(),
        day=report.record.started_at[:10],
        evaluation=report.evaluation,
        cases={case.id: case.digest for case in report.record.cases},
        harness=report.record.harness,
    )


def _measured(report: Report) -> Arm:
    """The arm with the skill that the verdict is about."""
    return report.evaluation.students[0].compared[0] if report.evaluation.students else "with_skill"


def _rates(first: Report, second: Report) -> Rates:
    """By model and case, the share of counted answers with the skill that passed in each run."""
    one, other = _passed(first), _passed(second)
    return {key: (_share(one[key]), _share(other[key])) for key in one.keys() & other.keys()}


def _passed(report: Report) -> dict[tuple[str, str], list[bool]]:
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for _, trial in report.trials():
        if trial.arm == _measured(report) and report.counts(trial) and isinstance(trial.outcome, Scored):
            found[trial.student, trial.case_id].append(trial.outcome.passed)
    return found


def _share(passed: list[bool]) -> float:
    return sum(passed) / len(passed)


def _answered(found: Against, first: Report, second: Report) -> Evaluation | None:
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


def _trials(shared: Container[tuple[str, str]], first: Report, second: Report) -> Iterator[LoggedTrial]:
    """The answers with the skill to shared cases, of the first run and then of the second."""
    arms: tuple[tuple[Report, Arm], ...] = ((first, "previous"), (second, "with_skill"))
    for report, arm in arms:
        for logged in report.logged():
            trial = logged.trial
            if trial.arm == _measured(report) and (trial.student, trial.case_id) in shared:
                yield replace(logged, trial=replace(trial, arm=arm))
