"""How a sweep stands, and running it: what is left is handed out as the budget admits it, what has ended is settled,
and winners are confirmed.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from upskill.core.nouns.text import count
from upskill.interruption import interrupts_stop
from upskill.sweep.budget import Amount, SweepBudget, all_of, reserve_for, shard_caps, spent
from upskill.sweep.engines import Engine, Lost
from upskill.sweep.files import SweepFolder, value_from_text, value_text
from upskill.sweep.values import Assignment, AttemptEnd, PlannedJob, ResultSummary, SweepPlan

MOST_ATTEMPTS = 3
"""So many attempts that ended without a result are made at a job; more only if a person asks for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One of several parts of a sweep that are run apart from each other: part `number` of `of`, from 1."""

    number: int = 1
    of: int = 1

    @property
    def words(self) -> str:
        return "" if self.of == 1 else f" --shard {self.number}/{self.of}"


def shard_of(job: PlannedJob, of: int) -> int:
    """The number of the part that a job belongs to, from 1. A confirmation belongs to the part of its winner."""
    return int(job.confirms or job.id, 16) % of + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempts:
    """What was tried at a job that has no result."""

    ended: int = 0
    killed: int = 0
    """Or still running: nobody can tell."""
    why: str | None = None
    """Why the last one that ended has no result."""
    verdicts: Mapping[str, str] = field(default_factory=dict)
    """The verdicts of the last one that ended, by model."""
    charged: Amount = Amount()  # noqa: RUF009 - frozen


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How a sweep stands. Confirmations are jobs like the others, as soon as their winners are known."""

    plan: SweepPlan
    jobs: tuple[PlannedJob, ...]
    """In the order of the plan, each followed by its confirmation."""
    results: Mapping[str, ResultSummary]
    """By the id of the job."""
    attempts: Mapping[str, Attempts]
    """By the id of each job that was tried and has no result."""

    def charged(self, jobs: Iterable[PlannedJob]) -> Amount:
        """What was charged for these jobs."""
        sum_ = Amount()
        for job in jobs:
            if (result := self.results.get(job.id)) is not None:
                sum_ += spent(result.charged, job)
            elif (tried := self.attempts.get(job.id)) is not None:
                sum_ += tried.charged
        return sum_


def read_standing(folder: SweepFolder) -> Standing:
    """Read the plan and what there is of it. Raises `UsageError` where there is no plan."""
    plan = folder.plan()
    planned = folder.jobs()
    done = folder.done()
    results = folder.summaries(done.intersection(job.id for job in planned))
    jobs = []
    for job in planned:
        jobs.append(job)
        if (confirmation := confirmation_of(job, results.get(job.id), plan)) is not None:
            jobs.append(confirmation)
    results |= folder.summaries(done.intersection(job.id for job in jobs if job.confirms))
    left = [job for job in jobs if job.id not in results]
    tried = folder.attempted() if left else set()
    attempts = {job.id: _attempts(folder, job) for job in left if job.id in tried}
    return Standing(plan=plan, jobs=tuple(jobs), results=results, attempts=attempts)


def confirmation_of(job: PlannedJob, result: ResultSummary | None, plan: SweepPlan) -> PlannedJob | None:
    """The job that measures the winners of this one again; `None` where there are none, or it is a confirmation."""
    if result is None or not plan.confirm or job.confirms is not None:
        return None
    winners = [student for student, verdict in result.verdicts.items() if verdict == "helps"]
    return job.confirmation(winners, seed=plan.seed + 1) if winners else None


def _attempts(folder: SweepFolder, job: PlannedJob) -> Attempts:
    ended = killed = 0
    why = None
    verdicts: Mapping[str, str] = {}
    charged = Amount()
    for attempt in folder.attempts(job.id):
        end = folder.ended(job.id, attempt)
        if end is not None:
            ended += end.why != "interrupted"  # that was a person, and nothing of the job's
            why = end.why or why
            verdicts = end.verdicts
            charged += spent(end.spending, job)
        elif (begun := folder.begun(job.id, attempt)) is not None:
            killed += 1
            charged += all_of(begun.caps)
    return Attempts(ended=ended, killed=killed, why=why, verdicts=verdicts, charged=charged)


