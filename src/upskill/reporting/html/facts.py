"""What a page needs beside the result: where it came from, what was asked, what came back. A workflow hands it in."""

from dataclasses import dataclass, field

from upskill.domain import Files, Trial
from upskill.domain.agent_step import AgentSteps


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseText:
    """One case as the report shows it."""

    id: str
    prompt: str | None
    """`None` where the case has changed since, or is gone."""
    digest: str | None = None
    """Of the case as it was in the run."""
    use: str | None = None
    files: Files = field(default_factory=dict)
    checks: tuple[tuple[str, str], ...] = ()
    """Kind of each check, and what it asks for in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedTrial:
    """A finished trial, and where it stands in the files of its run."""

    trial: Trial
    line: int
    """In `trials.jsonl`, from 1."""
    counted: bool = True
    """Whether the verdict rests on it."""
    log: str | None = None
    """The engine's log."""
    sample: str | None = None
    """Its name in that log."""
    tries: int = 1
    steps: AgentSteps | None = None
    """What a student with tools did; `None` where it has none, or the log is not here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """Where the numbers come from."""

    skill: str
    """The name of the skill."""
    skill_folder: str | None = None
    """Where the skill is, seen from where the page is made; `None` where it is not, or is another by now."""
    case_file: str | None = None
    """Where the cases are, seen from there; `None` where they are the skill's own, or elsewhere."""
    resume: str | None = None
    """The command that resumes the run, where more must be typed than the run."""
    folder: str
    """The run folder, as it is named."""
    logs: str | None = None
    """The engine's logs, as a shell reads the path; `None` where there are none."""
    logs_from: str = "from any folder"
    """Where that path leads there from, in words."""
    status: str
    started_at: str
    finished_at: str | None
    harness: str | None = None
    """`None`, as what follows, where nothing was measured."""
    seed: int | None = None
    skill_digest: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    settings: tuple[tuple[str, str, str], ...] = ()
    """Name, value and origin of what was set."""
    problems: tuple[str, ...] = ()
    """What could not be read, in words."""
