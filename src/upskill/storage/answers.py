"""How files and whole answers stand in a case file: text as text, anything else as base64."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from upskill.domain import Answer, Files
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


def read_answer(value: Json, problems: list[str], *, where: str) -> Answer | None:
    """An answer written into a case: its text, or `{"text": "…", "files": {…}}`."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict) or not value or not {"text", "files"}.issuperset(value):
        problems.append(f'{where} must be text, or an object such as {{"text": "…", "files": {{"build.toml": "…"}}}}')
        return None
    text = value.get("text", "")
    if not isinstance(text, str):
        problems.append(f"{where}: `text` must be a string")
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        problems.append(f"{where} holds a lone surrogate (half a character), which cannot be stored")
        return None
    files = read_files(value.get("files", {}), problems, where=f"{where}: `files`")
    if not text.strip() and not files:
        problems.append(f"{where} is empty; the empty answer is tried anyway")
        return None
    return Answer(text=text, files=files)


def read_answers(value: Json, problems: list[str], *, where: str) -> tuple[Answer, ...]:
    """A list of answers."""
    if not isinstance(value, list):
        problems.append(f"{where} must be a list of answers")
        return ()
    found = [read_answer(item, problems, where=f"{where} {number}") for number, item in enumerate(value, 1)]
    return tuple(answer for answer in found if answer is not None)


def answer_as_json(answer: Answer) -> str | dict[str, Any]:
    """An answer as it is written."""
    if not answer.files:
        return answer.text
    return {**({"text": answer.text} if answer.text else {}), "files": files_as_json(answer.files)}
