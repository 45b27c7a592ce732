"""Recorded work as values: a trace, whatever recorded it; what was found in it, with its steps; the digest of that.

Not the digest of a content (`upskill.core.nouns.digest`), which is a hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["person", "agent", "harness"]
"""The speaker: a person; the model at work; or the program around it, whatever role it wrote under."""


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
    at: float | None = None
    """When it was written, in seconds since the epoch, as far as the recording says."""


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


FindingKind = Literal["task", "correction", "fix", "proof", "dead end", "fact", "passage"]
"""`task`: what the person asked for. `correction`: the person's correction, verbatim. `fix`: a failed call, the change,
and the rerun that passed. `proof`: a passing check. `dead end`: an approach that was given up. `fact`: a fact about the
environment. `passage`: part of a text without steps.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a finding was seen: session, thread and steps."""

    trace: int
    """Numbered from 1 in the order of the source."""
    thread: str = ""
    """Empty for the main thread, else the subagent, such as `subagent 2`."""
    steps: tuple[int, ...] = ()
    lines: tuple[int, int] | None = None
    """First and last line, of a text that has no steps."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One piece of a finding. A `verbatim` piece is shown as a block, with cuts marked."""

    label: str
    text: str
    verbatim: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One finding of a session. Findings of the same lesson share a `key`."""

    kind: FindingKind
    title: str
    key: str
    places: tuple[Place, ...]
    parts: tuple[Part, ...] = ()
    brief: tuple[Part, ...] = ()
    """The parts in short form."""
    marked: bool = True
    """False where a failure was inferred from text."""
    points: float = 1.0
    """Its value before it is compared with others; see `docs/reference/sessions.md`."""
    count: int = 1
    """How often it was seen."""
    support: int = 1
    """In how many sessions it was seen."""

    @property
    def position(self) -> tuple[int, int]:
        """Where it was seen first: session, and line or step."""
        first = self.places[0] if self.places else Place(trace=0)
        return first.trace, (first.lines or first.steps or (0,))[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceDigest:
    """What a teacher gets: Markdown within a budget of tokens, and its findings."""

    text: str
    tokens: int
    budget: int
    kept: tuple[Finding, ...]
    """Findings in the text; `findings` in JSON."""
    left_out: tuple[Finding, ...] = ()
    """Findings that did not fit."""
    cut: int = 0
    """Findings in short form; `in_brief` in JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSummary:
    """One session in figures."""

    name: str
    """Its file, with `#2` where a file holds several."""
    recorder: str
    title: str
    """The recorder's common name."""
    model: str | None = None
    folder: str | None = None
    success: bool | None = None
    turns: int = 0
    """Typed by the person."""
    agent_steps: int = 0
    calls: int = 0
    tools: Mapping[str, int] = field(default_factory=dict)
    """How often each tool was used, most used first; subagents counted too."""
    marked_failures: int = 0
    unmarked_failures: int = 0
    """Outputs that look like failures in a session without marks."""
    fixes: int = 0
    corrections: int = 0
    proofs: int = 0
    dead_ends: int = 0
    subagents: int = 0
    commands: int = 0
    dropped_branches: int = 0
    tokens: int
    """Tokens of the text that was kept."""
    task: str | None = None
    """The person's first words, if recorded."""
    same_as: str | None = None
    """The name of an earlier, equal session. Copies count once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSource:
    """One session or several, read together."""

    place: str
    """The path as typed, or the file that `last` found."""
    traces: tuple[TraceSummary, ...]
    digest: TraceDigest
    bytes: int
    """Size of everything that was read."""
    bad_lines: int
    """Broken or overlong lines that were skipped."""
    redactions: Mapping[str, int]
    """Removed secrets by kind, never their values."""
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Files that could not be read, with the reason."""

    @property
    def whole_tokens(self) -> int:
        """Estimated tokens of everything that was read."""
        return (self.bytes + 3) // 4
