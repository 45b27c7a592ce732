"""The report of a sweep: its results as one table, audited against every answer, and the files that hold it."""

import csv
import gzip
import io
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from upskill import disk
from upskill.core.nouns import Skill, StudentReport
from upskill.core.nouns.text import count, on_one_line, points
from upskill.core.runs.records import now
from upskill.core.statistics.intervals import error_of
from upskill.errors import EngineError
from upskill.report.facts import by_cost, cheapest_sufficient
from upskill.report.formats import safe_cell
from upskill.report.json_report import UnreadableResult, read_evaluation
from upskill.report.junit import junit_of_results
from upskill.sweep.budget import Amount
from upskill.sweep.files import SweepFolder, result_name
from upskill.sweep.objects import open_objects
from upskill.sweep.page import MOST_REPORTS, alerts_json, changes_since, history_line, read_history, sweep_page
from upskill.sweep.run import Attempts, Standing, read_standing
from upskill.sweep.table import (
    AboutSkill,
    RowState,
    SweepTable,
    TableRow,
    lift_words,
    ranked,
    state_words,
    table_csv,
    table_markdown,
)
from upskill.sweep.values import JobSpending, PlannedJob, Row, SweepPlan, SweepResult

FILES = ("report.html", "report.md", "table.csv", "answers.csv.gz", "junit.xml", "alerts.json", "history.jsonl")
ANSWER_COLUMNS = ("evaluation", "skill", "model", *Row._fields[1:])
"""The columns of `answers.csv.gz`. Later versions add columns at the end only."""
CLOSE = 1e-9
"""How far a lift may be from the one that its answers give."""
_MOST_SAID = 20
"""Differences that are listed; the rest is counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepReport:
    """The table, what its answers say about it, and where it was written."""

    table: SweepTable
    answers: int
    compared: int
    """Lifts that were recomputed from their answers."""
    problems: tuple[str, ...]
    """Everything in the results that contradicts their answers; empty where nothing does."""
    folder: str
    """Where the files are."""


def report_sweep(place: str, *, out: Path | None = None) -> SweepReport:
    """Put the results of a sweep into one table and write it, by default to `report` in the folder of the sweep."""
    folder = SweepFolder(place)
    standing = read_standing(folder)
    where = f"{folder.place.rstrip('/')}/report" if out is None else out.as_posix()
    target = folder.objects if out is None else open_objects(str(out.absolute()))
    with _scratch() as scratch:
        with (
            disk.replacing(scratch / "answers.csv.gz") as packed,
            gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=3) as plain,
            io.TextIOWrapper(plain, encoding="utf-8", newline="") as file,
        ):
            read = _Results(folder, standing, csv.writer(file, lineterminator="\r\n").writerow)
        table = _table(standing, read, folder)
        problems = tuple(read.problems())
        disk.write(scratch / "table.csv", table_csv(table))
        disk.write(scratch / "report.md", table_markdown(table, problems))
        disk.write(scratch / "junit.xml", table_junit(table))
        history = target.read("report/history.jsonl" if out is None else "history.jsonl") or b""
        for name, text in _pages(table, problems, history, place).items():
            disk.write(scratch / name, text)
        for name in FILES:
            target.upload(f"report/{name}" if out is None else name, scratch / name)
    return SweepReport(
        table=table,
        answers=read.answers,
        compared=read.compared,
        problems=problems,
        folder=where,
    )


def _pages(table: SweepTable, problems: Sequence[str], history: bytes, place: str) -> dict[str, str]:
    """The page, what to be told of, and the history with this report; a report like the last one adds no line."""
    earlier = history.decode("utf-8", "replace")
    past, line = read_history(earlier), history_line(table, at=now())
    if past and past[-1].states == read_history(line)[0].states:
        past, line = past[:-1], ""
    return {
        "report.html": sweep_page(table, past=past, problems=problems, at=now()[:10], place=place),
        "alerts.json": alerts_json(table, changes_since(table, past), problems),
        "history.jsonl": "".join([*earlier.splitlines(keepends=True)[-MOST_REPORTS:], line]),
    }


_FAILED = {"hurts": "failure", "invalid": "error", "not reached": "error"}


def table_junit(table: SweepTable) -> str:
    """A suite for each skill with a test for each model, which fails where the skill hurts it."""
    suites: defaultdict[str, list[tuple[str, str | None, str]]] = defaultdict(list)
    for row in table.rows:
        answers = "" if row.answers is None else f"; answers: {row.answers}"
        why = f"{lift_words(row)} {state_words(row)}{answers}"
        suites[row.skill].append((row.model or "no model", _FAILED.get(row.state), why))
    return junit_of_results(suites)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder of which nobody else knows: the folder of a sweep may be a stranger's."""
    try:
        with tempfile.TemporaryDirectory(prefix="upskill-report-", ignore_cleanup_errors=True) as name:
            yield Path(name)
    except OSError as error:
        raise EngineError(f"{tempfile.gettempdir()}: cannot be written ({error.strerror})") from None


