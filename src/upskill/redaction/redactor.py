"""Both layers over a text, and a count of what was removed. Knows no kind of secret itself."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from upskill.redaction.contexts import named_secrets, request_secrets
from upskill.redaction.exact import ExactValues, secrets_in
from upskill.redaction.families import private_keys, tokens
from upskill.redaction.token_index import Span, TokenIndex

_ROUNDS = 6
"""Removing one secret can uncover the name before another. Ends much earlier unless a text is made not to."""


_STRETCH = 65_536
"""A long text is cleaned in stretches of whole lines: what was found in one is then looked at again alone."""
_CARRIED = 1_024
"""The last lines of a stretch are seen again with the next one, for a name and its value on two lines."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Redactions:
    """How many secrets of each kind were removed; never what they were."""

    by_kind: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All kinds together."""
        return sum(self.by_kind.values())


class Redactor:
    """Removes secrets from text. What it searches for is fixed when it is made; it counts what it found since."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._exact = ExactValues(values)
        self._counts: Counter[str] = Counter()

    @property
    def found(self) -> Redactions:
        """What was removed so far."""
        return Redactions(by_kind=dict(sorted(self._counts.items())))

    @property
    def knows_any(self) -> bool:
        """Whether there is any key of the user's own to look for."""
        return self._exact.any

    def clean(self, text: str) -> str:
        """The text without secrets, the user's own and other people's. Cleaning twice changes nothing more."""
        if len(text) <= _STRETCH:
            return self._clean(text)
        keys = list(private_keys(text))
        if keys:
            text = self._without(text, _merged(keys))
        done: list[str] = []
        carried = ""
        for stretch in _stretches(text):
            whole = self._clean(carried + stretch)
            carried = _last_lines(whole)
            done.append(whole[: len(whole) - len(carried)])
        return "".join(done) + carried

    def _clean(self, text: str) -> str:
        for _ in range(_ROUNDS):
            spans = _merged(self._all(text))
            if not spans:
                break
            text = self._without(text, spans)
        return text

    def clean_own(self, text: str) -> str:
        """The text without the user's own keys: for what our process writes, where a pattern could harm an answer."""
        spans = _merged(self._exact.spans(text))
        return self._without(text, spans) if spans else text

    def _all(self, text: str) -> Iterator[Span]:
        index = TokenIndex(text)
        yield from self._exact.spans(text, index.runs)
        yield from private_keys(text)
        yield from tokens(index)
        yield from request_secrets(index)
        yield from named_secrets(index)

    def _without(self, text: str, spans: Iterable[Span]) -> str:
        parts: list[str] = []
        done = 0
        for span in spans:
            parts += [text[done : span.start], f"[redacted: {span.kind}]"]
            done = span.end
            self._counts[span.kind] += 1
        parts.append(text[done:])
        return "".join(parts)


def redactor_from(environment: Mapping[str, str]) -> Redactor:
    """A redactor that knows the user's own keys: the values of the variables whose names look secret."""
    return Redactor(secrets_in(environment))


def _stretches(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start + _STRETCH) + 1 or len(text)
        yield text[start:end]
        start = end


def _last_lines(text: str) -> str:
    start = text.find("\n", max(0, len(text) - _CARRIED)) + 1
    return text[start:] if start else ""


def _merged(spans: Iterable[Span]) -> list[Span]:
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
