"""An attempt at one evaluation of a sweep: JSON in, JSON out, in this process. Knows nothing of who hands it out.

What earlier attempts bought is not bought again; what this one buys is kept while it runs. A result is written once.
"""

import json
import secrets
import shutil
import socket
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from upskill import reporting, storage
from upskill.domain import Evaluation, Scored, StudentReport, Trial
from upskill.domain.job import JobError, JobSpending
from upskill.domain.sweep import Assignment, AttemptBegun, AttemptEnd, RowValues, SweepResult
from upskill.domain.text import on_one_line
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.models import MeteredClient
from upskill.settings import ResolvedSettings
from upskill.storage.run_folders import RUN_FILE, TRIALS_FILE
from upskill.storage.runs import now
from upskill.storage.skill_archive import extract_archive
from upskill.storage.skill_copy import SKILL_COPY, keep_skill_text, skill_text
from upskill.storage.sweep_folder import SweepFolder, value_from_text, value_text
from upskill.workflows.evaluating.evaluate import ParentRun, evaluate
from upskill.workflows.evaluating.prepare import EvaluationOrder, PreparedEvaluation
from upskill.workflows.evaluating.spending import client_for
from upskill.workflows.sweeping.bought import AttemptProgress, as_one_run, asked_for
from upskill.workflows.sweeping.conditions import planned_student
from upskill.workflows.sweeping.job_settings import job_settings, require_planned_endpoints
from upskill.workflows.sweeping.planned_skill import cost_at_most, job_id

_ROUNDING = 1e-6
_CUT_SHORT = frozenset({"cap reached", "endpoint down", "interrupted"})


def run_attempt(text: str) -> str:
    """The end of an attempt at the job of an assignment. Every error comes back as data, an interrupt too.

    One attempt per process at a time: the engine changes the environment and the signal handling of its process.
    """
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    try:
        assignment = value_from_text(Assignment, text, where="the assignment")
        attempt = _Attempt(assignment, name)
    except UpskillError as error:
        return value_text(AttemptEnd(id="", attempt=name, done=False, why=_line(error), error=_job_error(error)))
    return value_text(attempt.run())


