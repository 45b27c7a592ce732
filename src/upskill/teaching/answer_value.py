"""The value inside a teacher's answer, whatever stands around it. Knows nothing of what the value is for.

Models think aloud, greet, fence, write YAML where JSON was asked for, leave commas behind. All of that is read. What is
not there is never made up: an answer without the value is unusable, with the reason in words that a teacher can act on.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from upskill.domain.fences import Fence, fence_after
from upskill.domain.thinking import without_thinking
from upskill.teaching.schema_fit import fit_problems, fitted

MOST_CHARACTERS = 400_000
"""Far above what a skill or a set of cases needs. A longer answer is a model that did not stop."""
MOST_YAML_CHARACTERS = 60_000
MOST_YAML_OPENINGS = 2_000
MOST_FENCES = 5
"""YAML is read slowly, and only where JSON was not found: these bound the time to a few seconds."""
MOST_DEPTH = 30
_MOST_STARTS = 60


class UnusableAnswer(Exception):
    """An answer that cannot be used, and everything that is wrong with it, in words for whoever wrote it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def value_in(text: str, schema: Mapping[str, Any], *, cut: bool = False) -> dict[str, Any]:
    """The one object of an answer that fits the schema. Raises `UnusableAnswer`.

    Of several that fit, the last: what comes before are examples and second thoughts. `cut` says that the answer was
    not finished: then only what is whole in itself is taken, which YAML never shows.
    """
    if len(text) > MOST_CHARACTERS:
        raise UnusableAnswer([f"it is {len(text):,} characters long; {MOST_CHARACTERS:,} are read"])
    meant = without_thinking(text)
    if not meant:
        raise UnusableAnswer(["it is empty" if not text.strip() else "it holds thoughts only, and no answer"])
    found = list(_json_values(meant)) or (list(_json_values(text)) if meant != text else [])
    fitting = _fitting(found, schema)
    if fitting is None and not cut:
        fitting = _fitting(list(_yaml_values(meant)), schema)
    if fitting is not None:
        return fitting
    raise UnusableAnswer(_problems(meant, found, schema))


def _fitting(found: list[Any], schema: Mapping[str, Any]) -> dict[str, Any] | None:
    for value in reversed(found):
        whole = fitted(value, schema)
        if isinstance(whole, dict) and not fit_problems(whole, schema):
            return whole
    return None


def _problems(text: str, found: list[Any], schema: Mapping[str, Any]) -> list[str]:
    """What to tell: about the largest object that could be read, or why none could."""
    objects = [value for value in found if isinstance(value, dict)]
    start = text.find("{")
    if start >= 0:
        try:
            mended(_DECODER.raw_decode(text, start)[0])
        except json.JSONDecodeError as error:
            line = text.count("\n", 0, error.pos) + 1
            near = " ".join(text[max(0, error.pos - 30) : error.pos + 30].split())
            return [f"it is not valid JSON: {error.msg.lower()} at line {line}, near {near!r}"]
        except (ValueError, RecursionError):
            return ["it is not JSON that can be read: nested too deeply, or a number that is none"]
    if not objects:
        return ["it holds no JSON object"]
    largest = max(objects, key=lambda value: len(repr(value)))
    return fit_problems(fitted(largest, schema), schema) or ["it holds no JSON object of the form asked for"]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
"""Forgives line breaks inside texts, which weak writers leave unescaped."""


def _json_values(text: str) -> Iterator[Any]:
    """Every object or list that stands by itself, in order. What is inside one is not looked at again."""
    position = 0
    for _ in range(_MOST_STARTS):
        start = min((at for at in (text.find("{", position), text.find("[", position)) if at >= 0), default=-1)
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
            value = mended(value)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        position = end
        yield value


def _yaml_values(text: str) -> Iterator[Any]:
    """YAML in fences, else the whole text as YAML: also JSON with commas left behind or with comments."""
    if len(text) > MOST_YAML_CHARACTERS:
        return
    texts = list(_fenced(text))[:MOST_FENCES]
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        texts.append(text[start : end + 1])
    opened = text.find("---\n")
    if opened >= 0:
        texts.append(text[opened:].split("\n---\n")[0])
    for candidate in (text, *texts):
        if candidate.count("[") + candidate.count("{") + candidate.count("&") > MOST_YAML_OPENINGS:
            continue
        try:
            value = mended(yaml.load(candidate, Loader=_Yaml))
        except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
            continue
        if isinstance(value, dict | list):
            yield value


def _fenced(text: str) -> Iterator[str]:
    """What stands in each code block, in order."""
    fence: Fence | None = None
    inside: list[str] = []
    for line in text.split("\n"):
        before, fence = fence, fence_after(line, fence)
        if before is None:
            inside = []
        elif fence is None:
            yield "\n".join(inside)
        else:
            inside.append(line)


class _Yaml(yaml.SafeLoader):
    """Reads what JSON could say and no more: `no` and `2026-01-01` are texts, and aliases are refused."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A few lines of aliases unfold into gigabytes."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "an alias is not read here", None)
        return super().compose_node(parent, index)


for _tag, _pattern, _first in (
    ("bool", r"(?:true|false)\Z", "tf"),
    ("int", r"-?(?:0|[1-9][0-9]{0,17})\Z", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17}\Z", "-0123456789"),
    ("null", r"(?:null|~|)\Z", ["n", "~", ""]),
):
    _Yaml.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def mended(value: Any, *, depth: int = MOST_DEPTH) -> Any:
    """The value with whole characters, one kind of line end, and texts as keys. Raises `ValueError` if too deep."""
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return _mended_text(value)
    if isinstance(value, dict):
        return {_mended_text(str(key)): mended(inner, depth=depth - 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [mended(inner, depth=depth - 1) for inner in value]
    return value if isinstance(value, bool | int | float | None) else str(value)


def _mended_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return "".join(character for character in text if character >= " " or character in "\n\t")
