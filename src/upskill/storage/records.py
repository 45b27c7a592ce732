"""Records: values kept as JSON files in a run folder.

Written whole, without keys of the user's own; read with a sentence for whatever may be wrong with them.
"""

import json
import os
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from upskill.atomic_file import write_atomically
from upskill.domain.text import on_one_line, whole_characters
from upskill.errors import EngineError, UsageError
from upskill.redaction import redactor_from
from upskill.storage.plain_files import read_plain


class Record(Protocol):
    """A value that says in which format it is written."""

    @property
    def format(self) -> str:
        """Name and version, as in `upskill.run/1`."""
        ...


R = TypeVar("R", bound=Record)


def record_text(adapter: TypeAdapter[Any], value: object) -> str:
    """A value as it stands in its file."""
    try:
        return adapter.dump_json(value, indent=2).decode() + "\n"
    except PydanticSerializationError:
        # A path on this machine need not be UTF-8; a record must be.
        text = json.dumps(adapter.dump_python(value, mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
        return whole_characters(text) + "\n"


def write_text(path: Path, text: str) -> None:
    """Replace a file, whole or not at all."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise EngineError(f"{path}: cannot be written ({error.strerror})") from error


def keep_text(path: Path, text: str) -> None:
    """The same without keys of the user's own: whatever a run keeps of itself goes through here."""
    write_text(path, redactor_from(os.environ).clean_own(text))


def read_record(path: Path, adapter: TypeAdapter[R], *, wanted: str, missing: str, other: str) -> R:
    """The record in a file.

    `wanted` is the format that can be read, `missing` what its folder is not without it, `other` what to do with
    another format.
    """
    try:
        record = adapter.validate_json(read_plain(path))
    except FileNotFoundError:
        raise UsageError(
            f"{path.parent}: {missing} (it has no {path.name})", hint="list the runs with `upskill runs`"
        ) from None
    except ValidationError as error:
        raise EngineError(on_one_line(f"{path}: cannot be read as {wanted}: {first_problem(error)}")) from None
    if record.format != wanted:
        raise EngineError(
            on_one_line(f"{path}: has the format {record.format!r}; this version reads {wanted}"), hint=other
        )
    return record


def first_problem(error: ValidationError) -> str:
    """Where the first problem of a value is, and what it is."""
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