class _Attempt:
    def __init__(self, assignment: Assignment, name: str) -> None:
        self._assignment = assignment
        self._plan = assignment.plan
        self._job = assignment.job
        self._folder = SweepFolder(assignment.at)
        self._name = name
        self._client = MeteredClient()
        self._has_begun = False

    def run(self) -> AttemptEnd:
        interrupted = False
        try:
            result = self._folder.result(self._job.id)
            if result is not None:
                return self._end(done=True, verdicts=result.summary.verdicts)
            with self._scratch() as scratch:
                end = self._measure(scratch)
        except KeyboardInterrupt:
            interrupted = True
            end = self._end(why="interrupted")
        except UpskillError as error:
            end = self._end(why=_line(error), error=_job_error(error))
        except Exception as error:  # noqa: BLE001 - the top of a process that somebody else started: it answers in data
            end = self._end(why=f"a bug in upskill: {_line(error)}", error=_job_error(error))
        if interrupted and not self._has_begun:
            return end  # nobody has to know
        try:
            self._folder.keep_ended(end)
            if end.done:
                self._folder.remove_trials(self._job.id)  # nobody reads them once there is a result
        except EngineError as error:  # then it is charged in full
            return replace(end, why=end.why or _line(error), error=end.error or _job_error(error))
        return end

    def _end(self, *, done: bool = False, **values: Any) -> AttemptEnd:
        spending = self._spending
        return AttemptEnd(id=self._job.id, attempt=self._name, done=done, spending=spending, **values)

    @property
    def _spending(self) -> JobSpending:
        spent = self._client.spent
        return JobSpending(calls=spent.calls, tokens=spent.tokens, cost=spent.cost)

    def _measure(self, scratch: Path) -> AttemptEnd:
        """Evaluate, and keep the run and its result."""
        require_planned_endpoints(self._plan, self._job.students)  # this machine may not be the one that announced them
        self._charged()  # raises before the first call where nobody could say at the end what was charged
        # Looks of one run are told from those of another by the name of its folder.
        run = storage.run_folder_at(scratch / self._name)
        skill, case_file = extract_archive(self._folder.input(self._job.input), scratch / "input")
        keep_skill_text(run.path, skill_text(skill, storage.read_skill(skill)))
        ledger = _Looks(scratch / "looks.jsonl", self._earlier_looks())
        settings = self._settings(run.path, ledger)
        self._client = client_for(settings.values)
        self._client.limits = self._assignment.limits
        progress = AttemptProgress(
            run.trials.path, keep=self._keep_trials, begin=self._begin, counts_all=self._plan.runs is not None
        )

        families: dict[str, str | None] = {}

        def on_prepared(prepared: PreparedEvaluation) -> None:
            self._require_planned(prepared)
            families.update((case.id, case.family) for case in prepared.plan.cases)
            with run.trials.open() as log:
                for trial in asked_for(as_one_run(self._kept_trials()), prepared):
                    log.append(trial)
            progress.begin_after_these()

        try:
            evaluation = evaluate(
                EvaluationOrder(skill=skill, case_file=case_file, repeats=self._plan.runs, fresh=True),
                settings=settings,
                progress=progress,
                parent=ParentRun(
                    client=self._client,
                    folder=run,
                    on_prepared=on_prepared,
                    goes_on=True,
                    counts_looks=self._job.confirms is None,
                ),
            )
        finally:
            progress.close()
        evaluation = replace(evaluation, run=f"attempts/{self._job.id}/{self._name}/run")
        why = _why_no_result(evaluation)
        self._keep_run(run.path, failed=why is not None)
        said = reporting.evaluation_json(evaluation)
        if why is not None:
            return self._end(why=why, evaluation=said, verdicts=_verdicts(evaluation))
        result = self._folder.keep_result(
            SweepResult(
                id=self._job.id,
                skill=self._job.skill,
                name=self._job.name,
                version=self._job.version,
                students=self._job.students,
                attempt=self._name,
                evaluation=said,
                rows=tuple(_rows(run.trials.load(), progress.counts, families)),
                looks=tuple(ledger.new(run=f"attempts/{self._job.id}/{self._name}")),
                spending=self._spending,
                charged=self._charged(),
                confirms=self._job.confirms,
                finished_at=now(),
            )
        )
        return self._end(done=True, verdicts=result.summary.verdicts)

    def _settings(self, run: Path, ledger: "_Looks") -> ResolvedSettings:
        chosen = job_settings(
            {
                **self._plan.settings,
                "models": self._job.students,
                "harness": self._plan.harness,
                "seed": self._plan.seed_of(self._job),
            },
            caps=self._assignment.caps,
        )
        # A folder that holds no other runs: how fast those went would be read otherwise.
        return replace(chosen, values=replace(chosen.values, runs_dir=str(run), ledger=str(ledger.path)))

    def _earlier_looks(self) -> Iterator[Mapping[str, Any]]:
        if self._job.confirms is None:
            for result in self._folder.results(self._job.earlier):
                yield from result.looks

    def _require_planned(self, prepared: PreparedEvaluation) -> None:
        """Raise where this would measure something else than what the job's id stands for."""
        planned = {one.name: one.served for one in self._plan.students}
        served = {name: planned_student(one, prepared.served[name]).served for name, one in prepared.endpoints.items()}
        problems = [
            f"{name} is served by another model than when the plan was made"
            for name in served
            if served[name] != planned[name]
        ]
        at_most = cost_at_most(prepared) or 0.0
        if at_most > (self._job.cost_at_most or 0.0) + _ROUNDING:
            # Of what is free nobody was asked, and nothing is reserved.
            problems.append(f"it costs more than the plan says: {reporting.dollars(at_most)} at most")
        if not problems and self._job.confirms is None and job_id(prepared, served) != self._job.id:
            problems.append("this version of upskill, or its environment, would ask something else")
        if problems:
            raise UsageError(
                f"{self._job.name}: the plan does not hold any more: {problems[0]}",
                problems=problems,
                hint="make the plan again: upskill sweep plan FILE --at PLACE",
            )

    def _begin(self) -> None:
        begun = AttemptBegun(caps=self._assignment.caps, host=socket.gethostname(), at=now())
        self._folder.keep_begun(self._job.id, self._name, begun)
        self._has_begun = True

    def _keep_trials(self, number: int, lines: bytes) -> None:
        self._folder.keep_trials(self._job.id, self._name, number, lines)

    @cached_property
    def _attempts_before(self) -> dict[str, list[str]]:
        return self._folder.attempts(self._job.id)

    def _kept_trials(self) -> Iterator[Trial]:
        for attempt, files in self._attempts_before.items():
            yield from self._folder.trials(self._job.id, attempt, files)

    def _charged(self) -> JobSpending:
        """What all attempts are charged with: this one, those that ended, and in full those of which nobody knows."""
        charged = self._spending
        for attempt in self._folder.attempts(self._job.id):
            if attempt == self._name:
                continue
            if (ended := self._folder.ended(self._job.id, attempt)) is not None:
                charged += ended.spending
            elif (begun := self._folder.begun(self._job.id, attempt)) is not None:
                charged += begun.charge
        return charged

    def _keep_run(self, run: Path, *, failed: bool) -> None:
        names = [RUN_FILE, TRIALS_FILE, SKILL_COPY]
        if self._plan.logs == "all" or (self._plan.logs == "failures" and failed):
            names += [f"logs/{path.name}" for path in sorted((run / "logs").iterdir()) if path.is_file()]
        files = {name: run / name for name in names}
        self._folder.keep_run(self._job.id, self._name, {name: path for name, path in files.items() if path.exists()})

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        """A folder of this attempt alone, of which nobody else knows. Removed at the end."""
        try:
            scratch = Path(tempfile.mkdtemp(prefix="upskill-sweep-"))
        except OSError as error:
            raise EngineError(f"there is no place to work in: {error.filename} ({error.strerror})") from None
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


