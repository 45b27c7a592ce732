"""Secrets in columns: a header names what stands below it, in CSV, TSV, Markdown, terminal tables and SQL inserts."""

import re
from functools import cache
from typing import NamedTuple

from upskill.redaction.plausibility import Sort, is_chosen, is_password, looks_random, sort_of
from upskill.redaction.token_index import NEW_LINE, Span, TokenIndex

_LONGEST = 300
"""A longer line is no row of a table that a person reads."""
_HEADER = re.compile(r"[A-Za-z][\w.-]{0,30}(?:[ ][\w.-]{1,20}){0,2}")
_BREAK = re.compile(NEW_LINE)
_AFTER = re.compile(
    rf"""(?:(?:[ ][\w.-]{{1,20}}){{1,2}}(?=[ ]{{0,60}}(?:\||\t|[ ]{{2}})))?(?:\\{{0,64}}["'`*]{{1,3}})?
    (?:[ ]{{0,60}}(?:(?P<cut>\\{{1,64}}t|[,;|\t])_REST)?|[ ]{{2,60}}[A-Z]_REST)(?P<end>{NEW_LINE})""".replace(
        "_REST", rf"""(?:[^\n\\(){{}}=<>\[\]:$]|\\{{1,64}}["'t]){{0,{_LONGEST}}}"""
    ),
    re.VERBOSE,
)
"""The rest of a line that may be a header: what has brackets in it is code."""
_RULE = re.compile(r"[ \t]*[-+|:= ]{3,}$")
_GAPS = re.compile(r"[ ]{2,}")
_USER = re.compile(r"user|login|e-?mail|account|^name$|host|url|site|server|service", re.IGNORECASE)
_AROUND = " \t\r\\\"'`*>"
_INSERT = re.compile(r"insert\s{1,9}into\s{1,9}\S{1,80}\s{0,9}\((?P<names>[^()]{1,400})\)\s{0,9}values", re.IGNORECASE)
_TUPLE = re.compile(r"[\s,]{0,20}\((?P<fields>[^()]{1,2000})\)")
_FIELD = re.compile(r"""\s{0,9}(?:[NE]?'(?P<quoted>[^']{0,400})'|[^',]{0,200})\s{0,9}(?:,|$)""")


class Table(NamedTuple):
    """The secrets below a header, and where the table ends."""

    spans: list[Span]
    end: int


class _Layout(NamedTuple):
    """How the lines of a table end and where they are cut; an empty `cut` stands for two spaces or more."""

    new_line: str
    cut: str

    def ends_string(self) -> re.Pattern[str] | None:
        """The quote that ends the string in which the table is escaped."""
        slashes = len(self.new_line) - 1 - max(0, self.new_line.rfind("r") + 1)
        return _quote_with_fewer(slashes) if self.new_line.startswith("\\") else None


@cache
def _quote_with_fewer(slashes: int) -> re.Pattern[str]:
    return re.compile(rf'(?<!\\)\\{{0,{slashes - 1}}}"')


def table_at(text: str, name_at: int, name_end: int) -> Table | None:
    """The table in whose header the name stands, if it is one."""
    after = _AFTER.match(text, name_end)
    if after is None:
        return None
    start = max(0, name_at - _LONGEST)
    start = max(start, text.rfind("\n", start, name_at) + 1)
    for end in (_BREAK, _Layout(after["end"], "").ends_string()) if "\\" in after["end"] else ():
        for match in end.finditer(text, start, name_at) if end else ():
            start = match.end()
    before = text[start:name_at]
    cut = after["cut"] or next((mark for mark in ("|", "\t", ";", ",") if mark in before), "")
    layout = _Layout(after["end"], cut)
    names = [text[left:right].strip(_AROUND) for left, right in _cells(text, start, after.start("end"), layout)]
    if len(names) < 2 or not all(map(_HEADER.fullmatch, names)):
        return Table([], after.end())
    sorts = [sort_of(name.replace(" ", "_")) for name in names]
    people = any(_USER.search(name) for name, sort in zip(names, sorts, strict=True) if sort is None)
    return _rows(text, after.end(), layout, sorts, people=people) if any(sorts) else None


def _rows(text: str, at: int, layout: _Layout, sorts: list[Sort | None], *, people: bool) -> Table | None:
    spans: list[Span] = []
    rows = 0
    ruled = False
    ends_string = layout.ends_string()
    while at < len(text):
        end = text.find(layout.new_line, at, at + _LONGEST)
        next_at = end + len(layout.new_line)
        if end < 0:
            end = next_at = min(len(text), at + _LONGEST)
        if ends_string and (quote := ends_string.search(text, at, end)):
            end, next_at = quote.start(), len(text)
        rule = _RULE.match(text[at:end]) is not None
        if layout.cut == "|" and not (ruled := ruled or rule):
            break  # words between bars, but no table
        if not rule:
            cells = _cells(text, at, end, layout)
            if len(cells) != len(sorts):
                break
            rows += 1
            for (left, right), sort in zip(cells, sorts, strict=True):
                if sort and (span := _secret(text, left, right, sort, people=people)):
                    spans.append(span)
        at = next_at
    return Table(spans, at) if rows else None


def _cells(text: str, start: int, end: int, layout: _Layout) -> list[tuple[int, int]]:
    line = text[start:end]
    if layout.cut:
        pieces = _quoted_split(line) if layout.cut == "," and '"' in line else line.split(layout.cut)
        widths = [len(layout.cut)] * len(pieces)
    else:
        pieces = _GAPS.split(line)
        widths = [len(gap) for gap in _GAPS.findall(line)] + [0]
    cells = []
    for piece, width in zip(pieces, widths, strict=True):
        cells.append((start, start + len(piece)))
        start += len(piece) + width
    if layout.cut == "|" or not layout.cut:
        # A table may or may not have an edge.
        cells = cells[1:] if cells and not pieces[0].strip(_AROUND) else cells
        cells = cells[:-1] if cells and not pieces[-1].strip() else cells
    return cells


def _quoted_split(line: str) -> list[str]:
    """By commas that are not in quotes."""
    parts = line.split('"')
    marked = '"'.join(part if number % 2 == 0 else part.replace(",", "\0") for number, part in enumerate(parts))
    return marked.split(",")


def _secret(text: str, start: int, end: int, sort: Sort, *, people: bool) -> Span | None:
    raw = text[start:end]
    start, end = end - len(raw.lstrip(_AROUND)), start + len(raw.rstrip(_AROUND))
    value = text[start:end]
    if sort == "password":
        found = is_password(value, quoted=False) or (people and is_chosen(value))
    else:
        found = looks_random(value, least=12)
    return Span(start, end, sort, 1) if found else None


def insert_at(index: TokenIndex, name_at: int) -> Table | None:
    """The SQL insert among whose columns the name stands, if it is one."""
    offset = index.low.rfind(b"insert into", max(0, name_at - 400), name_at)
    match = _INSERT.match(index.text, offset) if offset >= 0 else None
    if match is None or not match.start("names") <= name_at < match.end("names"):
        return None
    sorts = [sort_of(name.strip(' \\"`[]')) for name in match["names"].split(",")]
    spans, end = [], match.end()
    while row := _TUPLE.match(index.text, end):
        end = row.end()
        for field, sort in zip(_FIELD.finditer(row["fields"]), sorts, strict=False):
            if sort and field["quoted"] and is_password(field["quoted"], quoted=True):
                at = row.start("fields")
                spans.append(Span(at + field.start("quoted"), at + field.end("quoted"), sort, 1))
    return Table(spans, end)
