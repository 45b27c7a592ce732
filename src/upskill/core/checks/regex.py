"""`regex`: a pattern searched in the answer. A pattern that takes too long is stopped and counts as our fault."""

import re
import time
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from upskill.core.checks.answer_files import forms_of
from upskill.core.checks.kind import CheckOutcome, Kind, Submission, shown, string_problems
from upskill.core.nouns.answer_schemas import TEXT
from upskill.core.nouns.case import Json

if TYPE_CHECKING:
    import regex

SECONDS = 2.0
MOST_CHARACTERS = 10_000
MOST_EXPANDED = 100_000
"""Counted repeats are unrolled when a pattern is compiled: `(a{1000}){1000}` takes a gigabyte."""

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<open>\()|(?P<close>\))|\{(?P<least>\d+)|.", re.DOTALL)
_CALL = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|[+-]?\d|&|P>)")


class Regex(Kind):
    """Passes when the pattern matches somewhere. Write `(?i)` to ignore case, `(?s)` to let `.` cross lines."""

    name = "regex"
    only_words = True
    schema = TEXT
    guidance = r'`{"regex": "(?i)\\b47\\s*s(econds)?\\b"}`: a pattern (Python) is found in the answer.'
    rules = (
        "`^` and `$` stand for both ends of the answer; `(?m)` lets them stand at lines.",
        "White space, one fence or one pair of backticks around the whole answer do not stop a match.",
    )

    def problems(self, spec: Json) -> list[str]:
        """A pattern that compiles, within bounds, and does not match an empty answer."""
        if problems := string_problems(spec, kind=self.name, many=False):
            return problems
        import regex

        text = str(spec)
        if len(text) > MOST_CHARACTERS:
            return [f"`regex` has {len(text):,} characters; {MOST_CHARACTERS:,} are allowed"]
        if _CALL.search(text):
            return ["`regex` calls itself or a group, as in (?R) or (?1), which can use up all memory"]
        if _expanded_size(text) > MOST_EXPANDED:
            return ["`regex` nests counted repeats too deeply, as in (a{1000}){1000}"]
        try:
            pattern = _compile(text)
        except (regex.error, ValueError, RecursionError, OverflowError, MemoryError) as error:
            return [f"`regex` does not compile: {str(error) or type(error).__name__}"]
        try:
            if pattern.search("", timeout=SECONDS):
                return ["`regex` matches an empty answer, so an empty answer would pass"]
        except TimeoutError:
            return ["`regex` does not finish on an empty answer"]
        return []

    def describe(self, spec: Json) -> str:
        return f"the answer matches the pattern {spec}"

    def pattern(self, spec: Json) -> str:
        return str(spec)

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        match = search_any(str(spec), forms_of(submission.answer.text))
        if match is None:
            return CheckOutcome(False, f"no match for {shown(str(spec))}")
        return CheckOutcome(True, f"matched {shown(match)}")


def pattern_problems(spec: Mapping[str, Json], key: str, *, kind: str) -> list[str]:
    """What is wrong with a key that holds a pattern, where it is given."""
    found = Regex().problems(spec[key]) if key in spec else []
    return [problem.replace("`regex`", f"`{kind}: {key}`") for problem in found]


def search(pattern: str, text: str) -> str | None:
    """What a pattern matched first in a text. One that takes too long raises `TimeoutError`."""
    # Other threads continue while it searches.
    match = _compile(pattern).search(text, timeout=SECONDS, concurrent=True)
    return None if match is None else match.group(0)


def search_any(pattern: str, texts: Iterable[str]) -> str | None:
    """What a pattern matched in the first of these texts in which it is found."""
    return next((match for text in texts if (match := search(pattern, text)) is not None), None)


def first_match(pattern: str, texts: Iterable[str], *, from_start: bool = False) -> str | None:
    """The first of these texts in which a pattern is found, or that begins with it.

    All of them together have the time of one search: many of them must not take minutes. Raises `TimeoutError`.
    """
    compiled = _compile(pattern)
    find = compiled.match if from_start else compiled.search
    left = SECONDS
    for text in texts:
        began = time.monotonic()
        if find(text, timeout=left, concurrent=True) is not None:
            return text
        left -= time.monotonic() - began
        if left <= 0:
            raise TimeoutError("regex timed out")
    return None


@lru_cache(maxsize=1_000)
def _compile(text: str) -> "regex.Pattern[str]":
    import regex

    with warnings.catch_warnings():
        # A warning that a pattern may change its meaning in a later version is not for the person who runs it.
        warnings.simplefilter("ignore")
        return regex.compile(text)


def _expanded_size(pattern: str) -> int:
    """How many pieces the pattern has once its counted repeats are unrolled; roughly, and never more than needed."""
    sizes = [0]
    last = 0
    for piece in _PIECE.finditer(pattern):
        if piece["open"]:
            sizes.append(0)
            last = 0
        elif piece["close"] and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif piece["least"]:
            times = min(int(piece["least"][:9]), MOST_EXPANDED)
            sizes[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
        else:
            last = 1
            sizes[-1] += 1
        sizes[-1] = min(sizes[-1], MOST_EXPANDED + 1)
        last = min(last, MOST_EXPANDED + 1)
    return max(sizes)
