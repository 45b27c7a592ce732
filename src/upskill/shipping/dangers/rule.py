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
"""Words of which a text must hold one, and what is searched for then. The words are looked up first: that is fast."""


def pattern(words: str, expression: str) -> Pattern:
    """A pattern over lower-case text. `words` are separated by spaces. Repeats in it must be bounded."""
    return tuple(words.split(" ")), re.compile(expression)


def matches(file: FileText, patterns: Sequence[Pattern], *, prose: bool = True, code: bool = True) -> Iterator[int]:
    """Where any of the patterns is found, in no order."""
    for text in (*((file.prose,) if prose else ()), *((file.code,) if code else ())):
        for words, expression in patterns:
            if any(word in text for word in words):
                yield from (found.start() for found in expression.finditer(text))


def finder(*patterns: Pattern, prose: bool = True, code: bool = True) -> Find:
    """Finds each of the patterns in each file."""

    def find(files: Sequence[FileText]) -> Iterator[Hit]:
        for file in files:
            for position in matches(file, patterns, prose=prose, code=code):
                yield file.hit(position)

    return find
