"""`json`, `toml` and `yaml`: which text is parsed, how, and what may be asked of the value."""

import json
import re
import tomllib
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

import yaml

from upskill.core.checks.answer_files import answer_files_of, read_fenced
from upskill.core.checks.kind import NOTHING, CheckOutcome, Need, ObjectKind, Submission, shown, type_name
from upskill.core.checks.regex import pattern_problems, search
from upskill.core.checks.schema import (
    ValueMissing,
    differences,
    schema_errors,
    schema_problems,
    shown_value,
    steps_of,
    value_at,
)
from upskill.core.nouns.answer_schemas import TEXT, TEXTS, Schema, object_of
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import decoded

MOST_BYTES = 512 * 1024
MOST_DEPTH = 100
MOST_VALUES = 100_000
"""Values once every alias is expanded: nine lines of aliases to aliases can mean a billion."""
MOST_DIGITS = 4_000
"""Digits of a number: Python writes no longer ones, and takes minutes to read them where YAML counts in sixties."""
MOST_KEY_DIGITS = 20
"""Digits of a key that is a number: longer ones can be chosen so that each is compared with all others."""
MOST_PARTS = 1_000
"""Parts of a dotted key in TOML, which takes the square of them to read."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_DOTTED = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)++""")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_GUIDANCE = (
    '`{"json": {"path": "out.json", "at": "services[0].port", "equals": 7413}}`, also `toml` and `yaml`: the value at '
    "a place; without `path` the answer's text or its only code block. `matches` takes a pattern, "
    '`"absent": true` wants nothing there. Without `at`, `equals` is the whole document with exactly these keys, as '
    '`{"toml": {"path": "build.toml", "equals": "{\\"general\\": {\\"name\\": \\"relu\\"}}"}}`: JSON in a text.'
)
_RULES = (
    "White space, the order of keys and comments do not count (JSON may have none); the order of a list does.",
    '`"5"`, `5` and `true` differ; so do `5` and `5.0`, except in JSON.',
    'In `at`, `["a.b"]` is a key with a dot, `[0]` an item, also of a document that is a list, `[-1]` the last.',
)
_VALUE: Schema = {"anyOf": [TEXT, {"type": "number"}, {"type": "boolean"}, TEXTS]}
_SCHEMA = object_of((), path=TEXT, at=TEXT, equals=_VALUE, matches=TEXT, absent={"type": "boolean"})
MOST_DIFFERENCES_SHOWN = 4


class ParseError(Exception):
    """A text is not in the format; says where and why."""


