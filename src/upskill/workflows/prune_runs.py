"""Prunes old runs, chosen by age or number: never one that is running, never a folder that is no run."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from upskill import storage
from upskill.domain.evaluation import PastRun
from upskill.domain.progress import SILENT, Progress
from upskill.errors import UpskillError


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunePlan:
    """The runs that will be removed, and those that stay although they are old."""

    going: tuple[PastRun, ...]
    """Newest first."""
    bytes: int
    at_work: tuple[PastRun, ...]
    """Old enough to go, but possibly still running."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneResult:
    """The runs that were removed, and why others could not be."""

    gone: tuple[PastRun, ...]
    bytes: int
    problems: tuple[str, ...]


def choose(
    runs: Iterable[PastRun], *, older_than: timedelta | None, keep: int | None, skills: Collection[str], now: datetime
) -> PrunePlan:
    """Choose runs older than `older_than`, except the newest `keep`; without an age, all but the newest `keep`.

    With skills, only their runs are considered. Runs that cannot be read are never chosen.
    """
    mine = [run for run in runs if run.problem is None and (not skills or run.skill in skills)]
    old = [run for run in mine[keep or 0 :] if older_than is None or _is_older(run, now - older_than)]
    old = [run for run in old if not Path(run.folder).is_symlink()]
    busy = {run.folder for run in old if run.status == "running" and storage.is_at_work(Path(run.folder))}
    going = tuple(run for run in old if run.folder not in busy)
    return PrunePlan(
        going=going,
        bytes=sum(storage.size_of(Path(run.folder)) for run in going),
        at_work=tuple(run for run in old if run.folder in busy),
    )


def _is_older(run: PastRun, moment: datetime) -> bool:
    """Whether a run ended before a moment, by its own record; `False` where that has no time."""
    try:
        ended = datetime.fromisoformat(run.finished_at or run.started_at or "")
    except ValueError:
        return False
    return (ended if ended.tzinfo else ended.replace(tzinfo=UTC)) < moment


def prune(plan: PrunePlan, *, progress: Progress = SILENT) -> PruneResult:
    """Remove the chosen runs. One that cannot be removed is reported, and the others are still removed."""
    gone, freed, problems = [], 0, []
    for number, run in enumerate(plan.going, 1):
        size = storage.size_of(Path(run.folder))
        try:
            storage.remove(Path(run.folder))
        except UpskillError as error:
            problems.append(error.message)
            continue
        gone.append(run)
        freed += size
        progress.step("removing runs", number, len(plan.going))
    return PruneResult(gone=tuple(gone), bytes=freed, problems=tuple(problems))
