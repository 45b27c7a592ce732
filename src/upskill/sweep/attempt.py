"""An attempt at one evaluation of a sweep: JSON in, JSON out, in this process. Knows nothing of who hands it out.

What earlier attempts bought is not bought again; what this one buys is kept while it runs. A result is written once.
"""

import json
import secrets
import socket
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upskill import disk
from upskill.core.models import MeteredClient
from upskill.core.nouns import Evaluation, PlannedTrial, Scored, StudentReport, Trial
from upskill.core.nouns.look import CUT_SHORT
from upskill.core.nouns.skill import RUN_FILE
from upskill.core.nouns.text import on_one_line
from upskill.core.nouns.trial import TrialKey
from upskill.core.progress import RunProgress
from upskill.core.runs.records import TRIALS_FILE, now
from upskill.core.runs.run_folders import run_folder_at
from upskill.core.runs.skill_copy import SKILL_COPY, keep_skill_text, skill_text
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.skills import read_skill
from upskill.core.trials.measure import Experiment
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.evaluation.cases import Half
from upskill.evaluation.estimate import client_for
from upskill.evaluation.evaluate import first_record, run_evaluation
from upskill.evaluation.looks import look_notes, looks_of
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import PreparedEvaluation, prepare
from upskill.report.json_report import evaluation_json
from upskill.report.wording import dollars
from upskill.sweep.files import SweepFolder, value_from_text, value_text
from upskill.sweep.plan import job_settings, planned_student, require_planned_endpoints
from upskill.sweep.skills import cost_at_most, extract_archive, job_id
from upskill.sweep.values import (
    Assignment,
    AttemptBegun,
    AttemptEnd,
    JobSpending,
    Row,
    SweepResult,
)

if TYPE_CHECKING:
    from upskill.core.models import MeteredClient
    from upskill.core.statistics import DroppedPair, Pair


_ROUNDING = 1e-6


def run_attempt(text: str) -> str:
    """The end of an attempt at the job of an assignment. Every error comes back as data, an interrupt too.

    One attempt per process at a time: the engine changes the environment and the signal handling of its process.
    """
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    try:
        assignment = value_from_text(Assignment, text, where="the assignment")
        attempt = _Attempt(assignment, name)
    except UpskillError as error:
        return value_text(AttemptEnd(id="", attempt=name, done=False, **_ended_by(error)))
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
        except Exception as error:  # noqa: BLE001 - the top of a process that somebody else started: it answers in data
            end = self._end(**_ended_by(error))
        if interrupted and not self._has_begun:
            return end  # nobody has to know
        try:
            self._folder.keep_ended(end)
            if end.done:
                self._folder.remove_trials(self._job.id)  # nobody reads them once there is a result
        except EngineError as error:  # then it is charged in full
            return end if end.why else replace(end, **_ended_by(error))
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
        run = run_folder_at(scratch / self._name)
        skill, case_file = extract_archive(self._folder.input(self._job.input), scratch / "input")
        keep_skill_text(run.path, skill_text(skill, read_skill(skill)))
        ledger = _Looks(scratch / "looks.jsonl", self._earlier_looks())
        settings = self._settings(run.path, ledger)
        self._client = client_for(settings.values)
        self._client.limits = self._assignment.limits
        progress = AttemptProgress(
            run.trials.path, keep=self._keep_trials, begin=self._begin, counts_all=self._plan.runs is not None
        )

        half: Half | None = None
        if self._plan.confirm:
            half = "first" if self._job.confirms is None else "second"
        order = EvaluationOrder(skill=skill, case_file=case_file, repeats=self._plan.runs, fresh=True, half=half)
        prepared = prepare(order, settings.values, progress=progress)
        self._require_planned(prepared)
        families = {case.id: case.family for case in prepared.experiment.plan.cases}
        looks = looks_of(prepared, settings.values) if self._job.confirms is None else None
        terms = {} if looks is None else looks.terms()
        with run.trials.open() as log:
            for trial in asked_for(as_one_run(self._kept_trials()), prepared.experiment):
                log.append(trial)
        progress.begin_after_these()
        prepared = replace(prepared, notes=(*prepared.notes, *look_notes(terms)))
        try:
            evaluation = run_evaluation(
                prepared,
                settings.values,
                run,
                replace(first_record(prepared, settings, run), looks={} if looks is None else looks.opened(run.path)),
                client=self._client,
                looks=looks,
                resumed=True,
                progress=progress,
            )
        finally:
            progress.close()
        evaluation = replace(evaluation, run=f"attempts/{self._job.id}/{self._name}/run")
        why = _why_no_result(evaluation)
        self._keep_run(run.path, failed=why is not None)
        said = evaluation_json(evaluation)
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
        seen, endpoints = prepared.experiment.served, prepared.experiment.endpoints
        served = {name: planned_student(one, seen[name]).served for name, one in endpoints.items()}
        problems = [
            f"{name} is served by another model than when the plan was made"
            for name in served
            if served[name] != planned[name]
        ]
        at_most = cost_at_most(prepared) or 0.0
        if at_most > (self._job.cost_at_most or 0.0) + _ROUNDING:
            # Of what is free nobody was asked, and nothing is reserved.
            problems.append(f"it costs more than the plan says: {dollars(at_most)} at most")
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
            names += [f"logs/{path.name}" for path in disk.plain_files(run / "logs")]
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
            disk.remove_folder(scratch)


