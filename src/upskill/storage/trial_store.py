"""The contract of an answer cache: the scored answers of earlier runs, and how many answers were lost before them."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from upskill.domain import Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTrial:
    """A cached answer with the names, the case and the grade of the run that asked for it."""

    trial: Trial
    stored_at: datetime


class TrialStore(Protocol):
    """A cache: whatever goes wrong with it costs calls, never a run and never a number, and is told in `notes`.

    Called on the engine's event loop, so each method returns soon, also where the store is locked, full, damaged or
    read-only, and none of them raises for that.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know about the store; complete once it is closed."""
        ...

    def recall(
        self, trial_id: str, *, fingerprint: str | None, newest_after: datetime | None = None
    ) -> StoredTrial | None:
        """The stored trial of this identity, if it is newer than that moment and what is served is the same."""
        ...

    def keep(self, trial: Trial, *, fingerprint: str | None) -> None:
        """Keep a scored trial for others, and add what it lost to what was lost; an errored one is let go."""
        ...

    def lost_answers(self, trial_id: str, *, fingerprint: str | None) -> int:
        """Answers that were lost in all trials of this identity that were handed to `keep`, scored or errored."""
        ...


@runtime_checkable
class Reserving(TrialStore, Protocol):
    """A store that also keeps two evaluations at once from buying the same trial."""

    def reserve(self, trial_id: str, *, fingerprint: str | None) -> bool:
        """Whether this process may buy a trial now; false while another process is buying the same one."""
        ...

    def release(self, trial_id: str, *, fingerprint: str | None) -> None:
        """Let others buy a trial, or find it: called once it was kept, or came to nothing."""
        ...


def default_store_path() -> Path:
    """The default path of the cache. Call it before a run, because the engine gets another cache folder."""
    from platformdirs import user_cache_path

    return user_cache_path("upskill", appauthor=False) / "trials.sqlite3"
