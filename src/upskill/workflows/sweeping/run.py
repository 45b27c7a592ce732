"""Runs a sweep: hands out what is left as the budget admits it, settles what has ended, and has winners confirmed."""

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from upskill.domain.sweep import Assignment, AttemptEnd, PlannedJob, ResultSummary
from upskill.domain.text import count
from upskill.interruption import interrupts_stop
from upskill.storage.sweep_folder import SweepFolder, value_from_text, value_text
from upskill.workflows.sweeping.budget import SweepBudget, reserve_for, shard_caps, spent
from upskill.workflows.sweeping.engines import Engine, Lost
from upskill.workflows.sweeping.standing import MOST_ATTEMPTS, Shard, Standing, confirmation_of, shard_of

MOST_LOSSES = 3
"""So often a job is handed out again whose worker died; then it is left for another day."""
MOST_UNANSWERED = 20
"""So many evaluations in a row that got no answer at all are no accident: the rest would be tried for nothing."""

Stopped = Literal["interrupt", "unanswered", "time"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """A job without a result, and why."""

    job: PlannedJob
    why: str


@dataclass(kw_only=True, slots=True)
class SweepRun:
    """A sweep that is being run, or one part of it: what is left, what runs, what was charged."""

    at: str
    """As workers open it."""
    standing: Standing
    shard: Shard
    budget: SweepBudget
    waiting: deque[PlannedJob]
    running: dict[str, PlannedJob] = field(default_factory=dict)
    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    """Everything that is known of this part, by id."""
    results: dict[str, ResultSummary] = field(default_factory=dict)
    """Of this part, by id."""
    failed: dict[str, Unfinished] = field(default_factory=dict)
    """By id: those that are not tried again now."""
    stopped: Stopped | None = None
    last: str = ""
    """What the last evaluation that ended has found, in words."""
    _losses: Counter[str] = field(default_factory=Counter)
    _unanswered: int = 0
    _began: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return len(self.results)

    @property
    def left(self) -> int:
        """Waiting or running."""
        return len(self.waiting) + len(self.running)

    @property
    def deaths(self) -> int:
        """Of workers that had a job."""
        return self._losses.total()

    @property
    def interrupted(self) -> bool:
        return self.stopped == "interrupt"

    def not_reached(self) -> dict[str, int]:
        """Why jobs did not start, each reason with how many."""
        if self.stopped is not None:
            return {_STOPPED[self.stopped]: len(self.waiting)} if self.waiting else {}
        reasons = Counter(self.budget.refuses(reserve_for(job)) for job in self.waiting)
        return {f"too little is left of the cap of {cap}": jobs for cap, jobs in reasons.items()}

    def take(self, workers: int) -> tuple[str, str] | None:
        """The next job that the budget admits, with its assignment."""
        minutes = self._minutes_left()
        if minutes == 0:
            self.stopped = self.stopped or "time"
        if self.stopped is not None:
            return None
        for number, job in enumerate(self.waiting):
            reserve = reserve_for(job)
            if self.budget.refuses(reserve) is None:
                del self.waiting[number]
                break
        else:
            return None
        self.budget.reserve(job.id, reserve)
        self.running[job.id] = job
        plan = self.standing.plan
        limits = {
            student: limit.share(workers * self.shard.of)
            for student, limit in plan.limits.items()
            if student in job.students
        }
        given = Assignment(
            at=self.at, plan=plan, job=job, caps=replace(reserve, max_time_minutes=minutes), limits=limits
        )
        return job.id, value_text(given)

    def _minutes_left(self) -> float | None:
        most = self.budget.caps.max_time_minutes
        return None if most is None else max(0.0, most - (time.monotonic() - self._began) / 60)

    def settle(self, identity: str, end: str | Lost, folder: SweepFolder) -> None:
        """Charge a job that has ended, and decide what becomes of it."""
        job = self.running.pop(identity)
        if isinstance(end, Lost):
            self._settle_lost(job, end, folder)
            return
        ended = value_from_text(AttemptEnd, end, where=f"the end of an attempt at {job.skill}")
        self.budget.settle(identity, spent(ended.spending, job))
        self._unanswered = self._unanswered + 1 if not ended.done and not ended.spending.tokens else 0
        if ended.done:
            self._finish(job, ended, folder)
            return
        if self.interrupted:
            self.waiting.appendleft(job)
            return
        why = ended.why or (ended.error.message if ended.error is not None else "it ended early")
        self.failed[identity] = Unfinished(job=job, why=why)
        self.last = f"{job.name}: no result ({why})"
        if self._unanswered >= MOST_UNANSWERED:
            self.stopped = self.stopped or "unanswered"

    def _settle_lost(self, job: PlannedJob, lost: Lost, folder: SweepFolder) -> None:
        result = folder.result(job.id)
        if result is not None:  # it was kept before the worker died
            self.budget.settle(job.id, spent(result.charged, job))
            self._found(job, result.summary)
            return
        self.budget.settle(job.id, None)
        self._losses[job.id] += 1
        self.last = f"{job.name}: its worker died ({lost.why})"
        if self._losses[job.id] > MOST_LOSSES:
            times = count(self._losses[job.id], "time")
            self.failed[job.id] = Unfinished(job=job, why=f"its worker died {times}; the last time: {lost.why}")
        else:
            self.waiting.append(job)  # last: if it kills its worker, the others are done by then

    def _finish(self, job: PlannedJob, ended: AttemptEnd, folder: SweepFolder) -> None:
        verdicts = ended.verdicts
        if not verdicts and (result := folder.result(job.id)) is not None:  # another attempt wrote it
            verdicts = result.summary.verdicts
        self._found(job, ResultSummary(id=job.id, verdicts=verdicts, charged=ended.spending))

    def _found(self, job: PlannedJob, result: ResultSummary) -> None:
        self.results[job.id] = result
        found = ", ".join(f"{student} {verdict}" for student, verdict in result.verdicts.items())
        self.last = f"{job.name}: {found}{' (confirmation)' if job.confirms else ''}"
        confirmation = confirmation_of(job, result, self.standing.plan)
        if confirmation is not None and confirmation.id not in self.results:
            self.jobs[confirmation.id] = confirmation
            self.waiting.appendleft(confirmation)  # first: a verdict that is confirmed is worth more than another one


_STOPPED: Mapping[Stopped, str] = {
    "interrupt": "interrupted",
    "unanswered": f"{MOST_UNANSWERED} evaluations in a row got no answer, so no more were tried",
    "time": "the time is over",
}


class SweepProgress(Protocol):
    """What whoever runs a sweep is told."""

    def note(self, line: str) -> None:
        """Something to read once."""
        ...

    def counted(self, run: SweepRun) -> None:
        """An evaluation has ended, or its worker has died."""
        ...


def prepare_run(standing: Standing, *, at: str, shard: Shard, again: bool) -> SweepRun:
    """What a run, or one part of it, has to do; nothing is started."""
    parts: list[list[PlannedJob]] = [[] for _ in range(shard.of)]
    for job in standing.jobs:
        parts[shard_of(job, shard.of) - 1].append(job)
    charged = [standing.charged(part) for part in parts]
    caps = shard_caps(standing.plan.caps, charged, shard.number - 1)
    run = SweepRun(
        at=at,
        standing=standing,
        shard=shard,
        budget=SweepBudget(caps=caps, charged=charged[shard.number - 1]),
        waiting=deque(),
        jobs={job.id: job for job in parts[shard.number - 1]},
    )
    for job in run.jobs.values():
        tried = standing.attempts.get(job.id)
        if (result := standing.results.get(job.id)) is not None:
            run.results[job.id] = result
        elif tried is not None and tried.ended >= MOST_ATTEMPTS and not again:
            why = tried.why or "it ended early"
            run.failed[job.id] = Unfinished(job=job, why=f"tried {count(tried.ended, 'time')}; the last time: {why}")
        else:
            run.waiting.append(job)
    return run


def run_sweep(
    run: SweepRun, folder: SweepFolder, *, open_engine: Callable[[], Engine], progress: SweepProgress
) -> None:
    """Run what waits. It ends when nothing is left, nothing more is admitted, or a person interrupts it."""
    with open_engine() as engine:
        # Never more at once, as a confirmation begins when its evaluation has ended; so rates are shared by fewer.
        workers = max(1, min(engine.workers, run.left))

        def stop() -> None:
            run.stopped = run.stopped or "interrupt"
            engine.stop()

        progress.note(f"{count(workers, 'worker')}; {count(run.left, 'evaluation')} left")
        with interrupts_stop(stop):
            for identity, end in engine.run(lambda: run.take(workers)):
                run.settle(identity, end, folder)
                progress.counted(run)
