"""Moments of recorded sessions as values: one correction, one repaired command, one look-up; and a session of them."""

from dataclasses import dataclass
from typing import Literal

MomentKind = Literal["correction", "instruction", "repair", "look-up", "search"]
"""`correction`: a person's turn after work of the agent. `instruction`: a rule typed with a task. `repair`: a command
that failed, and the other form that then worked. `look-up`: a help page, a document or a search in the web that was
read. `search`: many steps of looking around before a file was found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """One episode, in the terms by which it is compared with others, and as it is shown."""

    kind: MomentKind
    step: int
    thread: str = ""
    """Empty for the main thread, else the subagent."""
    at: float | None = None
    quote: str
    """What was typed or run, on one line, without secrets."""
    outcome: str = ""
    """What was then done: the command that worked, the file that was found."""
    said: tuple[str, ...] = ()
    """Terms of the words, of the error, or of what was looked for."""
    refused: tuple[str, ...] = ()
    """Those of them that were said no to."""
    added: tuple[str, ...] = ()
    """Terms of what was done afterwards and not before."""
    removed: tuple[str, ...] = ()
    """Terms of what was done before and not afterwards."""
    answer: str = ""
    """A digest of what a look-up brought; equal where it brought the same."""
    corrects: bool = True
    """Whether the words correct, forbid or remind; a further request does not."""
    transient: bool = False
    """Whether the same command was simply run again."""
    tokens: int = 0
    seconds: float = 0.0

    @property
    def typed(self) -> bool:
        """Whether a person typed it."""
        return self.kind in ("correction", "instruction")


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillLoad:
    """A skill that was loaded in a session."""

    skill: str
    step: int
    corrected: bool
    """Whether a correction followed it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MinedSession:
    """What one session brought. Holds no more of it than its moments."""

    name: str
    """Its file below the folder that was read, with `#2` where a file holds several."""
    recorder: str
    fingerprint: str
    """Equal for equal work, whichever file it lies in."""
    began: float | None = None
    """Seconds since the epoch, as recorded."""
    folder: str | None = None
    """Where the work was done, as recorded."""
    moments: tuple[Moment, ...] = ()
    loads: tuple[SkillLoad, ...] = ()
    edited: tuple[str, ...] = ()
    """Files that were changed, as they are named from the folder of the work."""
    flaky: int = 0
    """Commands that failed and then passed as they were."""
    skipped_outputs: int = 0
    """Outputs that were too long to be read."""
