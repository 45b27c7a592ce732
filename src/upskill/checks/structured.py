"""What `json`, `toml` and `yaml` share: which text is looked at, and what may be asked of its value."""

from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from upskill.checks.bench import Look
from upskill.checks.kind import NOTHING, Need, Work, shown, type_name
from upskill.checks.left import left_by
from upskill.checks.regex import search
from upskill.checks.schema import schema_errors, schema_problems
from upskill.checks.spec import flag_problems, path_problems, text_problems, unknown_keys
from upskill.checks.value_at import NotThere, same, steps_of, value_at
from upskill.domain.case import Json

MOST_BYTES = 512 * 1024
MOST_DEPTH = 100
_KEYS = ("path", "schema", "at", "equals", "matches", "absent")


class NotRead(Exception):
    """A text is not in the format; says where and why."""


class Structured:
    """Passes when the text parses, fits the schema, and has the right value at the place that is named."""

    def __init__(
        self, name: str, parse: Callable[[str], Any], *, languages: frozenset[str], exact_numbers: bool
    ) -> None:
        """`parse` raises `NotRead`. With `exact_numbers`, 5 and 5.0 are two values, as in TOML and YAML."""
        self.name = name
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
        problems = unknown_keys(spec, _KEYS, kind=kind)
        if "path" in spec:
            problems += path_problems(spec, "path", kind=kind)
        if "schema" in spec:
            problems += [f"`{kind}`: `schema` {problem}" for problem in schema_problems(spec["schema"])]
        problems += text_problems({key: spec[key] for key in ("matches",) if key in spec}, kind=kind)
        problems += flag_problems(spec, "absent", kind=kind)
        asked = [key for key in ("equals", "matches", "absent") if key in spec]
        if len(asked) > 1:
            problems.append(f"`{kind}`: `{asked[0]}` and `{asked[1]}` do not go together")
        if "at" in spec:
            at = spec["at"]
            if not isinstance(at, str) or steps_of(at) is None:
                problems.append(f"`{kind}`: `at` must be a place such as general.cuda.minver or sources[0]")
        elif "absent" in spec:
            problems.append(f"`{kind}`: `absent` needs `at`, the place where nothing may be")
        return problems

    def needs(self, spec: Json) -> frozenset[Need]:
        """Files, where one is named."""
        return frozenset({"files"}) if isinstance(spec, dict) and "path" in spec else NOTHING

    def look(self, spec: Json, work: Work) -> Look:
        """Parse, then ask. What cannot be parsed is the answer's fault, never ours."""
        wanted = spec if isinstance(spec, dict) else {}
        path = wanted.get("path")
        try:
            name, text = self._text_of_file(path, work) if isinstance(path, str) else self._text_of_answer(work)
            value = self._value(text)
        except NotRead as error:
            return Look(False, str(error))
        if "schema" in wanted and (errors := schema_errors(wanted["schema"], value)):
            return Look(False, f"{name} does not fit the schema: {'; '.join(errors)}")
        if "at" in wanted or "equals" in wanted or "matches" in wanted:
            return self._look_at(wanted, value, name=name)
        return Look(True, f"{name} is {self.name}{' and fits the schema' if 'schema' in wanted else ''}")

    def _value(self, text: str) -> Json:
        if len(text.encode("utf-8", "replace")) > MOST_BYTES:
            raise NotRead(f"not read as {self.name}: longer than {MOST_BYTES:,} bytes")
        try:
            return plain(self._parse(text.removeprefix("\ufeff")))
        except RecursionError:
            raise NotRead(f"not {self.name}: nested too deeply") from None

    def _text_of_file(self, path: str, work: Work) -> tuple[str, str]:
        left = left_by(work)
        data = left.read(path)
        if data is None:
            raise NotRead(left.missing(path))
        try:
            return path, data.decode("utf-8")
        except UnicodeDecodeError:
            raise NotRead(f"{path} is not text (UTF-8)") from None

    def _text_of_answer(self, work: Work) -> tuple[str, str]:
        """The only block of the text, or its only one in this language; without any block, all of the text."""
        from upskill.checks.fenced import read_fenced

        blocks = read_fenced(work.answer.text).blocks
        if not blocks:
            return "the answer", work.answer.text
        mine = [block for block in blocks if block.language in self._languages] if len(blocks) > 1 else blocks
        if len(mine) == 1:
            return "the fenced block", mine[0].content
        raise NotRead(f"{len(blocks)} fenced blocks, {len(mine)} of them {self.name}; one is looked at")

    def _look_at(self, wanted: dict[str, Json], value: Json, *, name: str) -> Look:
        at = wanted.get("at")
        where = f"{name} at {at}" if isinstance(at, str) else name
        try:
            found = value_at(value, steps_of(at) or []) if isinstance(at, str) else value
        except NotThere as error:
            return Look(bool(wanted.get("absent")), f"{where}: nothing there ({error})")
        if wanted.get("absent"):
            return Look(False, f"{where}: there is {shown_value(found)}")
        if "equals" in wanted:
            return Look(same(found, wanted["equals"], exact=self._exact), f"{where} is {shown_value(found)}")
        if "matches" in wanted:
            if not isinstance(found, str):
                return Look(False, f"{where} is {shown_value(found)}, which is no text")
            match = search(str(wanted["matches"]), found)
            return Look(match is not None, f"{where} is {shown(found)}")
        return Look(True, f"{where} is {shown_value(found)}")


def shown_value(value: Json) -> str:
    """A value on one line, cut."""
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"


def plain(value: Any, *, depth: int = 0) -> Json:
    """A parsed value as JSON has it: dates as text, keys as text. Raises `NotRead` where it is nested too deeply."""
    if depth > MOST_DEPTH:
        raise NotRead(f"nested more than {MOST_DEPTH} deep")
    if isinstance(value, dict):
        return {_key(key): plain(inner, depth=depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner, depth=depth + 1) for inner in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise NotRead(f"holds a {type(value).__name__}, which is no plain value")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)
