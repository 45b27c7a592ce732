"""The parts of a parsed value that cases ask for: a path to a value, how values are compared, and JSON Schema.

Comparing a value with a schema has the time limit of a pattern, and so has each pattern."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote

from upskill.core.checks.regex import SECONDS, Regex, search
from upskill.core.nouns.answer_schemas import allow_seconds, errors_of
from upskill.core.nouns.case import Json

MOST_ERRORS_SHOWN = 3
SECONDS_TO_READ = 5 * SECONDS
"""For a schema itself, which has some thousand parts at most."""
_PATTERNS_BY_NAME = ("patternProperties", "unevaluatedProperties")
"""Keywords whose patterns the library would search itself, without a bound on time."""
_NAMES_INSIDE = ("properties", "$defs", "definitions", "dependentSchemas")
_ONE_OF_EACH_TYPE: tuple[Json, ...] = (None, True, 1, "", [], {})


def schema_problems(schema: Json) -> list[str]:
    """What is wrong with a schema."""
    if not isinstance(schema, dict | bool):
        return ["must be a JSON Schema, which is an object"]
    problems = []
    for key, value in _keywords(schema):
        if key in _PATTERNS_BY_NAME:
            problems.append(f"`{key}` is not supported; use `additionalProperties` or `propertyNames`")
        if key == "$dynamicRef":
            problems.append("`$dynamicRef` is not supported; use `$ref`")
        if key == "$ref" and not (isinstance(value, str) and (value == "#" or value.startswith("#/"))):
            problems.append(
                f"`{key}` {str(value)[:60]!r} is not a place in the schema, such as #/$defs/a; nothing is downloaded"
            )
        elif key == "$ref" and isinstance(value, str) and not _leads_somewhere(schema, value):
            problems.append(f"`$ref` {value[:60]!r} points to nothing")
        if key == "pattern" and (found := Regex().problems(value)):
            problems += [text.replace("`regex`", "`pattern`") for text in found if "empty answer" not in text]
    if problems:
        return problems
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import UnknownType
    from referencing.exceptions import Unresolvable

    try:
        for error in _first_errors(Draft202012Validator.META_SCHEMA, schema, most=1, seconds=SECONDS_TO_READ):
            return [f"is not a JSON Schema: {' '.join(str(error.message)[:1_000].split())[:200]}"]
        for value in _ONE_OF_EACH_TYPE:
            _first_errors(schema, value, most=1, seconds=SECONDS)
    except RecursionError:
        return ["refers to itself without end"]
    except TimeoutError:
        return ["takes too long even for an empty answer; shorten it, or use fewer `$ref` to the same place"]
    except (Unresolvable, UnknownType, TypeError, ValueError) as error:
        return [f"cannot be used: {' '.join(str(error).split())[:200]}"]
    return []


def schema_errors(schema: Json, value: Json) -> list[str]:
    """Where a value does not fit a schema, in words, the first few; empty when it fits.

    A schema that takes too long raises `TimeoutError`, as a pattern does: it is a fault of the case, not of an answer.
    """
    try:
        found = _first_errors(schema, value, most=MOST_ERRORS_SHOWN, seconds=SECONDS)
    except (ArithmeticError, ValueError, RecursionError) as error:  # as for a multiple of NaN
        return [f"the value cannot be compared ({type(error).__name__})"]
    return [f"{error.json_path}: {' '.join(str(error.message)[:1_000].split())[:160]}" for error in found]


def _first_errors(schema: Any, value: Json, *, most: int, seconds: float) -> list[Any]:
    allow_seconds(seconds)
    return list(islice(errors_of(schema, value, pattern=_pattern, uniqueItems=_unique_items), most))


def _pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
    from jsonschema import ValidationError

    if validator.is_type(instance, "string") and search(wanted, instance) is None:
        yield ValidationError(f"{instance[:60]!r} does not match {wanted!r}")


def _unique_items(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
    from jsonschema import ValidationError

    if wanted and validator.is_type(instance, "array"):
        seen = {json.dumps(_by_value(item), sort_keys=True) for item in instance}
        if len(seen) < len(instance):
            yield ValidationError("has duplicate items")


def _by_value(item: Any) -> Any:
    """1 and 1.0 are one number in JSON."""
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, list):
        return [_by_value(inner) for inner in item]
    if isinstance(item, dict):
        return {key: _by_value(inner) for key, inner in item.items()}
    return item


def _leads_somewhere(schema: Json, reference: str) -> bool:
    """Whether a `#/…` has something at its end."""
    part: Json = schema
    for step in reference.removeprefix("#").split("/")[1:] if reference.startswith("#/") else ():
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(part, list) and key.isdigit() and int(key) < len(part):
            part = part[int(key)]
        elif isinstance(part, dict) and key in part:
            part = part[key]
        else:
            return False
    return True


def _keywords(schema: Json) -> Iterator[tuple[str, Json]]:
    """Every key of every object in a schema. Values under `const`, `enum`, `default` and `examples` are data."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            for key, value in part.items():
                if key in ("const", "enum", "default", "examples"):
                    continue
                if key in _NAMES_INSIDE and isinstance(value, dict):
                    waiting += list(value.values())  # its keys are names, not keywords
                    continue
                yield key, value
                waiting.append(value)


