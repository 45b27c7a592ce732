"""What a rule is, and how patterns become one."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from upskill.domain.finding import Severity
from upskill.shipping.dangers.file_text import FileText, Hit

Find = Callable[[Sequence[FileText]], Iterable[Hit]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """An id, why it matters, what to do, and the function that finds it over all files of a skill."""

    id: str
    severity: Severity
    reason: str
    remedy: str
    find: Find


Pattern = tuple[tuple[str, ...], re.Pattern[str]]
"""Words of which a line must hold one, and what is searched for there then. Words are looked up first: that is fast."""


def pattern(words: str, expression: str) -> Pattern:
    """A pattern over lower-case text. `words` are separated by spaces. Repeats in it must be bounded."""
    return tuple(words.split(" ")), re.compile(expression)


def matches(file: FileText, patterns: Sequence[Pattern], *, prose: bool = True, code: bool = True) -> Iterator[int]:
    """Where any of the patterns is found, in no order."""
    for text in (*((file.prose,) if prose else ()), *((file.code,) if code else ())):
        for words, expression in patterns:
            for start, end in _around(text, words):
                yield from (found.start() for found in expression.finditer(text, start, end))


def _around(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The stretches of a text with one of the words: whole lines, each with the line before and the line after it."""
    places = sorted(place for word in words for place in _places(text, word))
    start = end = -1
    for place in places:
        if place < end:
            continue
        if end >= 0 and text.count("\n", end, place) > 2:
            yield start, _line_after(text, end)
            start = -1
        if start < 0:
            start = text.rfind("\n", 0, max(0, text.rfind("\n", 0, place))) + 1
        end = (text.find("\n", place) + 1) or len(text)
    if end >= 0:
        yield start, _line_after(text, end)


def _line_after(text: str, end: int) -> int:
    return (text.find("\n", end) + 1) or len(text)


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word stands, once per line."""
    place = text.find(word)
    while place >= 0:
        yield place
        line = text.find("\n", place)
        place = -1 if line < 0 else text.find(word, line)


def finder(*patterns: Pattern, prose: bool = True, code: bool = True, consent: bool = False) -> Find:
    """Finds each of the patterns in each file. With `consent`, what the user is asked about first is a caution."""

    def find(files: Sequence[FileText]) -> Iterator[Hit]:
        for file in files:
            for position in matches(file, patterns, prose=prose, code=code):
                yield file.hit(position, quoted=(consent and file.with_consent(position)) or None)

    return find
