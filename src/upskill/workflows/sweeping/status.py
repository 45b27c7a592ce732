"""How far a sweep is, for people: what is done and found, what was tried without a result, what was charged."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from upskill.domain.sweep import SweepPlan
from upskill.storage.sweep_folder import SweepFolder
from upskill.workflows.sweeping.budget import Amount
from upskill.workflows.sweeping.standing import Standing, read_standing

UNFINISHED = "ended early"
"""Where an attempt does not say why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progressed:
    """How many of something there are, and how many are done."""

    planned: int
    done: int

    @property
    def left(self) -> int:
        return self.planned - self.done


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepStatus:
    """How far a sweep is."""

    plan: SweepPlan
    evaluations: Progressed
    confirmations: Progressed
    """Of the winners that are known so far."""
    confirmed: int
    """Pairs of a skill and a model: it helps, and a second evaluation with fresh answers says so too."""
    found_once: int
    """Pairs of which only the first evaluation says so."""
    to_confirm: int
    """Those of them whose second evaluation has no result yet."""
    verdicts: Mapping[str, int]
    """How many pairs have each other verdict."""
    reasons: Mapping[str, int]
    """Why evaluations that were tried have no result, the most frequent first."""
    killed: int
    """Attempts without an end: they were killed, or run now."""
    charged: Amount
    refused: int
    """Skills that cannot be measured, or not on every model."""


def sweep_status(folder: SweepFolder) -> SweepStatus:
    """Read how far a sweep is. Raises `UsageError` where there is no plan."""
    standing = read_standing(folder)
    firsts = [job for job in standing.jobs if job.confirms is None]
    seconds = {job.confirms: job for job in standing.jobs if job.confirms is not None}
    verdicts: Counter[str] = Counter()
    confirmed = once = waiting = 0
    for job in firsts:
        result = standing.results.get(job.id)
        second = seconds.get(job.id)
        again = None if second is None else standing.results.get(second.id)
        for student, verdict in ({} if result is None else result.verdicts).items():
            if verdict != "helps":
                verdicts[verdict] += 1
            elif again is not None and again.verdicts.get(student) == "helps":
                confirmed += 1
            else:
                once += 1
                waiting += second is not None and again is None
    return SweepStatus(
        plan=standing.plan,
        evaluations=_progressed(standing, firsts=True),
        confirmations=_progressed(standing, firsts=False),
        confirmed=confirmed,
        found_once=once,
        to_confirm=waiting,
        verdicts=dict(verdicts.most_common()),
        reasons=_reasons(standing),
        killed=sum(one.killed for one in standing.attempts.values()),
        charged=standing.charged(standing.jobs),
        refused=len({one.skill for one in folder.refused()}),
    )


def _progressed(standing: Standing, *, firsts: bool) -> Progressed:
    jobs = [job for job in standing.jobs if (job.confirms is None) == firsts]
    return Progressed(planned=len(jobs), done=sum(job.id in standing.results for job in jobs))


def _reasons(standing: Standing) -> dict[str, int]:
    ended = (one for one in standing.attempts.values() if one.ended)
    return dict(Counter(one.why or UNFINISHED for one in ended).most_common())
