"""What the engine is given to run a plan. Who decides which turn comes next, and why, is not known here."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from upskill.core.models import Endpoint, MeteredClient
from upskill.core.nouns import Answer, Arm, Case, Files, Grade, PlannedTrial, Skill, Student, Trial, TrialPlan, Turn
from upskill.core.trials.trial_limits import TrialLimits
from upskill.sandbox import Sandbox, SandboxSpec, open_sandbox


class Schedule(Protocol):
    """The order of one student's trials. Called on the engine's event loop, so it must return at once."""

    def take(self) -> Turn | None:
        """The next turn to begin; `None` when none may begin now. Asked again after every turn that ends."""
        ...

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """A turn that was taken has ended in all its arms, whatever order the answers came in."""
        ...


class Claims(Protocol):
    """Keeps two evaluations at once from buying the same trial. Each trial that is claimed is recorded or let go."""

    def claim(self, student: Student, planned: PlannedTrial, trial_id: str) -> bool:
        """Whether a trial may be bought now; false while another evaluation is buying it. Returns at once."""
        ...

    def was_bought_elsewhere(self, student: Student, planned: PlannedTrial, trial_id: str) -> bool:
        """Whether `recall` would find a trial that was claimed just now. May take long: ask off the event loop."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRun:
    """Everything the engine needs to run a plan."""

    plan: TrialPlan
    skill: Skill
    previous: Skill | None
    """An older version of the skill, where two versions are compared."""
    endpoints: Mapping[str, Endpoint]
    """The endpoint of each student, by the student's name."""
    client: MeteredClient
    grade: Callable[[Case, Answer], Grade]
    schedules: Mapping[str, Schedule]
    """The schedule of each student, by the student's name."""
    record: Callable[[Trial], None]
    """Hears of every trial that was bought, as it ends."""
    recall: Callable[[Student, PlannedTrial, str], Trial | None]
    """Finds a trial that need not be bought."""
    logs: Path
    engine_data: Path
    claims: Claims | None = None
    """Asked before a trial is bought."""
    trial_limits: TrialLimits = field(default_factory=TrialLimits)
    """What students with tools work under."""
    contents: Mapping[str, Files] = field(default_factory=dict)
    """For students with tools: the files of each skill, by the skill's digest."""
    open_sandbox: Callable[[SandboxSpec], Sandbox] = open_sandbox
    """Where students with tools work."""
    close: Callable[[], Awaitable[None]] | None = None
    """Called on the engine's event loop when the last student has ended."""
