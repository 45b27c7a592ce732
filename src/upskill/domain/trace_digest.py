"""The digest of a trace: what was found in recorded work, each with its steps, cut to a budget by worth.

Not the digest of a content (`upskill.domain.digest`), which is a hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FindingKind = Literal["task", "correction", "fix", "proof", "dead end", "fact", "passage"]
"""What a digest holds.

`task`: what the person asked. `correction`: what the person put right, verbatim. `fix`: a call that failed, what
changed, and the rerun that passed. `proof`: a passing check. `dead end`: what was tried and given up. `fact`: something
about the environment. `passage`: a piece of a text that has no steps.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a finding was seen: which trace of the source, which thread of it, which steps."""

    trace: int
    """Numbered from 1 in the order of the source."""
    thread: str = ""
    """Empty for the main thread, else the subagent, such as `subagent 2`."""
    steps: tuple[int, ...] = ()
    lines: tuple[int, int] | None = None
    """First and last line, of a text that has no steps."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One piece of a finding. `verbatim` is set apart as a block; cuts in it are marked."""

    label: str
    text: str
    verbatim: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing worth knowing. `key` is what two findings of the same lesson have in common."""

    kind: FindingKind
    title: str
    key: str
    places: tuple[Place, ...]
    parts: tuple[Part, ...] = ()
    brief: tuple[Part, ...] = ()
    """The parts where space is short: the same, cut harder."""
    marked: bool = True
    """False where the failure was judged by its text, since the recording marks none."""
    points: float = 1.0
    """What it is worth before it is compared with the others: see `docs/explanation/what-a-digest-keeps.md`."""
    count: int = 1
    """How often it was seen."""
    support: int = 1
    """In how many traces it was seen."""

    @property
    def position(self) -> tuple[int, int]:
        """Where it was seen first: the trace, and the line or step of it."""
        first = self.places[0] if self.places else Place(trace=0)
        return first.trace, (first.lines or first.steps or (0,))[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceDigest:
    """What a teacher is given: `text`, Markdown within `budget` tokens, and the findings it holds."""

    text: str
    tokens: int
    budget: int
    kept: tuple[Finding, ...]
    left_out: tuple[Finding, ...] = ()
    """Findings that did not fit."""
    cut: int = 0
    """Kept findings that are in their brief form."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSummary:
    """One trace in figures, as a person wants to see it."""

    name: str
    """The file it is from, with `#2` where a file holds several."""
    recorder: str
    title: str
    """The recorder as people know it."""
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
    """Calls that look failed by their text, where the recording marks nothing."""
    fixes: int = 0
    corrections: int = 0
    proofs: int = 0
    dead_ends: int = 0
    subagents: int = 0
    commands: int = 0
    dropped_branches: int = 0
    tokens: int
    """Of the text that was kept of it."""
    task: str | None = None
    """The first words of the person; `None` where the recording does not hold them."""
    same_as: str | None = None
    """The name of an equal trace that came before it; such a one is counted once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSource:
    """One trace or many, read as one source of lessons."""

    place: str
    """The path as it was typed, or the file that `last` found."""
    traces: tuple[TraceSummary, ...]
    digest: TraceDigest
    bytes: int
    """The size of all that was read, as recorded."""
    bad_lines: int
    """Lines left out because they are broken or too long."""
    redactions: Mapping[str, int]
    """How many secrets were taken out, by kind; never their values."""
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Files of a folder that could not be read, each with the reason."""

    @property
    def whole_tokens(self) -> int:
        """The estimated tokens of the whole recording."""
        return (self.bytes + 3) // 4
