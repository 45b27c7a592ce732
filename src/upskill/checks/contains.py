"""`contains` and `excludes`: whole tokens in the answer, so that "9.0" is not found in "19.07".

The rule, also in docs/reference/checks.md. Upper and lower case differ. A string is found where neither of its ends
falls inside a token, that is:

1. letters, digits and underscores that touch are one token ("port" is not in "ports" or "port_a");
2. a dot between two digits joins them ("9.0" is not in "9.0.1" or "9.01", but is in "9.0." and "[9.0]");
3. a lone "v" before a number is not part of it ("9.0" is in "v9.0");
4. scripts written without spaces have no token edges, so any place will do ("東京" is in "私は東京に").
"""

import re
import unicodedata

from upskill.checks.kind import Look, string_problems, strings_of
from upskill.domain.case import Json


def find_token(needle: str, text: str) -> int | None:
    """Where the needle stands in the text as whole tokens; `None` if nowhere."""
    needle = unicodedata.normalize("NFC", needle)
    text = unicodedata.normalize("NFC", text)
    start = text.find(needle)
    while start >= 0:
        if _edge_before(text, start) and _edge_after(text, start + len(needle)):
            return start
        start = text.find(needle, start + 1)
    return None


def _is_word(character: str) -> bool:
    spaced_script = unicodedata.east_asian_width(character) not in ("W", "F")
    return spaced_script and (character.isalnum() or character == "_" or unicodedata.combining(character) > 0)


def _edge_before(text: str, at: int) -> bool:
    """Whether a token may begin at this index."""
    if at == 0 or not _is_word(text[at]):
        return True
    before = text[at - 1]
    if text[at].isdigit():
        if before == "." and at >= 2 and text[at - 2].isdigit():
            return False
        if before in "vV" and (at == 1 or not _is_word(text[at - 2])):
            return True
    return not _is_word(before)


def _edge_after(text: str, at: int) -> bool:
    """Whether a token may end just before this index."""
    if at == len(text) or not _is_word(text[at - 1]):
        return True
    after = text[at]
    if after == "." and text[at - 1].isdigit() and at + 1 < len(text) and text[at + 1].isdigit():
        return False
    return not _is_word(after)


def _around(text: str, at: int, length: int) -> str:
    """The found place with a little of what stands around it, on one line."""
    begin, end = max(0, at - 20), min(len(text), at + length + 20)
    shown = re.sub(r"\s+", " ", text[begin:end])
    return f"{'…' if begin else ''}{shown}{'…' if end < len(text) else ''}"


class Contains:
    """Passes when every string of the spec is in the answer."""

    name = "contains"

    def problems(self, spec: Json) -> list[str]:
        """A non-empty string, or a non-empty list of them."""
        return string_problems(spec, kind=self.name, many=True)

    def look(self, spec: Json, answer: str) -> Look:
        """All strings must be found; those that are not are named."""
        wanted = strings_of(spec)
        missing = [text for text in wanted if find_token(text, answer) is None]
        if missing:
            return Look(False, "not found: " + ", ".join(repr(text) for text in missing))
        return Look(True, "found " + ", ".join(repr(text) for text in wanted))


class Excludes:
    """Passes when no string of the spec is in the answer."""

    name = "excludes"

    def problems(self, spec: Json) -> list[str]:
        """A non-empty string, or a non-empty list of them."""
        return string_problems(spec, kind=self.name, many=True)

    def look(self, spec: Json, answer: str) -> Look:
        """Any string that is found is shown where it stands."""
        normal = unicodedata.normalize("NFC", answer)
        found = [
            f"{text!r} in {_around(normal, at, len(text))!r}"
            for text in strings_of(spec)
            if (at := find_token(text, normal)) is not None
        ]
        return Look(False, "found " + "; ".join(found)) if found else Look(True, "none found")
