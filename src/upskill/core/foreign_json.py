"""JSON of strangers, read within limits."""

import json
import math
from pathlib import Path

from upskill import disk
from upskill.core.nouns.case import Json

MOST_JSON_BYTES = 50_000_000
MOST_JSON_DEPTH = 100


def read_json(path: Path) -> Json:
    """JSON from a file. Whatever is wrong with it is a `ValueError` with a sentence."""
    try:
        return parse_json(disk.beginning(path, MOST_JSON_BYTES + 1))
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror})") from None


def parse_json(data: bytes) -> Json:
    """JSON from a stranger: any damage is a `ValueError` with a sentence, never another exception.

    What comes back can always be written as JSON again: no NaN, no infinity, no nesting without end.
    """
    if len(data) > MOST_JSON_BYTES:
        raise ValueError(f"it is larger than {MOST_JSON_BYTES // 1_000_000} MB")
    try:
        value: Json = json.loads(
            data.decode("utf-8-sig"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_without_doubles,
        )
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {_slip(error)}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _require_shallow(value)
    return value


def _slip(error: json.JSONDecodeError) -> str:
    """What is wrong, and where. A comma before a closing bracket is shown where it stands, not where reading ended."""
    what, text, comma = error.msg, error.doc, error.doc.rfind(",", 0, error.pos + 1)
    after = text[comma + 1 : comma + 1_000].lstrip()
    if comma >= 0 and after[:1] in ("]", "}") and not text[comma + 1 : error.pos].strip():
        what, error = f"remove the comma before the {after[0]}", json.JSONDecodeError("", text, comma)
    return f"{what.removesuffix(' at')} at line {error.lineno}, column {error.colno}"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _whole(text: str) -> int:
    if len(text) > 1_000:
        raise ValueError(f"a number of {len(text):,} digits is too large")
    return int(text)


def _without_doubles(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Refuse equal keys: most readers silently keep one and lose the other, and a check could be lost so."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key `{double}` appears twice in one object")
    return value


def _require_shallow(value: Json) -> None:
    level = [value]
    for _ in range(MOST_JSON_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise ValueError(f"it is nested more than {MOST_JSON_DEPTH} levels deep")


def _inside(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
