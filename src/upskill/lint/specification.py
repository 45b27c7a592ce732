"""The frontmatter of `SKILL.md` with the line of every value, what the Agent Skills specification does not allow in
it, and what some agents read, ignore or refuse although the specification allows it.

Reads events of YAML, not values: nothing unfolds, and nesting ends early. What the reference
validator refuses is a finding.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

import yaml

from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import MOST_CHARACTERS, SPECIFIED_FIELDS
from upskill.core.nouns.text import estimate_tokens
from upskill.core.skills.markdown import Fence, with_fences
from upskill.lint.rules import MOST_BODY_LINES, MOST_BODY_TOKENS, MOST_HEAD_CHARACTERS, finding

MOST_BODY_CHARACTERS = 100_000
"""So much of a longer body is searched."""
_MOST_DEPTH = 10
_FENCE = re.compile(r"---[ \t]*\Z")
_UNQUOTED = re.compile(r"(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s'\"|>&*!%@`\[{#].*)\Z")
_NOT_TEXT = re.compile(
    r"(?i:~|null|true|false|yes|no|on|off|[-+]?(?:\d[\d_]*|\d*\.\d+|\d+\.\d*)(?:e[-+]?\d+)?|\d{4}-\d\d?-\d\d?)\Z"
)
"""What most YAML readers take for a number, a date, a truth value or nothing."""


ValueKind = Literal["text", "list", "table"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One key of the frontmatter, or of a table in it."""

    key: str
    line: int
    kind: ValueKind
    text: str = ""
    """The value, where it is a text."""
    other_type: bool = False
    """Whether most YAML readers take this text for a number, a date, a truth value or nothing."""
    inner: tuple["Field", ...] = ()
    """The keys of a table, or the items of a list, which have no keys."""


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
        found.append(finding("byte-order-mark", 1, "U+FEFF"))
        text = text[1:]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if not _FENCE.match(lines[first]):
        found.append(finding("no-frontmatter", 1, lines[first]))
        return _head({}, lines, 1, 0, found)
    if first:
        found.append(finding("frontmatter-not-first", 1, f"{first} blank line{'s' if first > 1 else ''} before ---"))
    end = next((number for number in range(first + 1, len(lines)) if _FENCE.match(lines[number])), None)
    if end is None:
        found.append(finding("frontmatter-not-closed", first + 1, lines[first]))
        return _head({}, lines[first + 1 :], first + 2, 0, found)
    head = lines[first + 1 : end]
    fields: dict[str, Field] = {}
    if sum(map(len, head)) > MOST_HEAD_CHARACTERS:
        found.append(finding("frontmatter-too-long", first + 1, f"{sum(map(len, head)):,} characters"))
    else:
        found += (finding("dashes-in-frontmatter", first + 2 + n, line) for n, line in enumerate(head) if "---" in line)
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
        found.append(finding("not-yaml", line, excerpt, reason=f"The frontmatter is not valid YAML: {error.problem}."))
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
                        self._found.append(finding("duplicate-key", one.line, self._source(one.line)))
                    fields.setdefault(one.key, one)
            elif isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent):
                line = self._line(event)
                self._found.append(finding("frontmatter-not-fields", line, self._source(line)))
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
                    self._found.append(finding("duplicate-key", one.line, self._source(one.line)))
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
            self._found.append(finding("flow-style", line, self._source(line)))
        if getattr(event, "anchor", None):
            self._found.append(finding("yaml-anchor", line, self._source(line)))
        if getattr(event, "tag", None):
            self._found.append(finding("yaml-tag", line, self._source(line)))

    def _check_cut(self, event: yaml.ScalarEvent) -> None:
        end = event.end_mark
        if end is None or end.line >= len(self._lines):
            return
        if self._lines[end.line][end.column :].strip().startswith("#"):
            line = self._first + end.line
            self._found.append(finding("value-cut-at-hash", line, self._source(line)))

    def _line(self, event: yaml.Event) -> int:
        return self._first + (0 if event.start_mark is None else event.start_mark.line)

    def _source(self, line: int) -> str:
        return self._lines[min(line - self._first, len(self._lines) - 1)]


CLIENT_KEYS = {
    "agent": "which agent runs the skill",
    "argument-hint": "a hint for people who type the name of the skill",
    "arguments": "the arguments of the skill",
    "context": "whether the skill runs in a conversation of its own",
    "disable-model-invocation": "that only people may load the skill",
    "disallowed-tools": "tools that are taken away",
    "disallowedTools": "tools that are taken away",
    "effort": "how long the model thinks",
    "hooks": "commands that run at certain events",
    "model": "which model is used",
    "paths": "the files for which the skill is offered",
    "shell": "which shell runs its commands",
    "user-invocable": "whether people may load the skill by its name",
    "version": "a version, which it does not show",
    "when_to_use": "when to use the skill",
}
"""Keys of Claude Code that the specification does not have, and what they say there."""


def find(head: Head, folder: str) -> Iterator[Finding]:
    """What the specification does not allow. Where no field can be read, only that is a finding."""
    if head.end == 0 or (not head.fields and head.findings):
        return
    yield from _name(head, folder)
    yield from _description(head)
    yield from _other_fields(head)
    for key, one in head.fields.items():
        if key not in SPECIFIED_FIELDS and key not in CLIENT_KEYS:
            near = get_close_matches(key, SPECIFIED_FIELDS, n=1)
            remedy = f"Did you mean `{near[0]}`?" if near else None
            yield finding("unknown-key", one.line, f"{key}: {one.text}", remedy=remedy)


