"""The lines of a plain text, with secrets taken out of whole blocks: some secrets are longer than a line."""

from collections.abc import Iterator

from upskill.traces.source import Recording

_BLOCK = 400_000
_LONGEST_BLOCK = 2_000_000
_UNCUT = 10**9


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
    # What was taken out may have been several lines; those after it keep their numbers.
    yield from [""] * (len(block) - len(lines))
