"""How a sweep stands: which of its evaluations have a result, which are left, and what was charged. Asks no model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from upskill.domain.sweep import PlannedJob, ResultSummary, SweepPlan
from upskill.storage.sweep_folder import SweepFolder
from upskill.workflows.sweeping.budget import Amount, all_of, spent

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
    """Of the last one that ended, by model."""
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
            why = end.why or (end.error and end.error.message) or why
            verdicts = end.verdicts
            charged += spent(end.spending, job)
        elif (begun := folder.begun(job.id, attempt)) is not None:
            killed += 1
            charged += all_of(begun.caps)
    return Attempts(ended=ended, killed=killed, why=why, verdicts=verdicts, charged=charged)
