"""`json`: strict JSON. No comments, no NaN, no key twice."""

import json
from typing import Any

from upskill.checks.structured import NotRead, Structured


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises `NotRead`."""
    try:
        return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise NotRead(f"not json: {error.msg}, line {error.lineno} column {error.colno}") from None
    except ValueError:
        raise NotRead("not json: holds a number with thousands of digits") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        double = next(key for key in names if names.count(key) > 1) if len(names) < 1_000 else "…"
        raise NotRead(f"not json: the key {double[:60]!r} stands twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise NotRead(f"not json: {name} is no JSON value")


JSON = Structured("json", parse_json, languages=frozenset({"json"}), exact_numbers=False)
