"""The expressions of GitHub Actions, `${{ … }}`: parsed and evaluated as the runner does, on contexts that are given.

Property names and comparisons of text ignore case, a missing property is null, and text around an expression is kept as
it is: the runner replaces expressions before any shell starts. Nothing is executed here.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from upskill.core.checks.plugin import Json

MOST_CHARACTERS = 20_000
MOST_DEPTH = 50
MOST_TEXT = 1_000_000
STATUS_FUNCTIONS = frozenset({"success", "failure", "always", "cancelled"})
_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?))|(?P<text>'(?:[^']|'')*')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|(?P<sign>==|!=|<=|>=|&&|\|\||[!<>()\[\].,*]))"
)


class ExpressionError(Exception):
    """An expression that GitHub would refuse; says which and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What expressions at one place can see."""

    contexts: Mapping[str, Json]
    """By name: `github`, `env`, `steps` and so on. A context that is not here is an error."""
    status: Mapping[str, bool] = field(default_factory=dict)
    """What `success()` and its kind return here; empty where they are not allowed."""
    hash_files: str = "0" * 64

    def with_context(self, name: str, value: Json) -> "Scope":
        return Scope(contexts={**self.contexts, name: value}, status=self.status, hash_files=self.hash_files)


def interpolate(text: str, scope: Scope) -> str:
    """The text with each expression replaced by its value as text."""
    parts = [part if isinstance(part, str) else as_text(_evaluate(part[0], scope)) for part in _split(text)]
    whole = "".join(parts)
    if len(whole) > MOST_TEXT:
        raise ExpressionError("a value is too long")
    return whole


def resolve(value: Json, scope: Scope) -> Json:
    """A value of the file with its expressions replaced; one that is nothing but an expression keeps its type."""
    if isinstance(value, str):
        parts = _split(value.strip())
        if len(parts) == 1 and not isinstance(parts[0], str):
            return _evaluate(parts[0][0], scope)
        return interpolate(value, scope)
    if isinstance(value, list):
        return [resolve(item, scope) for item in value]
    if isinstance(value, dict):
        return {interpolate(key, scope): resolve(item, scope) for key, item in value.items()}
    return value


def condition(value: Json, scope: Scope) -> bool:
    """Whether an `if` holds. Without a status function, `success()` is asked as well."""
    if value is None:
        return scope.status.get("success", True)
    if not isinstance(value, str):
        return is_true(value) and scope.status.get("success", True)
    parts = _split(value.strip())
    if len(parts) == 1:
        only = parts[0]
        source = only if isinstance(only, str) else only[0]
        asks_status = bool(STATUS_FUNCTIONS & _called(source))
        held = is_true(_evaluate(source, scope))
    else:
        asks_status = any(STATUS_FUNCTIONS & _called(part[0]) for part in parts if not isinstance(part, str))
        held = is_true(interpolate(value, scope))
    return held and (asks_status or scope.status.get("success", True))


def expressions_in(text: str) -> list[str]:
    """The sources of the expressions in a text."""
    return [part[0] for part in _split(text) if not isinstance(part, str)]


def is_true(value: Json) -> bool:
    return not (value is None or value is False or value == "" or (isinstance(value, int | float) and value == 0))


def as_text(value: Json) -> str:
    """As the runner writes a value into text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dict):
        return "Object"
    return "Array" if isinstance(value, list) else str(value)


def _split(text: str) -> list[str | tuple[str]]:
    """Text and expressions in turn; an expression is a tuple with its source. `}}` in quotes does not end one."""
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError("a text with expressions is too long")
    parts: list[str | tuple[str]] = []
    at = 0
    while (start := text.find("${{", at)) >= 0:
        if start > at:
            parts.append(text[at:start])
        end, quoted = start + 3, False
        while end < len(text) and (quoted or not text.startswith("}}", end)):
            quoted ^= text[end] == "'"
            end += 1
        if end >= len(text):
            raise ExpressionError(f"an expression without an end: {text[start : start + 60]!r}")
        parts.append((text[start + 3 : end],))
        at = end + 2
    if at < len(text) or not parts:
        parts.append(text[at:])
    return parts


def _called(source: str) -> set[str]:
    return {found.lower() for found in re.findall(r"([A-Za-z_]\w*)\s*\(", source)}


def _evaluate(source: str, scope: Scope) -> Json:
    parser = _Parser(source, scope)
    value = parser.either(0)
    parser.end()
    return value