class _Looks:
    """A ledger that begins with the looks of earlier results."""

    def __init__(self, path: Path, earlier: Iterator[Mapping[str, Any]]) -> None:
        self.path = path
        lines = [json.dumps(look, ensure_ascii=True) + "\n" for look in earlier]
        try:
            disk.write(path, "".join(lines))
        except OSError as error:
            raise EngineError(f"{path}: cannot be written ({error.strerror})") from None
        self._known = path.stat().st_size

    def new(self, *, run: str) -> Iterator[Mapping[str, Any]]:
        """The looks that were closed since, as those of this run."""
        with disk.opened(self.path) as file:
            file.seek(self._known)
            for line in file:
                look = json.loads(line)
                if look["ended_at"] is not None:
                    yield {**look, "run": run}


def _why_no_result(evaluation: Evaluation) -> str | None:
    """Why an evaluation may be tried again, in a line; `None` where it is complete and valid."""
    if evaluation.interrupted:
        return "interrupted"
    for report in evaluation.students:
        name = report.student.name
        if report.end in CUT_SHORT:
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


def _rows(trials: list[Trial], counts: Any, families: Mapping[str, str | None]) -> Iterator[Row]:
    """Every scored answer that counts, once; in an order that does not depend on when it came."""
    last = {trial.key: trial for trial in trials if isinstance(trial.outcome, Scored) and counts(trial)}
    for key in sorted(last):
        trial = last[key]
        assert isinstance(trial.outcome, Scored)
        family = families.get(trial.case_id)
        yield Row(*key, trial.outcome.passed, trial.calls, trial.usage.cost, family)


def _ended_by(error: Exception) -> dict[str, Any]:
    """Why an attempt ended, as an error says it."""
    said = on_one_line(error.message if isinstance(error, UpskillError) else str(error) or type(error).__name__)
    if isinstance(error, UpskillError):
        lines = (*([error.hint] if error.hint else []), *error.problems)
    else:
        said, lines = f"a bug in upskill: {said}", tuple(traceback.format_exc().splitlines())
    return {"why": said, "error": type(error).__name__, "details": tuple(map(on_one_line, lines))}


PAUSES = (0.5, 2.0, 8.0, 30.0)
"""Seconds before answers that could not be kept are tried again; then nothing more is bought."""