_STEP = re.compile(
    r"""(?:\.|^)(?P<key>[^.\[\]"']+)|\[(?P<index>-?\d{1,9})\]|\[(?:"(?P<quoted>[^"]*)"|'(?P<single>[^']*)')\]"""
)
Step = str | int


def steps_of(place: str) -> list[Step] | None:
    """The steps of a path: keys and indexes; `None` if it is not one. A key with dots is `["a.b"]`."""
    steps: list[Step] = []
    at = 0
    while at < len(place):
        found = _STEP.match(place, at)
        if found is None:
            return None
        if found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(next(part for part in (found["key"], found["quoted"], found["single"]) if part is not None))
        at = found.end()
    return steps or None


class ValueMissing(Exception):
    """There is no value at a path; says how much of the path exists."""


def value_at(value: Json, steps: list[Step]) -> Json:
    """The value at the end of the steps. Raises `ValueMissing`."""
    for number, step in enumerate(steps):
        so_far = written(steps[:number]) or "the top"
        if isinstance(step, int):
            if not isinstance(value, list):
                raise ValueMissing(f"{so_far} is not a list")
            if not -len(value) <= step < len(value):
                raise ValueMissing(f"{so_far} has {len(value)} item{'' if len(value) == 1 else 's'}")
            value = value[step]
            continue
        if not isinstance(value, dict):
            raise ValueMissing(f"{so_far} is not an object")
        if step not in value:
            keys = ", ".join(key[:30] for key in list(value)[:6])
            raise ValueMissing(f"{so_far} has no {step!r}; it has {keys or 'no key'}{', …' if len(value) > 6 else ''}")
        value = value[step]
    return value


def written(steps: list[Step]) -> str:
    """Steps as a person writes them."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.search(r"[.\[\]\"']", step) or not step:
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text


def same(one: Json, other: Json, *, exact: bool) -> bool:
    """Whether two values are equal. A boolean is no number; with `exact`, an integer is no float."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other and (not exact or type(one) is type(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b, exact=exact) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], exact=exact) for key in one)
    return type(one) is type(other) and one == other


def differences(found: Json, wanted: Json, *, exact: bool, at: tuple[Step, ...] = ()) -> Iterator[str]:
    """What makes two values differ, in words: keys that are missing, keys too many, and other values."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        yield from (f"missing {written([*at, key])}" for key in wanted if key not in found)
        yield from (f"extra {written([*at, key])}" for key in found if key not in wanted)
        for key in (key for key in wanted if key in found):
            yield from differences(found[key], wanted[key], exact=exact, at=(*at, key))
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, exact=exact, at=(*at, number))
    elif not same(found, wanted, exact=exact):
        yield f"{written([*at]) or 'the top'} is {shown_value(found)}, not {shown_value(wanted)}"


def shown_value(value: Json) -> str:
    """A value on one line, cut."""
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"
