"""What a report needs beside the result: where it came from, what was asked, what came back, how the estimate moved."""

from dataclasses import dataclass, field

from upskill.core.nouns import Files, Interval, Trial
from upskill.core.nouns.answer import AgentSteps


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


REASONS = {
    "decided": "the result was clear",
    "no difference": "a lift of any useful size was excluded",
    "min lift": "the required lift was shown or excluded",
    "withdrawn": "the stopping boundary was crossed, but the final test did not confirm it",
    "futile": "more repeats were unlikely to decide it",
    "copies": "repeats returned the same answers, so each case counts once",
    "regraded": "the original run stopped there",
    "judge": "the grades were clear, but the judge's errors leave it open",
    "cap": "the plan was complete",
    "budget": "the budget was reached",
    "interrupted": "the run was interrupted",
}
"""Why a sequential design stopped, after `because`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PathPoint:
    """The estimate after so many pairs."""

    pairs: int
    mean: float
    these_cases: Interval
    cases_like_these: Interval | None
    round_end: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentPath:
    """How one student's estimate moved, pair by pair, to the end."""

    student: str
    points: tuple[PathPoint, ...]
    cap: int
    """The most pairs there could have been."""
