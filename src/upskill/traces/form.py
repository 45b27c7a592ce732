"""Some formats come as one document and as lines. Told by the first line, without reading the rest."""

from upskill.traces.conversation import inner
from upskill.traces.source import Recording


def is_lines(recording: Recording) -> bool:
    """Whether the first line is an object by itself. A file of one such line can be read either way."""
    first = next((line for line in recording.lines() if line.strip()), "")
    return isinstance(inner(first), dict)
