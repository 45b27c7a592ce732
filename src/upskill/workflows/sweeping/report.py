"""The report of a sweep: its results as one table, audited against every answer, and the files that hold it."""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from upskill.domain import Skill, StudentReport
from upskill.domain.job import JobSpending
from upskill.domain.sweep import PlannedJob, SweepPlan, SweepResult
from upskill.domain.sweep_table import Cheapest, RowState, SweepTable, TableRow, ranked
from upskill.domain.text import count, on_one_line, points
from upskill.errors import EngineError
from upskill.reporting.read_evaluation import UnreadableResult, read_evaluation
from upskill.reporting.sufficient_students import by_cost, cheapest_sufficient
from upskill.reporting.sweep_files import TABLE_TYPES, table_cells, table_csv, table_markdown
from upskill.storage.objects import Objects
from upskill.storage.sweep_folder import SweepFolder, result_name
from upskill.workflows.sweeping.budget import Amount
from upskill.workflows.sweeping.reduce import Audit, Claimed, Difference, Reducer, has_duckdb
from upskill.workflows.sweeping.standing import Attempts, Standing, read_standing

FILES = ("report.md", "table.csv", "table.parquet", "answers.parquet")
_NEEDS_DUCKDB = "python -m pip install duckdb, or in a clone of upskill: python -m pip install '.[sweep]'"


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepReport:
    """The table, what its answers say about it, and where it was written."""

    table: SweepTable
    audit: Audit
    problems: tuple[str, ...]
    """Everything in the results that contradicts their answers; empty where nothing does."""
    folder: str
    """Where the files are."""


def report_sweep(place: str, *, out: Path | None = None) -> SweepReport:
    """Put the results of the sweep at `place` into one table and write it, by default to `report` in the sweep folder.

    Raises `EngineError` without DuckDB, after the files that need none were written.
    """
    folder = SweepFolder(place)
    standing = read_standing(folder)
    where = f"{folder.place.rstrip('/')}/report" if out is None else out.as_posix()
    target = folder.objects if out is None else Objects(str(out.absolute()))

    def publish(names: Iterable[str]) -> None:
        for name in names:
            target.upload(f"report/{name}" if out is None else name, scratch / name)

    with _scratch() as scratch:
        if not has_duckdb():
            read = _Results(folder, standing, None)
            table = _table(standing, read, folder)
            (scratch / "table.csv").write_text(table_csv(table), encoding="utf-8", newline="")
            publish(["table.csv"])
            raise EngineError(
                f"the report needs duckdb; only {where}/table.csv was written, and it was not audited",
                hint=_NEEDS_DUCKDB,
            )
        with Reducer(scratch) as reducer:
            read = _Results(folder, standing, reducer)
            table = _table(standing, read, folder)
            reducer.write_answers(scratch / "answers.parquet")
            audit = reducer.audit(scratch / "answers.parquet", read.claimed)
            reducer.write_table([table_cells(row) for row in table.rows], TABLE_TYPES, scratch / "table.parquet")
        problems = tuple(_problems(audit))
        (scratch / "table.csv").write_text(table_csv(table), encoding="utf-8", newline="")
        (scratch / "report.md").write_text(table_markdown(table, problems), encoding="utf-8")
        publish(FILES)
    return SweepReport(table=table, audit=audit, problems=problems, folder=where)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder of which nobody else knows: the folder of a sweep may be a stranger's."""
    try:
        with tempfile.TemporaryDirectory(prefix="upskill-report-", ignore_cleanup_errors=True) as name:
            yield Path(name)
    except OSError as error:
        raise EngineError(f"{tempfile.gettempdir()}: cannot be written ({error.strerror})") from None


class _Results:
    """The results of a sweep: read once, in the order of their ids, their answers handed on."""

    def __init__(self, folder: SweepFolder, standing: Standing, reducer: Reducer | None) -> None:
        self.claimed: list[Claimed] = []
        self._reports: dict[str, dict[str, StudentReport]] = {}
        jobs = {job.id: job for job in standing.jobs if job.id in standing.results}
        for result in folder.results(sorted(jobs)):
            where = f"{folder.place}/{result_name(result.id)}"
            self._reports[result.id] = dict(self._read(result, jobs[result.id], where=where))
            if reducer is not None:
                reducer.add(result.id, result.skill, result.rows)

    def of(self, job: PlannedJob) -> Mapping[str, StudentReport]:
        """By model; empty where there is no result."""
        return self._reports.get(job.id, {})

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
        for report in evaluation.students:
            if report.lifts:
                lift = report.lifts[0]
                sides = {"helps": lift.mean > 0, "hurts": lift.mean < 0}
                # Earlier looks are in other results; where there are none, all pairs are in this one.
                most_earlier = lift.pairs if job.earlier else 0
                if not sides.get(report.verdict or "", True) or not 0 <= report.earlier_pairs <= most_earlier:
                    raise EngineError(
                        f"{where}: contradicts itself: {report.verdict}, {report.earlier_pairs} earlier pairs"
                    )
                self.claimed.append(
                    Claimed(
                        evaluation=result.id,
                        model=report.student.name,
                        arm=lift.arm,
                        against=lift.against,
                        mean=lift.mean,
                        pairs=lift.pairs,
                        earlier=report.earlier_pairs,
                    )
                )
            # A hundred thousand of these are kept: what the table does not need is let go.
            sentence = report.sentence if report.verdict == "invalid" else ""
            yield report.student.name, replace(report, label_lifts=(), loads=None, judge_error=None, sentence=sentence)


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
            rows.append(_row(job, model, second, standing, results))
    cheapest = {key: _cheapest(list(found.values())) for key, found in reports.items()}
    rows = [replace(row, cheapest=cheapest[row.skill, row.version]) for row in rows]
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
    level = (1 - first.lifts[0].confidence) / 2 if first.lifts else None
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
    narrow = report.claim == "these cases" or lift.cases_like_these is None
    return replace(
        row,
        lift=lift.mean,
        low=interval.low,
        high=interval.high,
        confidence=lift.confidence,
        interval_for="these cases" if narrow else "cases like these",
        pairs=lift.pairs,
        rate_without=lift.rate_against,
        rate_with=lift.rate,
    )


def _cheapest(reports: Sequence[StudentReport]) -> Cheapest | None:
    found = cheapest_sufficient(reports)
    if found is None:
        return None
    return Cheapest(
        model=found.student,
        with_skill=found.arm != "baseline",
        pass_rate=found.pass_rate,
        use=found.use,
        unit="dollars" if by_cost(reports) else "tokens",
        surely=found.surely,
    )


def _problems(audit: Audit) -> Iterator[str]:
    if audit.rows != audit.distinct:
        yield f"{count(audit.rows - audit.distinct, 'answer')} of {audit.rows:,} occur more than once"
    yield from map(_difference_words, audit.differences)
    if (more := audit.different - len(audit.differences)) > 0:
        yield f"{count(more, 'more lift')} are not what their answers give"


def _difference_words(one: Difference) -> str:
    found = "no pair" if one.found is None else f"{points(one.found)} points over {count(one.found_pairs, 'pair')}"
    claimed = f"{points(one.claimed)} points over {count(one.claimed_pairs, 'pair')}"
    return on_one_line(f"{one.evaluation}, {one.model}: its result says {claimed}, its answers give {found}")