UNFINISHED = "ended early"
"""Where an attempt does not say why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progressed:
    """How many of something there are, and how many are done."""

    planned: int
    done: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Why evaluations that were tried have no result."""

    why: str
    evaluations: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepStatus:
    """How far a sweep is, as `upskill sweep status --json` says it. Keys are a promise: added, never changed."""

    planned_at: str
    students: tuple[str, ...]
    evaluations: Progressed
    confirmations: Progressed
    """Those of the winners that are known so far."""
    confirmed: int
    """Pairs of a skill and a model: it helps, and a second evaluation with fresh answers says so too."""
    found_once: int
    """Pairs of which only the first evaluation says so."""
    to_confirm: int
    """Those of them whose second evaluation has no result yet."""
    other_verdicts: Mapping[str, int]
    """How many pairs have each other verdict."""
    without_result: tuple[Reason, ...]
    """The most frequent first."""
    attempts_without_end: int
    """They were killed, or run now."""
    charged: Amount
    max_cost: float | None
    refused: int
    """Skills that cannot be measured, or not on every model."""


def sweep_status(standing: Standing, folder: SweepFolder) -> SweepStatus:
    """Sum up how far a sweep is."""
    plan = standing.plan
    seconds = {job.confirms: job for job in standing.jobs if job.confirms is not None}
    verdicts: Counter[str] = Counter()
    confirmed = once = waiting = 0
    for job in standing.jobs:
        result = standing.results.get(job.id)
        if job.confirms is not None or result is None:
            continue
        second = seconds.get(job.id)
        again = None if second is None else standing.results.get(second.id)
        for student, verdict in result.verdicts.items():
            if verdict != "helps":
                verdicts[verdict] += 1
            elif again is not None and again.verdicts.get(student) == "helps":
                confirmed += 1
            else:
                once += 1
                waiting += second is not None and again is None
    reasons = Counter(one.why or UNFINISHED for one in standing.attempts.values() if one.ended)
    evaluations, confirmations = progressed(standing.jobs, standing.results)
    return SweepStatus(
        planned_at=plan.made_at,
        students=tuple(one.name for one in plan.students),
        evaluations=evaluations,
        confirmations=confirmations,
        confirmed=confirmed,
        found_once=once,
        to_confirm=waiting,
        other_verdicts=dict(verdicts.most_common()),
        without_result=tuple(Reason(why=why, evaluations=number) for why, number in reasons.most_common()),
        attempts_without_end=sum(one.killed for one in standing.attempts.values()),
        charged=standing.charged(standing.jobs),
        max_cost=plan.caps.max_cost,
        refused=len({one.skill for one in folder.refused()}),
    )


def progressed(jobs: Iterable[PlannedJob], done: Collection[str]) -> tuple[Progressed, Progressed]:
    """How far the evaluations of the plan are, and the confirmations of those with a winner."""
    parts: tuple[list[str], list[str]] = ([], [])
    for job in jobs:
        parts[job.confirms is not None].append(job.id)
    firsts, seconds = (Progressed(planned=len(part), done=sum(id in done for id in part)) for part in parts)
    return firsts, seconds


MOST_LOSSES = 3
"""So often a job is handed out again whose worker died; then it is left for another day."""
MOST_UNANSWERED = 20
"""So many evaluations in a row that got no answer at all are no accident: the rest would be tried for nothing."""

Stopped = Literal["interrupt", "unanswered", "time"]


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
    """The results of this part, by id."""
    failed: dict[str, str] = field(default_factory=dict)
    """By id: why those that are not tried again now have no result."""
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
    def first_evaluations(self) -> tuple[int, int]:
        """Done and planned, without confirmations: the second number stays as it is while winners are confirmed."""
        planned = [id for id, job in self.jobs.items() if job.confirms is None]
        return sum(id in self.results for id in planned), len(planned)

    @property
    def confirmations(self) -> tuple[int, int]:
        """Done and known so far."""
        known = [id for id, job in self.jobs.items() if job.confirms is not None]
        return sum(id in self.results for id in known), len(known)

    @property
    def deaths(self) -> int:
        """How often a worker died that had a job."""
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
        why = ended.why or UNFINISHED
        self.failed[identity] = why
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
            self.failed[job.id] = f"its worker died {times}; the last time: {lost.why}"
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
            why = tried.why or UNFINISHED
            run.failed[job.id] = f"tried {count(tried.ended, 'time')}; the last time: {why}"
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