class _Parser:
    """Evaluates while it reads, from the loosest operator to the tightest. Both sides of `&&` are evaluated."""

    def __init__(self, source: str, scope: Scope) -> None:
        self._source = source
        self._scope = scope
        self._tokens = self._read(source)
        self._at = 0

    def _read(self, source: str) -> list[tuple[str, str]]:
        tokens, at = [], 0
        while source[at:].strip():
            found = _TOKEN.match(source, at)
            if found is None or found.lastgroup is None:
                raise ExpressionError(f"not an expression: {source.strip()[:80]!r}")
            tokens.append((found.lastgroup, found.group(found.lastgroup)))
            at = found.end()
        return tokens

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise ExpressionError(f"not an expression: {self._source.strip()[:80]!r}")

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise ExpressionError(f"{wanted!r} is missing in {self._source.strip()[:80]!r}")
        self._at += 1

    def either(self, depth: int) -> Json:
        if depth > MOST_DEPTH:
            raise ExpressionError("an expression is nested too deeply")
        value = self._both(depth)
        while self._peek() == "||":
            self._at += 1
            other = self._both(depth)
            value = value if is_true(value) else other
        return value

    def _both(self, depth: int) -> Json:
        value = self._compared(depth)
        while self._peek() == "&&":
            self._at += 1
            other = self._compared(depth)
            value = other if is_true(value) else value
        return value

    def _compared(self, depth: int) -> Json:
        value = self._negated(depth)
        while (sign := self._peek()) in _COMPARE:
            self._at += 1
            value = _COMPARE[sign](value, self._negated(depth))
        return value

    def _negated(self, depth: int) -> Json:
        turns = 0
        while self._peek() == "!":
            self._at += 1
            turns += 1
        value = self._member(depth)
        return value if not turns else is_true(value) == (turns % 2 == 0)

    def _member(self, depth: int) -> Json:
        value = self._primary(depth)
        spread = False
        while self._peek() in (".", "["):
            dotted = self._peek() == "."
            self._at += 1
            if self._peek() == "*":
                self._at += 1
                value, spread = _items(value), True
            elif dotted:
                kind, name = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
                if kind != "name":
                    raise ExpressionError(f"a name is missing in {self._source.strip()[:80]!r}")
                self._at += 1
                value = _each(value, name) if spread else _property(value, name)
            else:
                key = self.either(depth + 1)
                value = _each(value, key) if spread else _property(value, key)
            if not dotted:
                self._take("]")
        return value

    def _primary(self, depth: int) -> Json:
        if self._at >= len(self._tokens):
            raise ExpressionError(f"an expression ends early: {self._source.strip()[:80]!r}")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return float(int(text, 16)) if "x" in text.lower() else float(text)
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if text == "(":
            value = self.either(depth + 1)
            self._take(")")
            return value
        if kind != "name":
            raise ExpressionError(f"not an expression: {self._source.strip()[:80]!r}")
        if self._peek() == "(":
            return self._call(text, depth)
        if text in ("true", "false", "null"):
            return {"true": True, "false": False}.get(text)
        found = {name.lower(): value for name, value in self._scope.contexts.items()}
        if text.lower() not in found:
            raise ExpressionError(f"there is no context {text!r} here")
        return found[text.lower()]

    def _call(self, name: str, depth: int) -> Json:
        self._take("(")
        given: list[Json] = []
        while self._peek() != ")":
            given.append(self.either(depth + 1))
            if self._peek() != ")":
                self._take(",")
        self._take(")")
        return _called_value(name.lower(), given, self._scope)


def _called_value(name: str, given: Sequence[Json], scope: Scope) -> Json:
    if name in STATUS_FUNCTIONS:
        if name not in scope.status:
            raise ExpressionError(f"{name}() is not allowed here")
        return scope.status[name]
    if name == "hashfiles":
        return scope.hash_files
    try:
        return _FUNCTIONS[name](*given)
    except KeyError:
        raise ExpressionError(f"there is no function {name!r}") from None
    except (TypeError, ValueError, IndexError, RecursionError):
        raise ExpressionError(f"{name}() cannot be called with these values") from None


def _contains(where: Json, what: Json) -> bool:
    if isinstance(where, list):
        return any(_equal(item, what) for item in where)
    return as_text(what).lower() in as_text(where).lower()


def _format(pattern: Json, *given: Json) -> str:
    return re.sub(
        r"\{\{|\}\}|\{(\d{1,3})\}",
        lambda found: as_text(given[int(found[1])]) if found[1] else found[0][0],
        as_text(pattern),
    )


def _join(values: Json, separator: Json = ",") -> str:
    return as_text(separator).join(map(as_text, values)) if isinstance(values, list) else as_text(values)


def _from_json(text: Json) -> Json:
    value: Json = json.loads(as_text(text))
    return value


_FUNCTIONS: dict[str, Callable[..., Json]] = {
    "contains": _contains,
    "startswith": lambda text, start: as_text(text).lower().startswith(as_text(start).lower()),
    "endswith": lambda text, end: as_text(text).lower().endswith(as_text(end).lower()),
    "format": _format,
    "join": _join,
    "tojson": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    "fromjson": _from_json,
}


def _items(value: Json) -> Json:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _each(value: Json, key: Json) -> Json:
    found = [_property(item, key) for item in value] if isinstance(value, list) else []
    return [item for item in found if item is not None]


def _property(value: Json, key: Json) -> Json:
    if isinstance(value, dict):
        return next((item for name, item in value.items() if name.lower() == as_text(key).lower()), None)
    if isinstance(value, list) and isinstance(key, int | float) and 0 <= key < len(value):
        return value[int(key)]
    return None


def _number(value: Json) -> float:
    if value is None or value == "":
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return math.nan


def _equal(one: Json, other: Json) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    if isinstance(one, dict | list) or isinstance(other, dict | list):
        return one is other
    return (one is None and other is None) or _number(one) == _number(other)


def _less(one: Json, other: Json) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() < other.lower()
    return _number(one) < _number(other)


_COMPARE: dict[str, Callable[[Json, Json], bool]] = {
    "==": _equal,
    "!=": lambda one, other: not _equal(one, other),
    "<": _less,
    ">": lambda one, other: _less(other, one),
    "<=": lambda one, other: _less(one, other) or _equal(one, other),
    ">=": lambda one, other: _less(other, one) or _equal(one, other),
}