class _Results:
    """The results of a sweep: read once, in the order of their ids, audited and their answers written one by one."""

    def __init__(self, folder: SweepFolder, standing: Standing, write: Callable[[Iterable[object]], object]) -> None:
        self.answers = self.compared = 0
        self._repeated = self._different = 0
        self._differences: list[str] = []
        self._reports: dict[str, dict[str, StudentReport]] = {}
        self.runs: dict[str, str] = {}
        """The run folder of each evaluation with a result, below the place of the sweep."""
        jobs = {job.id: job for job in standing.jobs if job.id in standing.results}
        write(ANSWER_COLUMNS)
        for result in folder.results(sorted(jobs)):
            where = f"{folder.place}/{result_name(result.id)}"
            self._reports[result.id] = dict(self._read(result, jobs[result.id], where=where))
            self.runs[result.id] = f"attempts/{result.id}/{result.attempt}/run"
            cell = lru_cache(maxsize=None, typed=True)(safe_cell)  # few texts, in many rows
            for row in result.rows:
                write(map(cell, (result.id, result.skill, *row)))

    def of(self, job: PlannedJob) -> Mapping[str, StudentReport]:
        """By model; empty where there is no result."""
        return self._reports.get(job.id, {})

    def problems(self) -> Iterator[str]:
        """Everything in the results that contradicts their answers, a line each."""
        if self._repeated:
            yield f"{count(self._repeated, 'answer')} of {self.answers:,} occur more than once"
        yield from self._differences
        if (more := self._different - len(self._differences)) > 0:
            yield f"{count(more, 'more lift')} are not what their answers give"

    def _read(self, result: SweepResult, job: PlannedJob, *, where: str) -> Iterator[tuple[str, StudentReport]]:
        if (result.version, result.confirms) != (job.version, job.confirms) or set(result.students) != set(
            job.students
        ):
            raise EngineError(f"{where}: is the result of another evaluation than the one that was planned")
        skill = Skill(name=result.name, description="", body="", digest=result.version)
        try:
            evaluation = read_evaluation(result.evaluation, run="", skill=skill, students=(), min_lift=None)
        except UnreadableResult as error:
            raise EngineError(on_one_line(f"{where}: its evaluation cannot be read: {error}")) from None
        answered: defaultdict[str, dict[tuple[str, int, str], Row]] = defaultdict(dict)
        for row in result.rows:
            answered[row.student][row.case, row.repeat, row.arm] = row
        self.answers += len(result.rows)
        self._repeated += len(result.rows) - sum(map(len, answered.values()))
        for report in sorted(evaluation.students, key=lambda one: one.student.name):
            if report.lifts:
                lift = report.lifts[0]
                sides = {"helps": lift.mean > 0, "hurts": lift.mean < 0}
                if not sides.get(report.verdict or "", True):
                    raise EngineError(f"{where}: contradicts itself: {report.verdict}, {points(lift.mean)} points")
                self._audit(result.id, report, answered[report.student.name])
            # A hundred thousand of these are kept: what the table does not need is let go.
            sentence = report.sentence if report.verdict == "invalid" else ""
            yield report.student.name, replace(report, label_lifts=(), loads=None, sentence=sentence)

    def _audit(self, evaluation: str, report: StudentReport, answered: Mapping[tuple[str, int, str], Row]) -> None:
        """Recompute the lift of a model from its answers, as `core.statistics` counts.

        A family of cases is one unit, and each unit has the same weight; with too few of them the lift is the
        difference over all pairs. Where repeats are copies, only the first pair of each case counts.
        """
        lift = report.lifts[0]
        by_case: defaultdict[str, list[int]] = defaultdict(list)
        families: dict[str, str | None] = {}
        for (case, repeat, arm), row in sorted(answered.items()):
            if arm == lift.arm and (against := answered.get((case, repeat, lift.against))) is not None:
                by_case[case].append(row.passed - against.passed)
                families[case] = row.family
        pairs = sum(map(len, by_case.values()))
        if lift.pairs == len(by_case) < pairs:
            by_case = defaultdict(list, {case: differences[:1] for case, differences in by_case.items()})
            pairs = len(by_case)
        units: defaultdict[tuple[bool, str], list[int]] = defaultdict(list)
        for case, differences in by_case.items():
            family = families[case]
            units[family is None, case if family is None else family] += differences
        found = fmean(fmean(unit) for unit in units.values()) if units else None
        self.compared += 1
        overall = [] if found is None else [found, fmean(one for unit in units.values() for one in unit)]
        if pairs == lift.pairs and any(abs(lift.mean - one) <= CLOSE for one in overall):
            return
        self._different += 1
        if len(self._differences) < _MOST_SAID:
            given = "no pair" if found is None else f"{points(found)} points over {count(pairs, 'pair')}"
            claimed = f"{points(lift.mean)} points over {count(lift.pairs, 'pair')}"
            said = f"{evaluation}, {report.student.name}: its result says {claimed}, its answers give {given}"
            self._differences.append(on_one_line(said))


