"""Files of a skill, a case or an answer: which names they may have, and how files and answers are written as JSON.

A file is stored as text, or as base64 where it is none. A name that passes here is safe to write to.
"""

import base64
import binascii
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from unicodedata import name as character_name
from unicodedata import normalize

from upskill.domain.answer import Answer, Files
from upskill.domain.case import Json
from upskill.domain.skill import NEVER_PART_OF_A_SKILL
from upskill.domain.text import HIDDEN, decoded

MOST_CHARACTERS = 240
MOST_FILES = 200
MOST_BYTES = 4 * 2**20
"""All files of one case, or of one answer, together."""
_MOST_NAME_BYTES = 255
_DEVICE = re.compile(r"(?i:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)\d) *(?:\.|\Z)")
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]|[. ]\Z|\A ')
_WORD = re.compile(r"[^\W\d_]+")
_ALPHABETS = frozenset({"LATIN", "GREEK", "CYRILLIC"})
_NOT_ANYWHERE = frozenset(map(str.casefold, NEVER_PART_OF_A_SKILL))


def path_problem(path: str) -> str | None:
    """Why a name is no relative path that every system can hold, in words that follow the name; `None` if it is one."""
    if not path:
        return "is empty"
    if len(path) > MOST_CHARACTERS:
        return f"is longer than {MOST_CHARACTERS} characters"
    if not path.isprintable() or path != path.strip():
        return "holds a character that cannot be seen"
    if path.startswith(("/", "~")) or path[1:2] == ":":
        return "is not relative"
    if "\\" in path:
        return "holds a backslash; write folders with /"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of its folder"
    if "" in parts or "." in parts:
        return "has a part that is empty or a dot"
    return None


def shared_path_problem(path: str) -> str | None:
    """Why a file or folder of a skill that others get cannot have this path, in words that follow it; `None` if it can.

    Every system must be able to hold it, and nobody may take it for another. Letters of any one alphabet are fine.
    """
    if problem := path_problem(path):
        return problem
    parts = path.split("/")
    if any(len(part.encode()) > _MOST_NAME_BYTES for part in parts):
        return f"has a part of more than {_MOST_NAME_BYTES} bytes"
    if any(part.casefold() in _NOT_ANYWHERE for part in parts):
        return "is never part of a skill"
    if any(map(_DEVICE.match, parts)):
        return "is the name of a device on Windows"
    if any(map(_NOT_ON_WINDOWS.search, parts)):
        return "cannot be a file on Windows"
    if HIDDEN.search(path) or "\u2800" in path:
        return "holds a character that cannot be seen"
    if (plain := normalize("NFKC", path)) != path:
        return f"is another way to write {plain!r}"
    if any(len(_ALPHABETS & {character_name(c, "").split(" ")[0] for c in word}) > 1 for word in _WORD.findall(path)):
        return "mixes letters of two alphabets in one word"
    return None


def name_clashes(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Files or folders whose names are one on some systems: they differ only by case or by how a letter is written."""
    known: dict[str, str] = {}
    told: set[str] = set()
    for path in paths:
        for name in (*folders_of(path), path):
            other = known.setdefault(normalize("NFKC", normalize("NFKC", name).casefold()), name)
            if other != name:
                if name not in told:
                    yield other, name
                told.add(name)
                break


def folders_of(path: str) -> list[str]:
    """Every folder that a path leads through, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def clash(paths: Collection[str]) -> str | None:
    """The first name that is a file and also the folder of another; `None` if there is none."""
    return next((folder for path in sorted(paths) for folder in folders_of(path) if folder in paths), None)


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
    text = decoded(data)
    return {"base64": base64.b64encode(data).decode("ascii")} if text is None else text


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
        problems.append(f"{where} is empty; remove it, because every case is tested with an empty answer anyway")
        return None
    return Answer(text=text, files=files, removed=tuple(map(str, removed)))


def read_answers(value: Json, problems: list[str], *, where: str) -> tuple[Answer, ...]:
    if not isinstance(value, list):
        problems.append(f"{where} must be a list of answers")
        return ()
    found = [read_answer(item, problems, where=f"{where} {number}") for number, item in enumerate(value, 1)]
    return tuple(answer for answer in found if answer is not None)


def answer_as_json(answer: Answer) -> str | dict[str, Any]:
    if not answer.files and not answer.removed:
        return answer.text
    return {
        **({"text": answer.text} if answer.text else {}),
        **({"files": files_as_json(answer.files)} if answer.files else {}),
        **({"removed": list(answer.removed)} if answer.removed else {}),
    }
