"""A stretch of text that is a secret, and of which kind."""

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """What to take out. Where two overlap, the more specific kind (the higher `weight`) names the whole."""

    start: int
    end: int
    kind: str
    weight: int


def placeholder(kind: str) -> str:
    """What stands in its place: the kind is kept, so that a reader still understands the step."""
    return f"[redacted: {kind}]"


def merged(spans: Iterable[Span]) -> list[Span]:
    """In order, without overlaps."""
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start < result[-1].end:
            last = result[-1]
            heavier = span if span.weight > last.weight else last
            result[-1] = Span(last.start, max(last.end, span.end), heavier.kind, heavier.weight)
        else:
            result.append(span)
    return result
