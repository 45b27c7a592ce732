"""A trace: recorded work, whatever recorded it."""

from dataclasses import dataclass
from typing import Literal

Source = Literal["person", "agent", "harness"]
"""Who spoke: a person; the model at work; or the program around it, whatever role it wrote under."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One use of a tool. `arguments` is the command itself for a shell, else JSON, cut where it is long."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """The result of a call. `failed` is what the recording itself marks, `None` where it marks nothing."""

    call_id: str
    content: str
    failed: bool | None = None
    exit_code: int | None = None
    looks_failed: bool = False
    """Judged by its text alone; never counted as a mark."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One message, with the calls it made and their results. Numbered from 1 in the order kept."""

    number: int
    source: Source
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    observations: tuple[Observation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Subtrace:
    """The work of a subagent, under the call that began it; `None` where the recording does not say which."""

    call_id: str | None
    trace: "Trace"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One piece of recorded work: the branch that was kept, duplicates merged, noise marked."""

    recorder: str
    """The format, such as `claude-code` or `codex`."""
    steps: tuple[Step, ...]
    whole: str | None = None
    """The recording itself where it is plain text, without steps."""
    subtraces: tuple[Subtrace, ...] = ()
    folder: str | None = None
    """Where the work was done, as recorded."""
    model: str | None = None
    success: bool | None = None
    """What the recording itself says of the outcome; few do."""
    commands: int = 0
    """Slash commands typed by the person, which are no turns."""
    dropped_branches: int = 0
    """Rewound branches and rolled back turns, left out."""
    notes: tuple[str, ...] = ()
    """What a person should know about the reading: file and line, never content."""