class StructuredText(ObjectKind):
    """Passes when the text parses, fits the schema, and has the right value at the path that is named."""

    schema = _SCHEMA
    keys = ("path", "schema", "at", "equals", "matches", "absent")

    def __init__(
        self,
        name: str,
        parse: Callable[[str], Any],
        *,
        languages: frozenset[str],
        exact_numbers: bool,
        guidance: str = "",
    ) -> None:
        """`parse` raises `ParseError`. With `exact_numbers`, 5 and 5.0 are two values, as in TOML and YAML."""
        self.name = name
        self.guidance = guidance
        self.rules = _RULES
        self._parse = parse
        self._languages = languages
        self._exact = exact_numbers

    def problems(self, spec: Json) -> list[str]:
        """An object with any of `path`, `schema`, and `at` with one of `equals`, `matches`, `absent`."""
        kind = self.name
        if not isinstance(spec, dict):
            return [
                f'`{kind}` must be an object such as {{"at": "general.name", "equals": "x"}}, not {type_name(spec)}'
            ]
        problems = self.unknown_keys(spec)
        if "path" in spec:
            problems += self.path_problems(spec, "path")
        if "schema" in spec:
            problems += [f"`{kind}`: `schema` {problem}" for problem in schema_problems(spec["schema"])]
        problems += pattern_problems(spec, "matches", kind=kind) + self.flag_problems(spec, "absent")
        asked = [key for key in ("equals", "matches", "absent") if key in spec]
        if len(asked) > 1:
            problems.append(f"`{kind}`: `{asked[0]}` and `{asked[1]}` cannot be combined")
        if "at" in spec:
            if not isinstance(at := spec["at"], str) or steps_of(at) is None:
                problems.append(f"`{kind}`: `at` must be a place such as general.cuda.minver or sources[0]")
        elif "absent" in spec:
            problems.append(f"`{kind}`: `absent` needs `at`, the place that must be empty")
        elif kind == "toml" and not isinstance(spec.get("equals", {}), dict):
            problems.append("`toml`: without `at`, `equals` is the whole document, so it must be an object")
        return problems

    def needs(self, spec: Json) -> frozenset[Need]:
        return frozenset({"files"}) if isinstance(spec, dict) and "path" in spec else NOTHING

    def reads_words(self, spec: Json) -> bool:
        return "files" not in self.needs(spec)

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Text that cannot be parsed is the answer's fault, never ours."""
        wanted = spec if isinstance(spec, dict) else {}
        path = wanted.get("path")
        try:
            name, text = _text_of_file(path, submission) if isinstance(path, str) else self._text_of_answer(submission)
            value = self._value(text)
        except ParseError as error:
            return CheckOutcome(False, str(error))
        if "schema" in wanted and (errors := schema_errors(wanted["schema"], value)):
            return CheckOutcome(False, f"{name} does not match the schema: {'; '.join(errors)}")
        if "at" in wanted or "equals" in wanted or "matches" in wanted:
            return self._check_value(wanted, value, name=name)
        return CheckOutcome(True, f"{name} is {self.name}{' and matches the schema' if 'schema' in wanted else ''}")

    def _value(self, text: str) -> Json:
        if len(text.encode("utf-8", "replace")) > MOST_BYTES:
            raise ParseError(f"not read as {self.name}: longer than {MOST_BYTES:,} bytes")
        try:
            return plain(self._parse(text.removeprefix("\ufeff")))
        except RecursionError:
            raise ParseError(f"not {self.name}: nested too deeply") from None

    def _text_of_answer(self, submission: Submission) -> tuple[str, str]:
        """The only block of the text, or its only one in this language; without any block, all of the text."""
        blocks = read_fenced(submission.answer.text).blocks
        if not blocks:
            return "the answer", submission.answer.text
        mine = [block for block in blocks if block.language in self._languages] if len(blocks) > 1 else blocks
        if len(mine) == 1:
            return "the fenced block", mine[0].content
        raise ParseError(f"{len(blocks)} fenced blocks, {len(mine)} of them {self.name}; only one is expected")

    def _check_value(self, wanted: dict[str, Json], value: Json, *, name: str) -> CheckOutcome:
        at = wanted.get("at")
        where = f"{name} at {at}" if isinstance(at, str) else name
        try:
            found = value_at(value, steps_of(at) or []) if isinstance(at, str) else value
        except ValueMissing as error:
            return CheckOutcome(bool(wanted.get("absent")), f"{where}: missing ({error})")
        if wanted.get("absent"):
            return CheckOutcome(False, f"{where}: found {shown_value(found)}")
        if "equals" in wanted:
            return self._check_equal(found, wanted["equals"], where=where)
        if "matches" in wanted:
            if not isinstance(found, str):
                return CheckOutcome(False, f"{where} is {shown_value(found)}, which is not text")
            match = search(str(wanted["matches"]), found)
            return CheckOutcome(match is not None, f"{where} is {shown(found)}")
        return CheckOutcome(True, f"{where} is {shown_value(found)}")

    def _check_equal(self, found: Json, wanted: Json, *, where: str) -> CheckOutcome:
        """A table or a list that differs is described by what differs, not by what is there."""
        told = list(differences(found, wanted, exact=self._exact))
        if not told or type(found) is not type(wanted) or not isinstance(found, dict | list):
            return CheckOutcome(not told, f"{where} is {shown_value(found)}")
        more = len(told) - MOST_DIFFERENCES_SHOWN
        listed = "; ".join(told[:MOST_DIFFERENCES_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        return CheckOutcome(False, f"{where} differs: {listed}")


def _text_of_file(path: str, submission: Submission) -> tuple[str, str]:
    files = answer_files_of(submission)
    data = files.read(path)
    if data is None:
        raise ParseError(files.missing(path))
    text = decoded(data)
    if text is None:
        raise ParseError(f"{path} is not text (UTF-8)")
    return path, text


def plain(value: Any, *, depth: int = 0) -> Json:
    """A parsed value as JSON has it: dates as text, keys as text. Raises `ParseError` where it is nested too deeply."""
    if depth > MOST_DEPTH:
        raise ParseError(f"nested more than {MOST_DEPTH} deep")
    if isinstance(value, dict):
        return {_key(key): plain(inner, depth=depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner, depth=depth + 1) for inner in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int) and value.bit_length() > 3 * MOST_DIGITS:
        raise ParseError("contains a number with thousands of digits")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ParseError(f"contains a {type(value).__name__}, which is not a plain value")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def parse_json(text: str) -> Any:
    """The value of a strict JSON text: no comments, no NaN, no key twice. Raises `ParseError`."""
    try:
        return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ParseError(f"not json: {error.msg}, line {error.lineno} column {error.colno}") from None
    except ValueError:
        raise ParseError("not json: contains a number with thousands of digits") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        double = next(key for key in names if names.count(key) > 1) if len(names) < 1_000 else "…"
        raise ParseError(f"not json: the key {double[:60]!r} appears twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise ParseError(f"not json: {name} is not a JSON value")


JSON = StructuredText("json", parse_json, languages=frozenset({"json"}), exact_numbers=False, guidance=_GUIDANCE)


def parse_toml(text: str) -> Any:
    """The table of a TOML 1.0 text. Raises `ParseError`."""
    if any(run[0].count(".") > MOST_PARTS for run in _DOTTED.finditer(text)):
        raise ParseError(f"not read as toml: a key of more than {MOST_PARTS:,} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParseError(f"not toml: {' '.join(str(error).split())[:200]}") from None
    except ValueError:
        raise ParseError("not toml: contains an invalid number or date") from None


TOML = StructuredText("toml", parse_toml, languages=frozenset({"toml"}), exact_numbers=True)


def parse_yaml(text: str) -> Any:
    """The value of a YAML 1.1 text with one document and plain values only. Raises `ParseError`.

    Aliases are allowed until they multiply; tags that construct objects are refused.
    """
    try:
        _require_shallow(text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            _require_few_values(node)
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    # Its constructors raise others than YAMLError for a tag on a text that does not suit it, as `!!int ""`.
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise ParseError(f"not yaml: {' '.join(str(error).split())[:200]}") from None


def _require_shallow(text: str) -> None:
    """Raises `ParseError` before anything is built, because building recurses as deep as the text nests."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                raise ParseError(f"not yaml: nested more than {MOST_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _require_short_number(node: Any, most: int) -> None:
    if node.tag in _NUMBERS and len(node.value) > most:
        raise ParseError(f"not yaml: a number with more than {most:,} digits")


def _require_few_values(node: Any) -> None:
    """Counts the values with every alias expanded, and refuses a node that contains itself."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(part: Any) -> int:
        if part is None:
            return 0
        if id(part) in open_nodes:
            raise ParseError("not yaml: an alias refers to itself")
        if id(part) not in sizes:
            open_nodes.add(id(part))
            _require_short_number(part, MOST_DIGITS)
            keys: list[str] = []
            total = 1
            for child in part.value if isinstance(part, yaml.CollectionNode) else ():
                if isinstance(child, tuple):
                    _require_short_number(child[0], MOST_KEY_DIGITS)
                    keys.append(child[0].value if isinstance(child[0], yaml.ScalarNode) else "")
                    total += size(child[0]) + size(child[1])
                else:
                    total += size(child)
            named = [key for key in keys if key not in ("", "<<")]
            if len(set(named)) < len(named):
                double = sorted(named, key=named.count)[-1] if len(named) < 1_000 else "…"
                raise ParseError(f"not yaml: the key {double[:60]!r} appears twice in one mapping")
            open_nodes.discard(id(part))
            sizes[id(part)] = total
        if sizes[id(part)] > MOST_VALUES:
            raise ParseError(f"not yaml: more than {MOST_VALUES:,} values after its aliases are expanded")
        return sizes[id(part)]

    size(node)


YAML = StructuredText("yaml", parse_yaml, languages=frozenset({"yaml", "yml"}), exact_numbers=True)
