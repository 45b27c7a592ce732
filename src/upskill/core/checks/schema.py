"""JSON Schema for the schemas of cases: comparing a value has the time limit of a pattern, and so has each pattern."""

import json
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
