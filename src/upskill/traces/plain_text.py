"""Text of no known recorder: nothing in it is told apart, so it is passed on whole."""

from collections.abc import Iterator

from upskill.domain.trace import Trace
from upskill.errors import UsageError
from upskill.traces.source import Recording

RECORDER = "text"
LARGEST = 8_000_000
"""Characters that are read. What has no structure cannot be cut by worth, and more than this nobody can be given."""
KEPT = 400_000
"""Characters that are kept: about as much as a large model takes in at once."""


def read(recording: Recording) -> Iterator[Trace]:
    """One trace without steps; `whole` carries the text."""
    lines, length = [], 0
    for line in recording.lines():
        length += len(line) + 1
        if length > LARGEST:
            raise UsageError(
                f"{recording.path}: a plain text of more than {LARGEST // 1_000_000} million characters",
                hint="pass the recording that the agent itself wrote, or the part of the text that matters",
            )
        lines.append(line)
    text = "\n".join(lines).strip()
    if length > KEPT:
        recording.note(f"of {length:,} characters the first and the last {KEPT // 2:,} are kept")
    yield Trace(recorder=RECORDER, steps=(), whole=recording.clean(text, limit=KEPT))
