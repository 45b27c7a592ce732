"""Cases that ask the same: of two, one measures nothing new, and one to learn from gives a held-out one away."""

import re
from collections.abc import Iterable, Iterator

from upskill.domain import Case

NEAR = 0.8
"""The share of telling words that two prompts with the same answer have in common."""

_WORD = re.compile(r"[^\W_]+(?:[._/-]+[^\W_]+)*|[^\w\s]{2,}")
_COMMON_WORDS = (
    "a an and any are as at be been but by can could do does for from give has have how i if in into is it its kindly "
    "like may me might must my need needs now of on one only or our out please shall should so tell that the their "
    "then there these they this those to us use want was we were what when where which who will with would you your"
)
_COMMON = frozenset(_COMMON_WORDS.split())


def without_doubles(cases: Iterable[Case], *, known: Iterable[Case] = ()) -> Iterator[tuple[Case, Case | None]]:
    """Each case with the earlier one that it repeats, if there is one. Repeated ones are not compared with."""
    kept = [(case, telling_words(case.prompt)) for case in known]
    for case in cases:
        words = telling_words(case.prompt)
        double = next((other for other, theirs in kept if _is_double(case, words, other, theirs)), None)
        if double is None:
            kept.append((case, words))
        yield case, double


def telling_words(text: str) -> frozenset[str]:
    """The words of a prompt without those that every prompt has, whatever their order and case."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return frozenset(word for word in words if word not in _COMMON) or frozenset(words)


def _is_double(case: Case, words: frozenset[str], other: Case, theirs: frozenset[str]) -> bool:
    if case.files != other.files:
        return False
    if words == theirs:
        return True
    both = len(words & theirs)
    return case.reference == other.reference and both >= NEAR * len(words | theirs)