def _table(standing: Standing, results: _Results, folder: SweepFolder) -> SweepTable:
    plan = standing.plan
    planned = [job for job in standing.jobs if job.confirms is None]
    confirmations = {job.confirms: job for job in standing.jobs if job.confirms is not None}
    rows = []
    reports: defaultdict[tuple[str, str], dict[str, StudentReport]] = defaultdict(dict)
    for job in planned:
        second = confirmations.get(job.id)
        again = {} if second is None else results.of(second)
        reports[job.skill, job.version] |= {**results.of(job), **again}
        for model in job.students:
            row = _row(job, model, second, standing, results)
            shown = row.confirmation if row.state == "confirmed" else row.evaluation
            rows.append(replace(row, answers=results.runs.get(shown or "")))
    cheapest = {key: _cheapest(list(found.values())) for key, found in reports.items()}
    rows = [replace(row, **cheapest[row.skill, row.version]) for row in rows]
    by_skill: defaultdict[str, list[PlannedJob]] = defaultdict(list)
    for job in standing.jobs:
        by_skill[job.skill].append(job)
    refused = folder.refused()
    for one in refused:
        for model in one.students or ("",):
            rows.append(TableRow(skill=one.skill, name="", version="", model=model, state="not reached", why=one.why))
    return SweepTable(
        rows=ranked(rows),
        skills=len(
            {(job.skill, job.version) for job in planned} | {(one.skill, "") for one in refused if not one.students}
        ),
        models=tuple(dict.fromkeys(model for group in plan.groups for model in group)),
        evaluations=len(planned),
        evaluations_done=sum(job.id in standing.results for job in planned),
        charged=_spending(standing.charged(standing.jobs), plan),
        charged_for_confirmations=_spending(standing.charged(confirmations.values()), plan),
        unpriced=tuple(one.name for one in plan.students if not one.priced),
        confirms=plan.confirm,
        about={
            skill: AboutSkill(owner=jobs[0].owner, charged=_spending(standing.charged(jobs), plan))
            for skill, jobs in by_skill.items()
        },
    )


def _spending(amount: Amount, plan: SweepPlan) -> JobSpending:
    known = not plan.students or any(one.priced for one in plan.students)
    return JobSpending(calls=amount.calls, tokens=amount.tokens, cost=amount.cost if known else None)


def _row(job: PlannedJob, model: str, second: PlannedJob | None, standing: Standing, results: _Results) -> TableRow:
    row = TableRow(
        skill=job.skill, name=job.name, version=job.version, model=model, evaluation=job.id, state="not reached"
    )
    first = results.of(job).get(model)
    if first is None and job.id in standing.results:
        return replace(row, why="its result does not name this model")
    if first is None:
        tried = standing.attempts.get(job.id)
        is_invalid = tried is not None and tried.verdicts.get(model) == "invalid"
        return replace(row, state="invalid" if is_invalid else "not reached", why=_why_no_result(tried))
    if first.verdict == "invalid":
        return replace(row, state="invalid", why=first.sentence)  # figures would look like a verdict
    level = error_of(first.lifts[0].confidence) if first.lifts else None
    if first.verdict != "helps":
        return replace(_measured(row, first), state=_state(first), level=level)
    again = None if second is None else results.of(second).get(model)
    if again is not None and again.verdict == "helps":
        confirmed = replace(_measured(row, again), state="confirmed", level=level)
        return replace(confirmed, first_lift=first.lifts[0].mean, confirmation=second.id if second else None)
    if again is not None:
        why = f"{again.verdict} in the confirmation"
    elif not standing.plan.confirm:
        why = "no confirmation planned"
    else:
        tried = None if second is None else standing.attempts.get(second.id)
        why = f"confirmation {_why_no_result(tried)}"
    found = replace(_measured(row, first), state="found once", why=why, level=level)
    return replace(found, confirmation=second.id if second is not None and again is not None else None)


def _state(report: StudentReport) -> RowState:
    match report.verdict:
        case "hurts" | "cheaper" | "no difference" | "undecided":
            return report.verdict
        case _:
            return "not compared"


def _why_no_result(tried: Attempts | None) -> str:
    if tried is None:
        return "not started"
    if tried.why is not None:
        return tried.why
    return "killed, or still running" if tried.killed else "no attempt has ended"


def _measured(row: TableRow, report: StudentReport) -> TableRow:
    """The row with the figures of an evaluation."""
    interval = report.interval
    if interval is None:
        return row
    lift = report.lifts[0]
    return replace(
        row,
        lift=lift.mean,
        low=interval.low,
        high=interval.high,
        confidence=lift.confidence,
        interval_for=lift.about,
        pairs=lift.pairs,
        rate_without=lift.rate_against,
        rate_with=lift.rate,
    )


def _cheapest(reports: Sequence[StudentReport]) -> dict[str, Any]:
    """The columns of a table about the cheapest model that does a skill's cases well enough; none where none does."""
    found = cheapest_sufficient(reports)
    if found is None:
        return {}
    return {
        "cheapest_model": found.student,
        "cheapest_with_skill": found.arm != "baseline",
        "cheapest_pass_rate": found.pass_rate,
        "cheapest_per_answer": found.use,
        "cheapest_unit": "dollars" if by_cost(reports) else "tokens",
        "cheapest_surely": found.surely,
    }
