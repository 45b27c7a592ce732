"""The units of a skill's Markdown that can be cut: a paragraph, or each of its lines if all end a sentence; an item of
a list with what is nested in it, a row of a table, a code block. What is left is valid Markdown in the author's words.

A heading and the head of a table stay as long as anything below them does; lines across the page and definitions of
links always stay. Knows no models. docs/explanation/decisions.md says why no Markdown parser does this.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from upskill.core.nouns import Case
from upskill.core.nouns.text import canonical_json
from upskill.core.skills.markdown import fence_after

Kind = Literal["heading", "text", "item", "table head", "row", "code", "comment", "rule", "definition"]
_STRUCTURE = ("heading", "table head", "rule", "definition")
_PIN = re.compile(r"<!--\s*keep\b[^>]*-->", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_DELIMITERS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_DEFINITION = re.compile(r" {0,3}\[[^\]]+\]:")
_TAG = re.compile(r" {0,3}<([A-Za-z][\w-]*)")
_INDENTED = ("    ", "\t")
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?][\"'”’)\]*_`]*[ \t]*$")
_PAIRS = ("**", "__", "*", "_", "`", "$", '"')
_BRACKETS = (("(", ")"), ("[", "]"), ("<", ">"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Lines of the body that stay or go together."""

    kind: Kind
    first: int
    end: int
    """Its lines, counted from 0; `end` is the line after the last."""
    text: str
    level: int = 0
    """Of a heading."""
    under: tuple[int, ...] = ()
    """The units that stay if this one does: headings, the head of a table."""
    group: int = -1
    """Items of one list, rows of one table, or sentences of one paragraph have the same."""
    pinned: bool = False


class Document:
    """A body in units, and the versions of it that lack some. Bit N of a version stands for its Nth cuttable unit."""

    def __init__(self, body: str) -> None:
        self._lines = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", body)
        self.body = body
        self.units = list(_placed(_read([line.rstrip("\r\n") for line in self._lines])))
        above = {number for unit in self.units for number in unit.under}
        self.cuttable = [
            number
            for number, unit in enumerate(self.units)
            # A heading with nothing below it is words of its own.
            if not unit.pinned and (unit.kind not in _STRUCTURE or (unit.kind == "heading" and number not in above))
        ]

    def kept(self, version: int) -> set[int]:
        """All units of a version."""
        chosen = {number for place, number in enumerate(self.cuttable) if version >> place & 1}
        chosen |= {number for number, unit in enumerate(self.units) if unit.pinned}
        always = {number for number, unit in enumerate(self.units) if unit.kind in ("rule", "definition")}
        return chosen | always | {above for number in chosen for above in self.units[number].under}

    def text(self, version: int) -> str:
        """The body of a version. What was cut between two units must not join them."""
        kept = sorted(self.kept(version))
        if len(kept) == len(self.units):
            return self.body
        newline = "\r\n" if self._lines[0].endswith("\r\n") else "\n"
        parts = self._lines[: self.units[0].first]
        for last, number in pairwise([-1, *kept]):
            unit, between = self.units[number], self.units[last : number + 1]
            if last == number - 1 and last >= 0:
                parts += self._lines[self.units[last].end : unit.first]
            elif last >= 0:
                spaced = any(one.end < two.first for one, two in pairwise(between))
                parts += [newline] if spaced or unit.group < 0 or unit.group != self.units[last].group else []
            parts += self._lines[unit.first : unit.end]
        return "".join(parts) if not parts or parts[-1].endswith("\n") else "".join(parts) + newline

    def sections(self) -> Iterator[tuple[str, int]]:
        """The words of each heading with the cuttable units directly under it, as bits of a version."""
        bits: Counter[int] = Counter()
        for place, number in enumerate(self.cuttable):
            headings = [one for one in self.units[number].under if self.units[one].kind == "heading"]
            bits[headings[-1] if headings else number if self.units[number].kind == "heading" else -1] |= 1 << place
        for number, version in bits.items():
            words = "" if number < 0 else _PIN.sub("", self.units[number].text.split("\n")[0]).strip("# \t")
            yield words or "(before the first heading)", version


