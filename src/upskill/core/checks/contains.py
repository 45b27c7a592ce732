"""`contains` and `excludes`: whole tokens in the answer, so that "9.0" is not found in "19.07". `equals`: all of it.

A string is found where neither of its ends falls inside a token. docs/reference/checks.md has the rule with examples.
"""

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from upskill.core.checks.answer_files import forms_of
from upskill.core.checks.kind import CheckOutcome, Kind, Submission, listed, shown, string_problems, strings_of
from upskill.core.nouns.answer_schemas import TEXT, TEXTS
from upskill.core.nouns.case import Json

if TYPE_CHECKING:
    import regex


@cache
def _without_spaces() -> "regex.Pattern[str]":
    """Chinese, Japanese, Korean (its particles touch the word), and Thai, Lao, Khmer, Burmese and their neighbours.

    Compiled when first needed: listing cases should not wait for the library.
    """
    import regex

    return regex.compile(r"[\p{East_Asian_Width=W}\p{East_Asian_Width=F}\p{Katakana}\p{Line_Break=SA}]")


def find_token(needle: str, text: str) -> int | None:
    """The index of the needle in the text as whole tokens, both in NFC form; `None` if it is not there."""
    needle = unicodedata.normalize("NFC", needle)
    text = unicodedata.normalize("NFC", text)
    start = text.find(needle)
    while start >= 0:
        if _is_edge(text, start) and _is_edge(text, start + len(needle)):
            return start
        start = text.find(needle, start + 1)
    return None


def _is_edge(text: str, at: int) -> bool:
    """Whether the position before this index is not inside a token."""
    if at == 0 or at == len(text):
        return True
    before, after = text[at - 1], text[at]
    if before == ".":  # a dot between two digits joins them
        return not (after.isdigit() and at >= 2 and text[at - 2].isdigit())
    if after == ".":
        return not (before.isdigit() and at + 1 < len(text) and text[at + 1].isdigit())
    # A lone "v" before a number is not part of it.
    if before in "vV" and after.isdigit() and (at == 1 or not _is_word(text[at - 2])):
        return True
    return not (_is_word(before) and _is_word(after))


def _is_word(character: str) -> bool:
    """Whether a character can be part of a token: letters, digits, underscores, and the marks that sit on letters."""
    if not (character.isalnum() or character == "_" or unicodedata.category(character) in ("Mn", "Mc")):
        return False
    # Variation selectors choose a picture for the character before them; they join nothing.
    return not "\ufe00" <= character <= "\ufe0f" and _without_spaces().match(character) is None


def _around(text: str, at: int, length: int) -> str:
    """The found place with a little of what stands around it, on one line."""
    begin, end = max(0, at - 20), min(len(text), at + min(length, 60) + 20)
    return repr(f"{'…' if begin else ''}{' '.join(text[begin:end].split())}{'…' if end < len(text) else ''}")


class _WordsKind(Kind):
    """A kind whose spec is a string, or a list of strings where `many`."""

    only_words = True
    many: ClassVar[bool] = True

    def problems(self, spec: Json) -> list[str]:
        return string_problems(spec, kind=self.name, many=self.many)


class Contains(_WordsKind):
    """Passes when every string of the spec is in the answer."""

    name = "contains"
    schema = TEXTS
    guidance = (
        '`{"contains": ["tarnctl rouse"]}`: each text is in the answer, as whole words (letters, digits and `_` '
        'make a word: `minver` is in `cuda-minver`), upper and lower case as written. `{"excludes": ["systemctl"]}`: '
        "none is."
    )
    rules = ("White space counts as written.", "Fences and everything else in the answer are searched too.")

    def describe(self, spec: Json) -> str:
        return f"the answer contains {listed(strings_of(spec))}"

    def expected(self, spec: Json) -> list[str]:
        return strings_of(spec)

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """All strings must be found; those that are not are named."""
        wanted = strings_of(spec)
        missing = [text for text in wanted if find_token(text, submission.answer.text) is None]
        if missing:
            return CheckOutcome(False, "not found: " + ", ".join(map(shown, missing)))
        return CheckOutcome(True, "found " + ", ".join(map(shown, wanted)))


class Excludes(_WordsKind):
    """Passes when no string of the spec is in the answer."""

    name = "excludes"
    only_forbids = True
    schema = TEXTS
    rules = Contains.rules

    def describe(self, spec: Json) -> str:
        return f"the answer does not contain {listed(strings_of(spec))}"

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Any string that is found is shown where it stands."""
        normal = unicodedata.normalize("NFC", submission.answer.text)
        found = [
            f"{shown(text)} in {_around(normal, at, len(text))}"
            for text in strings_of(spec)
            if (at := find_token(text, normal)) is not None
        ]
        return CheckOutcome(False, "found " + "; ".join(found)) if found else CheckOutcome(True, "none found")


class Equals(_WordsKind):
    """Passes when the answer is the spec, letter for letter, but for what models wrap around an answer."""

    name = "equals"
    many = False
    schema = TEXT
    guidance = '`{"equals": "7413"}`: the whole answer is this.'
    rules = (
        "White space, one fence or one pair of backticks around the whole answer do not count.",
        "Everything else does: case, inner white space, a full stop, a word before it.",
    )

    def describe(self, spec: Json) -> str:
        return f"the whole answer is {listed(strings_of(spec))}"

    def expected(self, spec: Json) -> list[str]:
        return strings_of(spec)

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """`rules` say what does not count. Accents may be spelt either way."""
        if _normal(str(spec)) in map(_normal, forms_of(submission.answer.text)):
            return CheckOutcome(True, "equal")
        return CheckOutcome(False, f"the answer is {shown(submission.answer.text.strip())}")


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())
