"""Recorded work -> Trace. One reader per recorder, recognised by content. Knows no use of a trace."""

from dataclasses import dataclass
from pathlib import Path

from upskill.domain.trace import Trace
from upskill.errors import UsageError
from upskill.traces.readers import READERS, detect
from upskill.traces.recording import Clean, Recording, unchanged

__all__ = ["Clean", "Reading", "read_traces"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was found in one recording."""

    recorder: str
    """The format, such as `claude-code`; `text` where it is none of the known ones."""
    traces: tuple[Trace, ...]
    """One without steps for `text`."""
    bad_lines: int = 0
    """Lines left out because they are broken or too long."""
    notes: tuple[str, ...] = ()
    """What a person should know: file and line, never content."""
    size: int = 0
    """Bytes of content that were read, unpacked, with subagents' files."""


def read_traces(path: Path, *, clean: Clean = unchanged) -> Reading:
    """Tell the format and read it. Every text in the traces has gone through `clean`, whole, before it was cut.

    Raises `UsageError` where there is nothing to read: no such file, empty, of no known format.
    """
    recording = Recording(path, clean=clean)
    recorder = detect(recording)
    traces = tuple(trace for trace in READERS[recorder].read(recording) if trace.steps or trace.whole is not None)
    if not traces:
        raise UsageError(f"{path}: an empty session of {recorder}", problems=recording.notes)
    return Reading(
        recorder=recorder, traces=traces, bad_lines=recording.bad_lines, notes=recording.notes, size=recording.size
    )
