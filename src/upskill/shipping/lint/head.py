"""The frontmatter of `SKILL.md` with the line of every value. YAML that the reference validator refuses is a finding.

Reads events, not values: nothing unfolds, and nesting ends early.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import yaml

from upskill.domain.fences import Fence, with_fences
from upskill.domain.finding import Finding
from upskill.shipping.lint.rule import LintRule

MOST_HEAD_CHARACTERS = 20_000
MOST_BODY_CHARACTERS = 100_000
"""Of a longer body only so much is searched."""
_MOST_DEPTH = 10
_FENCE = re.compile(r"---[ \t]*\Z")
_UNQUOTED = re.compile(r"(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s'\"|>&*!%@`\[{#].*)\Z")
_NOT_TEXT = re.compile(
    r"(?i:~|null|true|false|yes|no|on|off|[-+]?(?:\d[\d_]*|\d*\.\d+|\d+\.\d*)(?:e[-+]?\d+)?|\d{4}-\d\d?-\d\d?)\Z"
)
"""What most YAML readers take for a number, a date, a truth value or nothing."""


def _rule(id: str, reason: str, remedy: str) -> LintRule:
    return LintRule(id=id, family="specification", severity="error", reason=reason, remedy=remedy)


NOT_UTF8 = _rule("not-utf8", "SKILL.md is not UTF-8 text, so agents cannot read it.", "Save it as UTF-8.")
BYTE_ORDER_MARK = _rule(
    "byte-order-mark",
    "The reference validator refuses a file that begins with a byte order mark.",
    "Save it without one.",
)
NOT_FIRST = _rule(
    "frontmatter-not-first",
    "The frontmatter must begin in the first line.",
    "Delete what is before the first `---`.",
)
NO_FRONTMATTER = _rule(
    "no-frontmatter",
    "Without frontmatter an agent knows neither name nor description.",
    "Begin SKILL.md with `---`, a name, a description and `---`.",
)
NOT_CLOSED = _rule(
    "frontmatter-not-closed", "The frontmatter has no closing line of `---`.", "Add a line with only `---` behind it."
)
TOO_LONG = _rule(
    "frontmatter-too-long",
    f"A frontmatter of more than {MOST_HEAD_CHARACTERS:,} characters is not read here; agents load all of it.",
    "Move text into the body.",
)
NOT_YAML = _rule("not-yaml", "The frontmatter is not valid YAML.", "Put the value in double quotes.")
NOT_FIELDS = _rule(
    "frontmatter-not-fields",
    "The frontmatter is not a list of `key: value` lines.",
    "Write `name:` and `description:`.",
)
DASHES = _rule(
    "dashes-in-frontmatter",
    "The reference validator ends the frontmatter at the first `---`, also inside a value.",
    "Write a dash (–) or fewer hyphens.",
)
FLOW_STYLE = _rule(
    "flow-style",
    "The reference validator refuses `{…}` and `[…]` in frontmatter.",
    "Write one line per item, or a string.",
)
ANCHOR = _rule(
    "yaml-anchor", "The reference validator refuses anchors and aliases (`&name`, `*name`).", "Write the value out."
)
TAG = _rule("yaml-tag", "The reference validator refuses YAML tags (`!name`).", "Delete the tag.")
DUPLICATE_KEY = _rule("duplicate-key", "The key is there twice, and agents differ in which one they use.", "Keep one.")
CUT_VALUE = _rule(
    "value-cut-at-hash",
    "YAML takes ` #` in an unquoted value for a comment: no agent sees the rest of the line.",
    "Put the value in double quotes.",
)
RULES = (
    NOT_UTF8, BYTE_ORDER_MARK, NOT_FIRST, NO_FRONTMATTER, NOT_CLOSED, TOO_LONG, NOT_YAML, NOT_FIELDS, DASHES,
    FLOW_STYLE, ANCHOR, TAG, DUPLICATE_KEY, CUT_VALUE,
)  # fmt: skip

ValueKind = Literal["text", "list", "table"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One key of the frontmatter, or of a table in it."""

    key: str
    line: int
    kind: ValueKind
    text: str = ""
    """Of a text."""
    other_type: bool = False
    """Whether most YAML readers take this text for a number, a date, a truth value or nothing."""
    inner: tuple["Field", ...] = ()
    """Of a table: its keys. Of a list: its items, without keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """`SKILL.md` taken apart."""

    fields: dict[str, Field] = field(default_factory=dict)
    """The first of each key."""
    body: str = ""
    body_line: int = 1
    """The line of the file in which the body begins."""
    lines: tuple[tuple[str, Fence | None], ...] = ()
    """The lines of the body that are searched, each with the fence that is open after it."""
    end: int = 0
    """The line that closes the frontmatter; 0 where there is none."""
    findings: tuple[Finding, ...] = ()

    def written(self, key: str) -> str:
        """The text of a field; empty where it has none."""
        return self.fields[key].text.strip() if key in self.fields else ""

    def line_of(self, key: str) -> int:
        """Where a field is, or where it should be."""
        return self.fields[key].line if key in self.fields else 1


def read_head(text: str) -> Head:
    """Take `SKILL.md` apart. Never raises: what is wrong is among the findings."""
    found: list[Finding] = []
    if text.startswith("\ufeff"):
        found.append(BYTE_ORDER_MARK.at(1, "U+FEFF"))
        text = text[1:]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if not _FENCE.match(lines[first]):
        found.append(NO_FRONTMATTER.at(1, lines[first]))
        return _head({}, lines, 1, 0, found)
    if first:
        found.append(NOT_FIRST.at(1, f"{first} blank line{'s' if first > 1 else ''} before ---"))
    end = next((number for number in range(first + 1, len(lines)) if _FENCE.match(lines[number])), None)
    if end is None:
        found.append(NOT_CLOSED.at(first + 1, lines[first]))
        return _head({}, lines[first + 1 :], first + 2, 0, found)
    head = lines[first + 1 : end]
    fields: dict[str, Field] = {}
    if sum(map(len, head)) > MOST_HEAD_CHARACTERS:
        found.append(TOO_LONG.at(first + 1, f"{sum(map(len, head)):,} characters"))
    else:
        found += (DASHES.at(first + 2 + n, line) for n, line in enumerate(head) if "---" in line)
        fields = _fields(head, first + 2, found)
    return _head(fields, lines[end + 1 :], end + 2, end + 1, found)


def _head(fields: dict[str, Field], lines: list[str], first_line: int, end: int, found: list[Finding]) -> Head:
    body = "\n".join(lines)
    searched = tuple(with_fences(body[:MOST_BODY_CHARACTERS].split("\n")))
    return Head(fields=fields, body=body, body_line=first_line, lines=searched, end=end, findings=tuple(found))


def _fields(head: list[str], first_line: int, found: list[Finding]) -> dict[str, Field]:
    """The fields. Where the YAML is wrong, values with a colon are quoted for one more attempt."""
    try:
        return _Reader(head, first_line).read(found)
    except _Unreadable as error:
        line = min(max(error.line, first_line), first_line + max(0, len(head) - 1))
        excerpt = head[line - first_line] if head else ""
        found.append(NOT_YAML.at(line, excerpt, reason=f"The frontmatter is not valid YAML: {error.problem}."))
    try:
        return _Reader([_quoted(line) for line in head], first_line).read([])
    except _Unreadable:
        return {}


def _quoted(line: str) -> str:
    match = _UNQUOTED.match(line)
    if match is None or (": " not in match["value"] and not match["value"].rstrip().endswith(":")):
        return line
    value = match["value"].rstrip().replace("\\", "\\\\").replace('"', '\\"')
    return f'{match["key"]}: "{value}"'


class _Unreadable(Exception):
    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem, self.line = problem, line


class _Reader:
    """Turns the events of the YAML parser into fields."""

    def __init__(self, lines: list[str], first_line: int) -> None:
        self._lines = lines
        self._first = first_line
        self._found: list[Finding] = []
        self._events: Iterator[yaml.Event] = iter(())

    def read(self, found: list[Finding]) -> dict[str, Field]:
        """The fields; what is refused is added to `found`, unless nothing can be read. Raises `_Unreadable`."""
        text = "\n".join(self._lines) + "\n"
        if not text.strip():
            return {}
        try:
            self._events = iter(yaml.parse(text, Loader=yaml.BaseLoader))
            fields = self._document()
        except yaml.reader.ReaderError as error:
            line = self._first + text[: error.position].count("\n")
            raise _Unreadable(f"it has the control character U+{error.character:04X}", line) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise _Unreadable(
                error.problem or "it cannot be parsed", self._first + (mark.line if mark else 0)
            ) from None
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
            raise _Unreadable(str(error) or "it cannot be parsed", self._first) from None
        found += self._found
        return fields

    def _document(self) -> dict[str, Field]:
        fields: dict[str, Field] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingStartEvent):
                self._check(event)
                for one in self._table(1):
                    if one.key in fields:
                        self._found.append(DUPLICATE_KEY.at(one.line, self._source(one.line)))
                    fields.setdefault(one.key, one)
            elif isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent):
                line = self._line(event)
                self._found.append(NOT_FIELDS.at(line, self._source(line)))
                return {}
        return fields

    def _table(self, depth: int) -> Iterator[Field]:
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            key = self._value("", event, depth)
            value = self._value(key.text, next(self._events), depth)
            yield Field(
                key=key.text if key.kind == "text" else self._source(key.line).strip(),
                line=key.line,
                kind=value.kind,
                text=value.text,
                other_type=value.other_type,
                inner=value.inner,
            )

    def _value(self, key: str, event: yaml.Event, depth: int) -> Field:
        if depth > _MOST_DEPTH:
            raise _Unreadable("it is nested too deeply", self._line(event))
        self._check(event)
        line = self._line(event)
        if isinstance(event, yaml.MappingStartEvent):
            inner: dict[str, Field] = {}
            for one in self._table(depth + 1):
                if one.key in inner:
                    self._found.append(DUPLICATE_KEY.at(one.line, self._source(one.line)))
                inner.setdefault(one.key, one)
            return Field(key=key, line=line, kind="table", inner=tuple(inner.values()))
        if isinstance(event, yaml.SequenceStartEvent):
            return Field(key=key, line=line, kind="list", inner=tuple(self._items(depth + 1)))
        if not isinstance(event, yaml.ScalarEvent):
            return Field(key=key, line=line, kind="text")
        plain = event.style is None
        if plain and key in ("description", "compatibility"):
            self._check_cut(event)
        other = plain and (not event.value or _NOT_TEXT.match(event.value) is not None)
        return Field(key=key, line=line, kind="text", text=event.value, other_type=other)

    def _items(self, depth: int) -> Iterator[Field]:
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield self._value("", event, depth)

    def _check(self, event: yaml.Event) -> None:
        """Whether the reference validator takes this kind of YAML."""
        line = self._line(event)
        if getattr(event, "flow_style", False):
            self._found.append(FLOW_STYLE.at(line, self._source(line)))
        if getattr(event, "anchor", None):
            self._found.append(ANCHOR.at(line, self._source(line)))
        if getattr(event, "tag", None):
            self._found.append(TAG.at(line, self._source(line)))

    def _check_cut(self, event: yaml.ScalarEvent) -> None:
        end = event.end_mark
        if end is None or end.line >= len(self._lines):
            return
        if self._lines[end.line][end.column :].strip().startswith("#"):
            line = self._first + end.line
            self._found.append(CUT_VALUE.at(line, self._source(line)))

    def _line(self, event: yaml.Event) -> int:
        return self._first + (0 if event.start_mark is None else event.start_mark.line)

    def _source(self, line: int) -> str:
        return self._lines[min(line - self._first, len(self._lines) - 1)]