class _Looks:
    """A ledger that begins with the looks of earlier results."""

    def __init__(self, path: Path, earlier: Iterator[Mapping[str, Any]]) -> None:
        self.path = path
        lines = [json.dumps(look, ensure_ascii=True) + "\n" for look in earlier]
        try:
            path.write_text("".join(lines), encoding="ascii")
        except OSError as error:
            raise EngineError(f"{path}: cannot be written ({error.strerror})") from None
        self._known = path.stat().st_size

    def new(self, *, run: str) -> Iterator[Mapping[str, Any]]:
        """The looks that came since, as those of this run."""
        with self.path.open("rb") as file:
            file.seek(self._known)
            for line in file:
                yield {**json.loads(line), "run": run}


def _why_no_result(evaluation: Evaluation) -> str | None:
    """Why an evaluation may be tried again, in a line; `None` where it is complete and valid."""
    if evaluation.interrupted:
        return "interrupted"
    for report in evaluation.students:
        name = report.student.name
        if report.end in _CUT_SHORT:
            return on_one_line(f"{name}: {_cut_short(evaluation, report)}")
        if report.verdict in (None, "invalid"):
            return on_one_line(f"{name}: invalid: {report.sentence}")
    return None


def _cut_short(evaluation: Evaluation, report: StudentReport) -> str:
    if report.end == "cap reached":
        return f"stopped at {evaluation.end.cap}"
    said = next((one.said for one in evaluation.end.outages if one.model == report.student.model), "no answer")
    return f"the endpoint went down ({said})"


def _verdicts(evaluation: Evaluation) -> dict[str, str]:
    return {one.student.name: one.verdict for one in evaluation.students if one.verdict is not None}


def _rows(trials: list[Trial], counts: Any, families: Mapping[str, str | None]) -> Iterator[RowValues]:
    """Every scored answer that counts, once; in an order that does not depend on when it came."""
    last = {trial.key: trial for trial in trials if isinstance(trial.outcome, Scored) and counts(trial)}
    for key in sorted(last):
        trial = last[key]
        assert isinstance(trial.outcome, Scored)
        family = families.get(trial.case_id)
        yield (*key, trial.outcome.passed, trial.calls, trial.usage.cost, family)


def _line(error: Exception) -> str:
    message = error.message if isinstance(error, UpskillError) else str(error) or type(error).__name__
    return on_one_line(message)


def _job_error(error: Exception) -> JobError:
    if isinstance(error, UpskillError):
        problems = tuple(on_one_line(one) for one in error.problems)
        return JobError(kind=type(error).__name__, message=_line(error), hint=error.hint, problems=problems)
    lines = tuple(on_one_line(line) for line in traceback.format_exc().splitlines())
    return JobError(kind=type(error).__name__, message=_line(error), hint="this is a bug in upskill", problems=lines)
