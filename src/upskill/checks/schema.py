"""JSON Schema for untrusted schemas: nothing is fetched, patterns have a time limit, and time is linear."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote

from upskill.checks.regex import Regex, search
from upskill.domain.case import Json

MOST_ERRORS_SHOWN = 3
_PATTERNS_BY_NAME = ("patternProperties", "unevaluatedProperties")
"""Keywords whose patterns the library would search itself, without a bound on time."""
_NAMES_INSIDE = ("properties", "$defs", "definitions", "dependentSchemas")


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
                f"`{key}` {str(value)[:60]!r} is no place in the schema, such as #/$defs/a; nothing is fetched"
            )
        elif key == "$ref" and isinstance(value, str) and not _leads_somewhere(schema, value):
            problems.append(f"`$ref` {value[:60]!r} leads nowhere")
        if key == "pattern" and (found := Regex().problems(value)):
            problems += [text.replace("`regex`", "`pattern`") for text in found if "empty answer" not in text]
    if problems:
        return problems
    from jsonschema.exceptions import SchemaError, UnknownType
    from referencing.exceptions import Unresolvable

    validator = _validator_class()
    try:
        validator.check_schema(schema)
        for _ in _errors(schema, None):
            break
    except SchemaError as error:
        return [f"is no JSON Schema: {' '.join(str(error.message).split())[:200]}"]
    except RecursionError:
        return ["leads back to itself without end"]
    except (Unresolvable, UnknownType, TypeError, ValueError) as error:
        return [f"cannot be used: {' '.join(str(error).split())[:200]}"]
    return []


def schema_errors(schema: Json, value: Json) -> list[str]:
    """Where a value does not fit a schema, in words, the first few; empty when it fits."""
    found = []
    try:
        for error in _errors(schema, value):
            found.append(f"{error.json_path}: {' '.join(str(error.message).split())[:160]}")
            if len(found) >= MOST_ERRORS_SHOWN:
                break
    except (ArithmeticError, ValueError, RecursionError) as error:  # as for a multiple of NaN
        return [f"the value cannot be compared ({type(error).__name__})"]
    return found


def _errors(schema: Json, value: Json) -> Iterator[Any]:
    from referencing import Registry

    # An empty registry: the library's own would fetch what a `$ref` names.
    validator = _validator_class()(schema, registry=Registry())
    yield from validator.iter_errors(value)


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
        if validator.is_type(instance, "string") and search(wanted, instance) is None:
            yield ValidationError(f"{instance[:60]!r} does not match {wanted!r}")

    def unique_items(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
        if wanted and validator.is_type(instance, "array"):
            seen = {json.dumps(_by_value(item), sort_keys=True) for item in instance}
            if len(seen) < len(instance):
                yield ValidationError("has items that are the same")

    return extend(Draft202012Validator, {"pattern": pattern, "uniqueItems": unique_items})


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
