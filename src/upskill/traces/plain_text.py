"""Text of no known recorder. It has no steps, so it is passed on whole."""

from collections.abc import Iterator

from upskill.domain.trace import Trace
from upskill.errors import UsageError
from upskill.traces.recording import Reader, Recording

RECORDER = "text"
LARGEST = 8_000_000
"""Characters that are read. What has no structure cannot be cut by worth, and more than this nobody can be given."""
KEPT = 400_000
"""Characters that are kept: about as much as a large model takes in at once."""
_BLOCK = 400_000
_LONGEST_BLOCK = 2_000_000
_UNCUT = 10**9


def read(recording: Recording) -> Iterator[Trace]:
    """One trace without steps; `whole` carries the text."""
    lines, length = [], 0
    for line in recording.lines():
        length += len(line) + 1
        if length > LARGEST:
            raise UsageError(
                f"{recording.path}: is plain text of more than {LARGEST // 1_000_000} million characters",
                hint="name the session file that the agent wrote, or only the relevant part of the text",
            )
        lines.append(line)
    text = "\n".join(lines).strip()
    if length > KEPT:
        recording.note(f"only the first and last {KEPT // 2:,} of {length:,} characters were read")
    yield Trace(recorder=RECORDER, steps=(), whole=recording.clean(text, limit=KEPT))


def cleaned_lines(recording: Recording) -> Iterator[str]:
    """Every line of a text as it may be kept, streamed in blocks that end at blank lines."""
    block: list[str] = []
    size = 0
    open_keys = 0
    for line in recording.lines():
        block.append(line)
        size += len(line) + 1
        if line.startswith("-----"):
            open_keys += line.count("-----BEGIN") - line.count("-----END")
        if (size >= _BLOCK and not line.strip() and open_keys <= 0) or size >= _LONGEST_BLOCK:
            yield from _cleaned(recording, block)
            block, size, open_keys = [], 0, 0
    if block:
        yield from _cleaned(recording, block)


def _cleaned(recording: Recording, block: list[str]) -> Iterator[str]:
    lines = recording.clean("\n".join(block), limit=_UNCUT).split("\n")
    yield from lines
    # A secret may have been several lines; the lines after it keep their numbers.
    yield from [""] * (len(block) - len(lines))


READER = Reader(name=RECORDER, title="plain text", read=read, in_text=lambda _: True)