def _name(head: Head, folder: str) -> Iterator[Finding]:
    field = head.fields.get("name")
    if field is None or (field.kind == "text" and not field.text.strip()):
        yield finding("name-missing", head.line_of("name"), "no name" if field is None else "name:")
        return
    if field.kind != "text":
        yield finding("field-not-text", field.line, "name is not one string")
        return
    name = unicodedata.normalize("NFKC", field.text.strip())
    if len(name) > MOST_CHARACTERS["name"]:
        yield finding("name-too-long", field.line, f"{len(name)} characters: {name}")
    if problem := _name_problem(name):
        yield finding("name-invalid", field.line, f"name: {name}", reason=f"The name {problem}.")
    if name != unicodedata.normalize("NFKC", folder):
        yield finding("name-not-folder", field.line, f"name: {name} (folder: {folder})")


def _name_problem(name: str) -> str | None:
    if name != name.lower():
        return "has capital letters"
    if name.startswith("-") or name.endswith("-"):
        return "begins or ends with a hyphen"
    if "--" in name:
        return "has two hyphens in a row"
    wrong = next((c for c in name if not (c.isalnum() or c == "-")), None)
    return None if wrong is None else f"has a character that is not allowed: {wrong!r}"


def _description(head: Head) -> Iterator[Finding]:
    field = head.fields.get("description")
    if field is None or (field.kind == "text" and not field.text.strip()):
        yield finding(
            "description-missing", head.line_of("description"), "no description" if field is None else "description:"
        )
    elif field.kind != "text":
        yield finding("field-not-text", field.line, "description is not one string")
    elif len(field.text) > MOST_CHARACTERS["description"]:
        yield finding("description-too-long", field.line, f"{len(field.text):,} characters: {field.text}")


def _other_fields(head: Head) -> Iterator[Finding]:
    for key in ("license", "compatibility", "allowed-tools"):
        field = head.fields.get(key)
        if field is None:
            continue
        if field.kind != "text":
            yield finding("field-not-text", field.line, f"{key} is not one string")
        elif key == "compatibility" and not 0 < len(field.text) <= MOST_CHARACTERS[key]:
            yield finding("compatibility-length", field.line, f"{len(field.text):,} characters: {field.text}")
    metadata = head.fields.get("metadata")
    if metadata is not None:
        yield from _metadata(metadata)


def _metadata(field: Field) -> Iterator[Finding]:
    if field.kind != "table":
        if field.kind == "list" or field.text:
            yield finding("metadata-not-strings", field.line, f"metadata: {field.text}")
        return
    for inner in field.inner:
        if inner.kind != "text":
            yield finding("metadata-not-strings", inner.line, f"{inner.key} is a {inner.kind}")


_RESERVED = re.compile(r"anthropic|claude")
_ON_LOAD = re.compile(r"(?:^|(?<=\s))!`[^`\n]{1,400}`")
_ANY_COMMAND = re.compile(r"(?:^|[\s,])(?:Bash(?:\(\s*\*?\s*(?::\s*\*)?\s*\))?|\*)(?=$|[\s,])")
"""What some agents do or refuse: the limits are those of the specification's advice and of Anthropic's validator."""


def find_for_agents(head: Head) -> Iterator[Finding]:
    """What some agents would ignore, refuse, or do unasked."""
    yield from _agent_keys(head)
    name, description = head.written("name"), head.written("description")
    if _RESERVED.search(name.lower()):
        yield finding("reserved-name", head.line_of("name"), f"name: {name}")
    if not name.isascii() and all(c.isalnum() or c == "-" for c in name):
        yield finding("name-not-ascii", head.line_of("name"), f"name: {name}")
    if "<" in description or ">" in description:
        at = next(n for n, c in enumerate(description) if c in "<>")
        yield finding("angle-brackets", head.line_of("description"), description[max(0, at - 60) : at + 60])
    if found := _ANY_COMMAND.search(head.written("allowed-tools")):
        yield finding("any-command-allowed", head.line_of("allowed-tools"), f"allowed-tools: {found[0].strip(' ,')}")
    yield from _body(head)


def _agent_keys(head: Head) -> Iterator[Finding]:
    for key, value in head.fields.items():
        if key == "hooks":
            hooks = ", ".join(one.key for one in value.inner) or value.text
            yield finding("frontmatter-hooks", value.line, f"hooks: {hooks}")
        elif key in CLIENT_KEYS:
            reason = (
                f"Claude Code reads this key ({CLIENT_KEYS[key]}); the specification has no such key, and other "
                "agents ignore it or refuse the skill."
            )
            yield finding("client-key", value.line, f"{key}: {value.text}", reason=reason)
        for one in (value, *value.inner):
            if one.other_type and one.text and (key in _TEXTS or one is not value):
                yield finding("unquoted-value", one.line, f"{one.key}: {one.text}")


_TEXTS = ("name", "description", "license", "compatibility", "allowed-tools")


def _body(head: Head) -> Iterator[Finding]:
    lines, tokens = head.body.rstrip().count("\n") + 1, estimate_tokens(head.body)
    if lines > MOST_BODY_LINES or tokens > MOST_BODY_TOKENS:
        yield finding("long-body", head.body_line, f"{lines:,} lines, about {tokens:,} tokens")
    before = None
    for number, (line, fence) in enumerate(head.lines):
        opens = fence is not None and before is None
        before = fence
        if opens and fence is not None and fence.info.startswith("!"):
            yield finding("command-on-load", head.body_line + number, line)
        elif fence is None and "!`" in line and (found := _ON_LOAD.search(line)):
            yield finding("command-on-load", head.body_line + number, found[0])
