"""`contains` and `excludes`: whole tokens in the answer, so that "9.0" is not found in "19.07". `equals`: all of it.
`lines`: whole lines of it, in order.
`file`: a file that must be there, contain or match something, or must not be there.

A string is found where neither of its ends falls inside a token. docs/reference/checks.md has the rule with examples.
"""

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from upskill.core.checks.answer_files import answer_files_of, forms_of
from upskill.core.checks.kind import (
    CheckOutcome,
    Kind,
    Need,
    ObjectKind,
    Submission,
    listed,
    shown,
    string_problems,
    strings_of,
    type_name,
)
from upskill.core.checks.regex import pattern_problems, search_any
from upskill.core.nouns.answer_schemas import TEXT, TEXTS, object_of
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import decoded

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


class Lines(_WordsKind):
    """Passes when the lines of the spec stand in the answer, in their order."""

    name = "lines"
    schema = TEXTS
    guidance = '`{"lines": ["edition = 5", "license = \\"MIT\\""]}`: the answer has these lines, in this order.'
    rules = (
        "Other lines may stand before, between and after them; a fence is such a line.",
        "A line counts as a whole: case, indentation and inner white space as written, white space at its end not.",
    )

    def describe(self, spec: Json) -> str:
        return f"the answer has, in this order, the lines {listed(strings_of(spec))}"

    def problems(self, spec: Json) -> list[str]:
        """Strings of one line each that are not empty."""
        problems = super().problems(spec)
        if not problems and any(len(text.splitlines()) != 1 or not text.strip() for text in strings_of(spec)):
            problems.append("`lines`: each string must be one line with something in it")
        return problems

    def expected(self, spec: Json) -> list[str]:
        """All of them together: a task may well give some."""
        return ["\n".join(strings_of(spec))]

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """The first line that is not there behind the one before it is named."""
        wanted = strings_of(spec)
        # One answer may be read in several forms: a single line often stands in backticks.
        found = max(_in_order(wanted, form.splitlines()) for form in forms_of(submission.answer.text))
        if found == len(wanted):
            return CheckOutcome(True, "found, in this order")
        after = f" after {shown(wanted[found - 1])}" if found else ""
        return CheckOutcome(False, f"no line is {shown(wanted[found])}{after}")


def _in_order(wanted: list[str], lines: list[str]) -> int:
    """How many of the wanted lines stand among these, each behind the one before it."""
    found = 0
    for line in map(_line, lines):
        found += found < len(wanted) and line == _line(wanted[found])
    return found


def _line(text: str) -> str:
    return unicodedata.normalize("NFC", text.rstrip())


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


class File(ObjectKind):
    """Passes when the file is there and says what it should; with `absent`, when it is not there."""

    name = "file"
    keys = ("path", "contains", "excludes", "matches", "absent")
    short_for = "path"
    schema = object_of(("path",), path=TEXT, contains=TEXTS, excludes=TEXTS, matches=TEXT)
    guidance = (
        '`{"file": {"path": "build.toml", "contains": ["edition"], "excludes": ["universal"], "matches": "(?m)^name"}}`'
        ": a file that the student wrote."
    )
    rules = (
        "`contains` and `excludes` are as the checks; `matches` is tried with and without white space at both ends.",
        "Without tools, a block without a name that is the only one of the answer is the file.",
    )

    def problems(self, spec: Json) -> list[str]:
        """A name, or an object with `path` and any of `contains`, `excludes`, `matches`; or with `absent`."""
        if not isinstance(spec, str | dict):
            return [f"`file` must be the name of a file, or an object with `path`, not {type_name(spec)}"]
        spec = self.as_object(spec)
        problems = self.unknown_keys(spec) + self.path_problems(spec, "path")
        for key in ("contains", "excludes"):
            if key in spec:
                problems += string_problems(spec[key], kind=f"file: {key}", many=True)
        problems += pattern_problems(spec, "matches", kind=self.name) + self.flag_problems(spec, "absent")
        if "absent" in spec and len(spec) > 2:
            problems.append("`file`: a file that is `absent` has no content; remove the other keys")
        return problems

    def describe(self, spec: Json) -> str:
        wanted = self.as_object(spec)
        asked = [f"{key} {listed(strings_of(wanted[key]))}" for key in ("contains", "excludes") if key in wanted]
        asked += [f"matches the pattern {wanted['matches']}"] if "matches" in wanted else []
        there = "does not exist" if wanted.get("absent") else "exists"
        return f"the file {wanted.get('path')} {' and '.join(asked) or there}"

    def needs(self, spec: Json) -> frozenset[Need]:
        return frozenset({"files"})

    def reads_words(self, spec: Json) -> bool:
        return False

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """The file as the answer leaves it. A file of the case that was not touched is still there."""
        wanted = self.as_object(spec)
        path, files = str(wanted["path"]), answer_files_of(submission)
        if wanted.get("absent"):
            found = path in files.all
            return CheckOutcome(not found, f"{path} {'exists' if found else 'does not exist'}")
        data = files.read(path)
        if data is None:
            return CheckOutcome(False, files.missing(path))
        if not {"contains", "excludes", "matches"}.intersection(wanted):
            return CheckOutcome(True, f"{path} exists, {len(data):,} bytes")
        text = decoded(data)
        if text is None:
            return CheckOutcome(False, f"{path} is not text (UTF-8)")
        return _check_text(wanted, text, name=path)


def _check_text(wanted: Mapping[str, Json], text: str, *, name: str) -> CheckOutcome:
    missing = [item for item in strings_of(wanted.get("contains")) if find_token(item, text) is None]
    if missing:
        return CheckOutcome(False, f"{name}: not found: " + ", ".join(map(shown, missing)))
    found = [item for item in strings_of(wanted.get("excludes")) if find_token(item, text) is not None]
    if found:
        return CheckOutcome(False, f"{name}: found " + ", ".join(map(shown, found)))
    if "matches" in wanted:
        match = search_any(str(wanted["matches"]), (text, text.strip()))
        if match is None:
            return CheckOutcome(False, f"{name}: no match for {shown(str(wanted['matches']))}")
        return CheckOutcome(True, f"{name}: matched {shown(match)}")
    return CheckOutcome(True, f"{name}: as expected")
