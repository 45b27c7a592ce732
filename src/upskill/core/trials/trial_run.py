"""What the engine is given to run a plan, and what a student with tools works under, the same in every arm.

Who decides which turn comes next, and why, is not known here."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol

from upskill.core.models import Endpoint, MeteredClient
from upskill.core.nouns import Answer, Arm, Case, Files, Grade, PlannedTrial, Skill, Student, Trial, TrialPlan, Turn
from upskill.core.nouns.text import estimated_tokens
from upskill.sandbox import Limits, Mount, Sandbox, SandboxSpec, open_sandbox

_ENTRY_CHARACTERS = 50
"""Characters of one skill in a list, beside its name and its description: a path, or tags around both."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentProgram:
    """An agent as it is installed on this machine, and how a sandbox sees it."""

    path: Path
    """What was found on the search path, or named by the setting `agent_bin`."""
    version: str
    mounts: tuple[Mount, ...]
    """Its files, read-only."""
    command: str
    """The program to start, by its path inside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSetup:
    """What the student is beside its model, and which skills lie beside the one that is measured: equal in all arms."""

    program: AgentProgram | None = None
    """The coding agent; `None` for a harness of ours."""
    others: tuple[Skill, ...] = ()
    """Skills that are offered in every arm, the baseline too."""
    bundled: bool = False
    """Whether the skills that come with the agent are offered as well."""

    def identity(self) -> dict[str, object]:
        """What of this can change an answer, as plain values. Nothing where nothing was asked for."""
        known: dict[str, object] = {
            "agent": None if self.program is None else self.program.version,
            "others": [[skill.name, skill.digest] for skill in self.others],
            "bundled": self.bundled,
        }
        return {name: value for name, value in known.items() if value}

    @property
    def listing_tokens(self) -> int:
        """Estimated tokens of the list of other skills, which every request carries."""
        listed = sum(len(skill.name) + len(skill.description) + _ENTRY_CHARACTERS for skill in self.others)
        return estimated_tokens(listed)


SKILLS = "/skills"
"""Where skills lie in a sandbox, for those who have one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialLimits:
    """The limits of one trial. Who runs into one has failed; nothing went wrong."""

    turns: int = 30
    """Answers of the model, those that call tools included."""
    tokens: int = 200_000
    """In and out together, over all its calls."""
    seconds: int = 600
    """Seconds of work: waiting for a provider that is busy is not counted."""
    command_seconds: int = 60
    """One command line."""
    output_characters: int = 16_000
    """Characters of a tool's result; what is longer loses its middle."""
    files: int = 500
    """New and changed files that a student may leave."""
    file_bytes: int = 5 * 2**20
    """Those files together."""
    confined: bool = True
    """`False` where a person asked for no sandbox."""
    place: Limits = field(default_factory=Limits)
    """What everything in the sandbox may use together."""
    setup: AgentSetup = field(default_factory=AgentSetup)
    """The coding agent and the other skills."""
    stop_at_load: bool = False
    """End an answer as soon as the skill is loaded, where only that is measured."""
    text_calls: bool = True
    """Whether tool calls are read that a model behind a base URL writes as text."""

    def identity(self) -> dict[str, object]:
        """What of this can change an answer, as plain values."""
        limits = asdict(replace(self, setup=AgentSetup()))
        del limits["setup"]
        if not self.stop_at_load:
            del limits["stop_at_load"]
        if self.text_calls:
            del limits["text_calls"]
        return {"limits": limits, **self.setup.identity()}


def skill_folder(skill: Skill, trial_limits: TrialLimits) -> str:
    """Where a student finds a skill. Without a sandbox there is no root of its own, so it lies beside its folder."""
    return f"{SKILLS}/{skill.name}" if trial_limits.confined else f"..{SKILLS}/{skill.name}"


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
    texts: Mapping[str, Skill] = field(default_factory=dict)
    """By the case's id: the version of the skill that is given with it, where it is another."""
    controls: Mapping[Arm, Skill] = field(default_factory=dict)
    """By the arm: what is given in the place of the skill."""
    open_sandbox: Callable[[SandboxSpec], Sandbox] = open_sandbox
    """Where students with tools work."""
    close: Callable[[], Awaitable[None]] | None = None
    """Called on the engine's event loop when the last student has ended."""
    note: Callable[[str], None] = lambda _: None
    """Hears what a person should know of the run as a whole."""