def _placed(units: Iterable[Unit]) -> Iterator[Unit]:
    """Each unit with what it stands under, and whether it is pinned: by itself, from above, or by its section."""
    headings: list[tuple[int, Unit]] = []
    head, pin, pinned_group = -1, False, -1
    for number, unit in enumerate(units):
        if unit.kind == "heading":
            headings = [one for one in headings if one[1].level < unit.level]
        if pin and unit.group >= 0:
            pinned_group = unit.group  # a pin above a list or a table holds for all of it
        is_pinned = pin or (unit.group >= 0 and unit.group == pinned_group) or any(one.pinned for _, one in headings)
        is_pinned = is_pinned or (unit.kind != "code" and _PIN.search(unit.text) is not None)
        head = number if unit.kind == "table head" else head
        under = () if unit.kind == "definition" else tuple(one for one, _ in headings)
        unit = replace(unit, pinned=is_pinned, under=(*under, head) if unit.kind == "row" else under)
        if unit.kind == "heading":
            headings.append((number, unit))
        pin = unit.kind == "comment" and _PIN.fullmatch(unit.text.strip()) is not None
        yield unit


def _read(lines: Sequence[str]) -> Iterator[Unit]:
    at, group, last = 0, 0, ""
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        kind, end, level = _block(lines, at)
        if kind == "text" and end > at + 1 and all(map(_is_sentence, lines[at:end])):
            group += 1
            for row in range(at, end):
                yield Unit(kind=kind, first=row, end=row + 1, text=lines[row], group=group)
            at, last = end, kind
            continue
        group += (kind == "item" and last != "item") or kind == "table head"
        grouped = group if kind in ("item", "table head") else -1
        yield Unit(kind=kind, first=at, end=end, text="\n".join(lines[at:end]), level=level, group=grouped)
        if kind == "table head":
            while end < len(lines) and lines[end].strip() and not _begins_block(lines, end):
                yield Unit(kind="row", first=end, end=end + 1, text=lines[end], group=group)
                end += 1
        at, last = end, kind


def _is_sentence(line: str) -> bool:
    """Whether a line of a paragraph ends a sentence, and would be a paragraph wherever it stood."""
    other = line.startswith(_INDENTED) or _DEFINITION.match(line) or _TAG.match(line)
    opened = any(line.count(mark) % 2 for mark in _PAIRS) or any(line.count(a) != line.count(b) for a, b in _BRACKETS)
    return not other and not opened and _SENTENCE_END.search(line) is not None


def _block(lines: Sequence[str], at: int) -> tuple[Kind, int, int]:
    """What begins here, the line after it, and the level of a heading."""
    line = lines[at]
    following = lines[at + 1] if at + 1 < len(lines) else ""
    if fence_after(line, None) is not None:
        return "code", _after_fence(lines, at), 0
    if line.lstrip().startswith("<!--"):
        return "comment", _first(lines, at, lambda one: "-->" in one) + 1, 0
    if (heading := _HEADING.match(line)) is not None:
        return "heading", at + 1, len(heading[1])
    if _RULE.match(line):
        return "rule", at + 1, 0
    if _ITEM.match(line):
        return "item", _after_item(lines, at), 0
    if "|" in line and _DELIMITERS.match(following) and "-" in following:
        return "table head", at + 2, 0
    if _DEFINITION.match(line):
        return "definition", _first(lines, at + 1, lambda one: not one.startswith(" ") or not one.strip()), 0
    if (tag := _TAG.match(line)) is not None:
        return "text", _first(lines, _closed(lines, at, tag[1]), lambda one: not one.strip()), 0
    if line.startswith(_INDENTED):
        return "code", _after_indented(lines, at), 0
    row = at + 1
    while row < len(lines) and lines[row].strip():
        if (under := _UNDERLINE.match(lines[row])) is not None:
            return "heading", row + 1, 1 if under[1][0] == "=" else 2
        if _begins_block(lines, row):
            return "text", row, 0
        row += 1
    # Code that is only indented would become part of a list above, without its words.
    after = _first(lines, row, lambda one: bool(one.strip()))
    return "text", _after_indented(lines, after) if "".join(lines[after : after + 1]).startswith(_INDENTED) else row, 0


def _first(lines: Sequence[str], at: int, fits: Callable[[str], bool]) -> int:
    return next((row for row in range(at, len(lines)) if fits(lines[row])), len(lines))


def _closed(lines: Sequence[str], at: int, tag: str) -> int:
    """The line that closes a tag and all of its name inside it; the first one where none does."""
    opened = 0
    for row in range(at, len(lines)):
        opened += len(re.findall(rf"<{tag}\b", lines[row])) - lines[row].count(f"</{tag}>")
        if opened <= 0:
            return row
    return at