def as_one_run(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of several attempts, oldest attempt first, as if they were of one run.

    Two attempts may have bought the same answer: the first that was scored counts. What the other one lost is not
    forgotten, because lost answers decide whether a result is valid.
    """
    found: list[Trial] = []
    scored: dict[TrialKey, int] = {}
    for trial in trials:
        if (known := scored.get(trial.key)) is not None:
            first = found[known]
            found[known] = replace(first, lost=first.lost + trial.lost_answers)
            continue
        if isinstance(trial.outcome, Scored):
            scored[trial.key] = len(found)
        found.append(trial)
    return found


def asked_for(trials: Iterable[Trial], experiment: Experiment) -> Iterator[Trial]:
    """Those of the trials that answer what would be asked now, word for word."""
    requests = experiment.requests
    cases = {case.id: case for case in experiment.plan.cases}
    students = {student.name: student for student in experiment.plan.students}
    for trial in trials:
        case, student = cases.get(trial.case_id), students.get(trial.student)
        if case is None or student is None or trial.arm not in experiment.plan.arms_of(case):
            continue
        planned = PlannedTrial(case=case, arm=trial.arm, repeat=trial.repeat)
        if requests.trial_id(planned, student) == trial.id:
            yield trial


class AttemptProgress(RunProgress):
    """Keeps new lines of the trial log as they come, by a thread of its own; knows which answers count.

    While it keeps some, more come: those are kept together the next time.
    """

    def __init__(
        self, log: Path, *, keep: Callable[[int, bytes], None], begin: Callable[[], None], counts_all: bool
    ) -> None:
        """`keep` is given a number, one more each time, and whole lines; `begin` is called before the first request.

        `counts_all`: in a fixed design no answer comes too late.
        """
        self._log = log
        self._keep = keep
        self._begin = begin
        self._counts_all = counts_all
        self._fed: set[tuple[str, str, int]] = set()
        self._offset = 0
        self._number = 0
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._failed: EngineError | None = None
        self._thread: threading.Thread | None = None

    def begin_after_these(self) -> None:
        """The lines that are in the log now were kept before."""
        self._offset = self._log.stat().st_size

    def counts(self, trial: Trial) -> bool:
        """Whether the verdict rests on an answer: those that came after the decision change nothing."""
        return self._counts_all or (trial.student, trial.case_id, trial.repeat) in self._fed

    def evaluation_begun(self, client: "MeteredClient") -> None:
        self._begin()
        self._thread = threading.Thread(target=self._work, name="sweep-trials", daemon=True)
        self._thread.start()

    def trial_finished(self, trial: Trial) -> None:
        if self._failed is not None:
            raise self._failed  # whatever is bought now would be lost
        self._woken.set()

    def pair_finished(self, student: str, pair: "Pair | DroppedPair", *, over: bool) -> None:
        self._fed.add((student, pair.case_id, pair.repeat))

    @property
    def is_at_work(self) -> bool:
        """Whether answers are being kept; no more once that failed."""
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        """Keep what is left. Raises `EngineError` where that cannot be kept."""
        if self._thread is None:
            return
        self._closing.set()
        self._woken.set()
        self._thread.join()
        self._thread = None
        if self._failed is not None:
            raise self._failed

    def _work(self) -> None:
        while self._failed is None:
            self._woken.wait()
            self._woken.clear()
            # Looked at before the log is read: what was written before closing is then certainly in it.
            closing = self._closing.is_set()
            self._keep_new_lines()
            if closing:
                return

    def _keep_new_lines(self) -> None:
        with disk.opened(self._log) as file:
            file.seek(self._offset)
            lines = file.read()
        lines = lines[: lines.rfind(b"\n") + 1]
        if not lines:
            return
        for pause in (*PAUSES, None):
            try:
                self._keep(self._number + 1, lines)
            except EngineError as error:
                if pause is None:
                    self._failed = error
                    return
                self._closing.wait(pause)
            else:
                self._number += 1
                self._offset += len(lines)
                return
