"""What is remembered of a run at a glance: enough for tables and histories, without its trials."""

from dataclasses import dataclass

from upskill.domain.lift import Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class PastResult:
    """What a run found for one student. Figures are `None` where nothing was measured or compared."""

    model: str
    harness: str
    verdict: str | None
    sentence: str
    against: str | None
    """What the skill was measured against: `baseline`, or `previous`."""
    before: float | None
    """The pass rate there."""
    arm: str | None
    after: float | None
    """The pass rate with the skill."""
    lift: float | None
    interval: Interval | None
    """The one that the verdict rests on: for cases like these, or for these very cases where `narrow`."""
    narrow: bool
    pairs: int | None
    spent: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PastRun:
    """One run folder; `problem` says why it cannot be read, and then the rest is unknown."""

    folder: str
    """Where it is, with forward slashes."""
    status: str
    skill: str | None = None
    digest: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    results: tuple[PastResult, ...] = ()
    cost: float | None = None
    sentence: str | None = None
    """Of a `generate`: what came of it, or how far it got; `None` for an evaluation, whose results speak."""
    problem: str | None = None

    @property
    def day(self) -> str:
        """The day it began, as a label."""
        return (self.started_at or "")[:10]