def _after_fence(lines: Sequence[str], at: int) -> int:
    fence = fence_after(lines[at], None)
    while fence is not None and (at := at + 1) < len(lines):
        fence = fence_after(lines[at], fence)
    return at + 1


def _after_indented(lines: Sequence[str], at: int) -> int:
    stop = _first(lines, at, lambda one: bool(one.strip()) and not one.startswith(_INDENTED))
    return max(row + 1 for row in range(at, stop) if lines[row].strip())


def _after_item(lines: Sequence[str], at: int) -> int:
    """The end of an item: of lines that are indented more than its mark, and of lines that go on without a break."""
    inside = _indent(lines[at]) + 2
    fence = fence_after(lines[at], None)
    end = row = at + 1
    while row < len(lines):
        line = lines[row]
        goes_on = _indent(line) >= inside or (end == row and not _begins_block(lines, row))
        if fence is None and line.strip() and not goes_on:
            break
        fence = fence_after(line, fence, most_indent=None)
        row += 1
        end = row if line.strip() else end
    return end


def _begins_block(lines: Sequence[str], row: int) -> bool:
    line = lines[row]
    starts = (_HEADING, _RULE, _ITEM)
    quoted = line.lstrip().startswith(">") != lines[row - 1].lstrip().startswith(">")
    is_block = fence_after(line, None) is not None or line.lstrip().startswith("<!--")
    return quoted or is_block or any(start.match(line) for start in starts)


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))


_WORD = re.compile(r"[^\W_](?:[\w./:+-]*[^\W_])?")
_CODE = re.compile(r"(`+)(.+?)\1")
_NAME = re.compile(r"(?=.{3})(?:.*[\d_./:+-]|.+[A-Z])")
_LEAST_WORD = 4
_MOST_SHARE = 0.25
"""A word that is in more of the units, or in twice as many of the cases, is on no subject."""
_STOP_WORDS = frozenset(
    """
about above after again against also always another answer because been before being below between both cannot case
check contains could does doing done down each either else even every expected first following from give given have
having here into itself just like made make many more most much must name need never next none only onto other over
please regex return same says shall should show since some still such take tell than that their them then there
these they thing this those through under until upon used user uses using very want well were what when where which
while whose will with within without word words would write your yours
""".split()  # noqa: SIM905 - words are read as a text
)


def _words(text: str) -> tuple[set[str], set[str]]:
    """What a text is about: names, such as commands, one of which says it, and words of substance."""
    names = {word for found in _CODE.finditer(text) for word in _WORD.findall(found[2]) if len(word) > 1}
    words = set(_WORD.findall(text)) - names
    names |= {word for word in words if _NAME.match(word)}
    words = {word for word in words - names if len(word) >= _LEAST_WORD}
    return _plain(names), _plain(words) - _plain(names)


def _plain(words: Iterable[str]) -> set[str]:
    return {word.lower().removesuffix("s") for word in words if word.lower() not in _STOP_WORDS}


def subjects_of(cases: Iterable[Case], units: Sequence[Unit]) -> Mapping[str, int]:
    """By the id of a case: the units on its subject, as bits in their order.

    A unit is on the subject of a case that shares a name with it, such as a command, or two words of substance, in the
    prompt, the checks or the passage; or all the words that it has. Words that are everywhere say nothing.
    """
    asked = {case.id: set[str]().union(*_words(_text_of(case))) for case in cases}
    said = [_words(unit.text) for unit in units]
    in_units = Counter(word for names, words in said for word in names | words)
    in_cases = Counter(word for words in asked.values() for word in words)
    common = {word for word, often in in_units.items() if often > max(4, _MOST_SHARE * len(said))}
    common |= {word for word, often in in_cases.items() if often > max(2, 2 * _MOST_SHARE * len(asked))}
    found = {}
    for case_id, theirs in asked.items():
        telling = theirs - common
        found[case_id] = sum(
            1 << place
            for place, (names, words) in enumerate(said)
            if names & telling or len(words & telling) >= 2 or (words - common and words - common <= telling)
        )
    return found


def _text_of(case: Case) -> str:
    specs = " ".join(canonical_json(check.spec) for check in case.checks)
    return f"{case.prompt}\n{specs}\n{case.passage or ''}"
