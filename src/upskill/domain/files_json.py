"""How files stand in JSON, in a case and in a check: text as text, anything else as base64."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from upskill.domain.answer import Files
from upskill.domain.case import Json
from upskill.domain.paths import clash, path_problem

MOST_FILES = 200
MOST_BYTES = 4 * 2**20
"""All files of one case, or of one answer, together."""


def read_files(value: Json, problems: list[str], *, where: str = "`files`") -> Files:
    """Files by path, as `{"path": "text"}` or `{"path": {"base64": "…"}}`; what is wrong is added to the problems."""
    if not isinstance(value, dict):
        problems.append(f'{where} must be an object such as {{"build.toml": "text"}}')
        return {}
    if len(value) > MOST_FILES:
        problems.append(f"{where} holds {len(value):,} files; {MOST_FILES} are allowed")
        return {}
    files: dict[str, bytes] = {}
    for path, content in value.items():
        if problem := path_problem(path):
            problems.append(f"{where}: the name {path[:60]!r} {problem}")
            continue
        data = _bytes_of(content)
        if data is None:
            problems.append(f'{where}: {path[:60]!r} must be text, or {{"base64": "…"}} that can be decoded')
            continue
        files[path] = data
    if folder := clash(files):
        problems.append(f"{where}: {folder[:60]!r} is a file and also the folder of another")
    if (size := sum(map(len, files.values()))) > MOST_BYTES:
        problems.append(f"{where}: {size:,} bytes; {MOST_BYTES:,} are allowed")
        return {}
    return files


def _bytes_of(content: Json) -> bytes | None:
    try:
        if isinstance(content, str):
            return content.encode("utf-8")
        if isinstance(content, dict) and set(content) == {"base64"} and isinstance(content["base64"], str):
            return base64.b64decode(content["base64"], validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return None
    return None


def files_as_json(files: Files) -> dict[str, Any]:
    """Files as they are written; reading them gives the same bytes."""
    return {path: _content(data) for path, data in files.items()}


def _content(data: bytes) -> str | Mapping[str, str]:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}
