"""Both layers over a text, and a count of what was removed. Knows no kind of secret itself."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from upskill.redaction.commands import command_secrets
from upskill.redaction.contexts import named_secrets
from upskill.redaction.encoded import encoded_secrets
from upskill.redaction.exact import ExactValues, secrets_in
from upskill.redaction.families import private_keys, tokens
from upskill.redaction.plausibility import is_placeholder, looks_random
from upskill.redaction.requests import request_secrets
from upskill.redaction.spoken import foreign_secrets, spoken_secrets
from upskill.redaction.token_index import NEW_LINE, Span, TokenIndex

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
        keys = list(private_keys(text, text.encode("latin-1", "replace")))
        if keys:
            text = self._without(text, _merged(keys))
        done: list[str] = []
        carried = ""
        for stretch in _stretches(text):
            whole = self._clean(carried + stretch, keys=False)
            carried = _last_lines(whole)
            done.append(whole[: len(whole) - len(carried)])
        return "".join(done) + carried

    def _clean(self, text: str, *, keys: bool = True) -> str:
        for number in range(_ROUNDS):
            spans = _merged(self._all(text, keys=keys, own=number == 0))
            if not spans:
                break
            text = self._without(text, spans)
        return text

    def clean_own(self, text: str) -> str:
        """The text without the user's own keys: for what our process writes, where a pattern could harm an answer."""
        spans = _merged(self._exact.spans(text))
        return self._without(text, spans) if spans else text

    def _all(self, text: str, *, keys: bool, own: bool) -> Iterator[Span]:
        index = TokenIndex(text)
        if own:  # what was removed cannot uncover them
            yield from self._exact.spans(text, index.runs)
        yield from (_continued(text, span) for span in _patterns(index))
        if keys:
            yield from private_keys(text, index.raw)
        yield from encoded_secrets(index, _holds_secret)

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


def redactor_of_answers(environment: Mapping[str, str], *, sent: Iterable[str]) -> Redactor:
    """A redactor for answers that are graded afterwards, so it must not remove ordinary words.

    Of the user's own keys it knows those in the variables `sent`, which a server was given and can send back, and of
    the others those that no ordinary text contains by chance.
    """
    given = {environment.get(name, "").strip() for name in sent}
    return Redactor(
        {
            value: name
            for value, name in secrets_in(environment).items()
            if looks_random(value) or (value in given and not is_placeholder(value))
        }
    )


_SEARCHES: tuple[Callable[[TokenIndex], Iterator[Span]], ...] = (
    tokens, request_secrets, command_secrets, named_secrets, foreign_secrets, spoken_secrets,
)  # fmt: skip


def _patterns(index: TokenIndex) -> Iterator[Span]:
    for search in _SEARCHES:
        yield from search(index)


_MOST_PIECES = 16
_JOINTS = ("\\", '"', "'")
_NEXT_LINE = re.compile(r"(?:\\\r?\n|\\(?:\\{2}|\\{5}|\\{11})n)(?P<rest>[\w.~+/=-]{4,8192})")
_NEXT_STRING = re.compile(
    rf"""\\{{0,64}}["'](?:[ \t]|{NEW_LINE}|\\(?={NEW_LINE})){{0,60}}[+.]?(?:[ \t]|{NEW_LINE}){{0,60}}
    [bfr]?\\{{0,64}}["'](?P<rest>[\w.~+/=-]{{6,8192}})(?=\\{{0,64}}["'])""",
    re.VERBOSE,
)


def _continued(text: str, span: Span) -> Span:
    """With the rest of it that stands on the next line behind a backslash, or in the next string of a program."""
    for _ in range(_MOST_PIECES if text[span.end : span.end + 1] in _JOINTS else 0):
        rest = _NEXT_LINE.match(text, span.end) or _NEXT_STRING.match(text, span.end)
        if not rest or (rest.re is _NEXT_STRING and not looks_random(rest["rest"], least=6)):
            break
        span = span._replace(end=rest.end("rest"))
    return span


def _holds_secret(text: str) -> bool:
    index = TokenIndex(text)
    return any(True for _ in chain(_patterns(index), private_keys(text, index.raw)))


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
