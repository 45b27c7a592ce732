"""The units of a skill's Markdown that can be cut: a paragraph, or each of its lines if all end a sentence; an item of
a list with what is nested in it, a row of a table, a code block. What is left is valid Markdown in the author's words.

A heading and the head of a table stay as long as anything below them does; lines across the page and definitions of
links always stay. Knows no models.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from markdown_it import MarkdownIt

from upskill.core.nouns import Case
from upskill.core.nouns.text import canonical_json

Kind = Literal["heading", "text", "item", "table head", "row", "code", "comment", "rule", "definition"]
_STRUCTURE = ("heading", "table head", "rule", "definition")
_PIN = re.compile(r"<!--\s*keep\b[^>]*-->", re.IGNORECASE)
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


_KINDS: Mapping[tuple[int, str], Kind] = {
    (0, "heading_open"): "heading",
    (0, "hr"): "rule",
    (0, "fence"): "code",
    (0, "code_block"): "code",
    (0, "html_block"): "text",
    (0, "paragraph_open"): "text",
    (0, "blockquote_open"): "text",
    (1, "list_item_open"): "item",
    (1, "thead_open"): "table head",
    (2, "tr_open"): "row",
}
"""Of the parser's tokens, by the level they are at: what is nested deeper goes with what it is in."""


def _read(lines: Sequence[str]) -> Iterator[Unit]:
    links: dict[str, Any] = {}
    tokens = MarkdownIt().enable("table").parse("\n".join(lines), links)
    definitions = (*links.get("references", {}).values(), *links.get("duplicate_refs", ()))
    found = [Unit(kind="definition", first=one["map"][0], end=one["map"][1], text="") for one in definitions]
    group = 0
    for token in tokens:
        kind = _KINDS.get((token.level, token.type))
        if kind is not None and token.map is not None:
            level = int(token.tag[1]) if kind == "heading" else 0
            grouped = group if kind in ("item", "table head", "row") else -1
            found.append(Unit(kind=kind, first=token.map[0], end=token.map[1], text="", level=level, group=grouped))
        group += token.level == 0
    units: list[Unit] = []
    for unit in sorted(found, key=lambda one: one.first):
        after = units[-1].end if units else 0
        if unit.first < after:  # the row of a table head, or inside of a tag
            continue
        if unit.kind == "code" and units and units[-1].kind == "text" and lines[unit.first].startswith(_INDENTED):
            # Code that is only indented would become part of a list above, without its words.
            unit = replace(units.pop(), end=unit.end)
        units.append(_whole(unit, lines))
    for unit in units:
        group += 1
        rows = range(unit.first, unit.end)
        if unit.kind == "text" and len(rows) > 1 and all(_is_sentence(lines[row]) for row in rows):
            yield from (replace(unit, first=row, end=row + 1, text=lines[row], group=group) for row in rows)
        else:
            yield replace(unit, text="\n".join(lines[unit.first : unit.end]))


def _whole(unit: Unit, lines: Sequence[str]) -> Unit:
    """The unit with what a parser leaves out of it, and without empty lines at its end."""
    first, end, kind = unit.first, unit.end, unit.kind
    if kind == "text" and lines[first].lstrip().startswith("<!--"):
        kind = "comment"
    elif kind == "text" and (tag := _TAG.match(lines[first])) is not None:
        closed = _closed(lines, first, tag[1])
        end = max(end, next((row for row in range(closed, len(lines)) if not lines[row].strip()), len(lines)))
    elif kind == "table head":
        end = first + 2
    while not lines[end - 1].strip():
        end -= 1
    return replace(unit, kind=kind, end=end)


def _is_sentence(line: str) -> bool:
    """Whether a line of a paragraph ends a sentence, and would be a paragraph wherever it stood."""
    other = line.startswith(_INDENTED) or _DEFINITION.match(line) or _TAG.match(line)
    opened = any(line.count(mark) % 2 for mark in _PAIRS) or any(line.count(a) != line.count(b) for a, b in _BRACKETS)
    return not other and not opened and _SENTENCE_END.search(line) is not None


def _closed(lines: Sequence[str], at: int, tag: str) -> int:
    """The line that closes a tag and all of its name inside it; the first one where none does."""
    opened = 0
    for row in range(at, len(lines)):
        opened += len(re.findall(rf"<{tag}\b", lines[row])) - lines[row].count(f"</{tag}>")
        if opened <= 0:
            return row
    return at


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
