"""Files that are written whole or not at all, several new files likewise, and JSON of strangers, read within limits."""

import json
import math
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from upskill.domain.case import Json
from upskill.errors import UsageError

MOST_JSON_BYTES = 50_000_000
MOST_JSON_DEPTH = 100


def write_atomically(path: Path, text: str) -> None:
    """Write beside the target, flush to disk, then rename over it: a reader never sees half a file."""
    data = text.encode("utf-8")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read_json(path: Path) -> Json:
    """JSON from a file. Whatever is wrong with it is a `ValueError` with a sentence."""
    try:
        with path.open("rb") as file:
            return parse_json(file.read(MOST_JSON_BYTES + 1))
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
        raise ValueError(f"it is not JSON: {error.msg} at line {error.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _require_shallow(value)
    return value


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
    """Of two equal keys most readers keep one and lose the other, silently: a check could go that way."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key `{double}` stands twice in one object")
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


def write_new_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write every text under its relative path below `folder`, which may be new.

    Raises `UsageError` if one of the paths exists, or cannot be written. Then the folder is as it was.
    """
    there = [name for name in texts if os.path.lexists(folder / name)]
    if there:
        raise UsageError(
            f"{folder}: nothing was written, because {len(there)} of the files exist",
            problems=[f"{folder / name} exists" for name in there],
            hint="name a new folder: upskill init DIR",
        )
    written: list[Path] = []
    made: list[Path] = []
    try:
        for name, text in texts.items():
            path = folder / name
            for parent in reversed([one for one in path.parents if not one.exists()]):
                parent.mkdir()
                made.append(parent)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        for parent in reversed(made):
            with suppress(OSError):
                parent.rmdir()
        raise UsageError(
            f"{folder}: the files cannot be written there ({error.strerror})", hint="name another folder"
        ) from None
