"""Files that are written whole or not at all, and files of strangers that are read with a limit."""

import json
import os
from pathlib import Path

from upskill.domain.case import Json

MOST_JSON_BYTES = 50_000_000


def write_whole(path: Path, text: str) -> None:
    """Write beside the target, flush to disk, then rename over it: a reader never sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def parse_json(data: bytes) -> Json:
    """JSON from a stranger: any damage is a `ValueError` with a sentence, never another exception."""
    if len(data) > MOST_JSON_BYTES:
        raise ValueError(f"it is larger than {MOST_JSON_BYTES // 1_000_000} MB")
    try:
        value: Json = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg} at line {error.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
