"""How whole answers stand in a case file: as text, or as text and files."""

from typing import Any

from upskill.domain import Answer
from upskill.domain.case import Json
from upskill.domain.files_json import files_as_json, read_files


def read_answer(value: Json, problems: list[str], *, where: str) -> Answer | None:
    """An answer written into a case: its text, or `{"text": "…", "files": {…}, "removed": […]}`."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict) or not value or not {"text", "files", "removed"}.issuperset(value):
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
    removed = value.get("removed", [])
    if not isinstance(removed, list) or not all(isinstance(path, str) for path in removed):
        problems.append(f"{where}: `removed` must be a list of names of files of the case")
        return None
    if not text.strip() and not files and not removed:
        problems.append(f"{where} is empty; the empty answer is tried anyway")
        return None
    return Answer(text=text, files=files, removed=tuple(map(str, removed)))


def read_answers(value: Json, problems: list[str], *, where: str) -> tuple[Answer, ...]:
    """A list of answers."""
    if not isinstance(value, list):
        problems.append(f"{where} must be a list of answers")
        return ()
    found = [read_answer(item, problems, where=f"{where} {number}") for number, item in enumerate(value, 1)]
    return tuple(answer for answer in found if answer is not None)


def answer_as_json(answer: Answer) -> str | dict[str, Any]:
    """An answer as it is written."""
    if not answer.files and not answer.removed:
        return answer.text
    return {
        **({"text": answer.text} if answer.text else {}),
        **({"files": files_as_json(answer.files)} if answer.files else {}),
        **({"removed": list(answer.removed)} if answer.removed else {}),
    }
