"""A trial as JSON, for the log of a run and for the trial store alike.

The files that a student left stand in it by their path: text as text, anything else as `{"base64": "…"}`.
"""

import base64
import binascii
import json
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from upskill.domain import Files, Trial
from upskill.domain.files import files_as_json

_TRIAL = TypeAdapter(Trial)
_FILES_KEY = b'"files":{'
"""Inside a text the quotes would be escaped, so this is found only where the key is."""


class UnreadableTrial(ValueError):
    """These bytes are no trial. Says why, in a few words."""


class NotText(ValueError):
    """The trial holds half a character, which has no UTF-8."""


def trial_json(trial: Trial, *, lossy: bool = False) -> bytes:
    """One line of JSON, without its end. Half a character raises `NotText`, or is kept as a question mark."""
    try:
        line = _TRIAL.dump_json(trial, exclude_none=True, exclude={"files"})
    except PydanticSerializationError:
        if not lossy:
            raise NotText("half a character has no UTF-8") from None
        value = _TRIAL.dump_python(trial, mode="json", exclude_none=True, exclude={"files"})
        line = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    if not trial.files:
        return line
    # A path comes out of the sandbox and may be no UTF-8 either: there the escaped form is kept.
    files = json.dumps(files_as_json(trial.files), separators=(",", ":"))
    return line[:-1] + b',"files":' + files.encode("ascii") + b"}"


def trial_from_json(line: bytes) -> Trial:
    """The trial of a line. Raises `UnreadableTrial`."""
    files: Files = {}
    try:
        if _FILES_KEY in line:
            value = json.loads(line)
            files = {str(path): _read(data) for path, data in value.pop("files").items()}
            line = json.dumps(value).encode("ascii")
        trial = _TRIAL.validate_json(line)
    except ValidationError as error:
        raise UnreadableTrial(error.errors()[0]["msg"]) from None
    except (ValueError, AttributeError, RecursionError) as error:
        raise UnreadableTrial(str(error)) from None
    return replace(trial, files=files) if files else trial


def _read(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, dict) and isinstance(encoded := value.get("base64"), str):
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error:
            pass
    raise ValueError("a file is neither text nor base64")
