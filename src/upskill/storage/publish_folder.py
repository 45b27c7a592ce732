"""The folder that `publish` writes: what is there, what upskill published before, and the list of plugins in it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from upskill.domain.evidence import Evidence
from upskill.domain.skill import EVIDENCE_FILES, is_skill_name
from upskill.domain.text import on_one_line, whole_characters
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.storage.evidence import read_evidence
from upskill.storage.foreign_json import parse_json
from upskill.storage.install_record import changed_files
from upskill.storage.plain_files import read_plain
from upskill.storage.skills import find_skills, read_skill

MOST_BYTES = 5_000_000
_MOST_LISTED = 500
_INDENT = re.compile(rb"\n([ \t]{1,8})\S")


def published_changes(folder: Path) -> tuple[str, ...] | None:
    """What in a folder of a skill is not as upskill published it; `None` if upskill did not publish it."""
    try:
        evidence = read_evidence(folder)
    except (SkillInvalid, EngineError):
        return None
    if evidence is None:
        return None
    files = {file.path: file.sha256 for file in evidence.skill.files}
    return changed_files(folder, files, besides=EVIDENCE_FILES)


def read_text_file(path: Path) -> bytes | None:
    """The bytes of a file; `None` where there is none. Raises `UsageError` where it is not an ordinary file."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(on_one_line(f"{path}: is not an ordinary file"), hint="move it away")
    try:
        return read_plain(path, most=MOST_BYTES)
    except FileNotFoundError:
        return None


def parse_marketplace(path: Path, data: bytes) -> Any:
    """The list of plugins in the bytes of its file."""
    try:
        return parse_json(data)
    except ValueError as error:
        raise UsageError(
            on_one_line(f"{path}: cannot be added to: {error}"), hint="correct the file, then publish again"
        ) from None


def marketplace_bytes(value: Mapping[str, Any], *, before: bytes | None) -> bytes:
    """The list as it is written: indented as it was before, and the same bytes where nothing changed."""
    if before is not None and json.loads(before.decode("utf-8-sig")) == value:
        return before
    found = None if before is None else _INDENT.search(before)
    indent = "  " if found is None else found[1].decode()
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if whole_characters(text) != text:  # half a character can only be written as an escape
        text = json.dumps(value, indent=indent)
    return f"{text}\n".encode()


def published_skills(skills_folder: Path) -> dict[str, tuple[str, Evidence]]:
    """The skills that are in the folder and have evidence: description and evidence by the name of their folder."""
    found: dict[str, tuple[str, Evidence]] = {}
    for folder in find_skills(skills_folder, depth=1, most_folders=_MOST_LISTED):
        if not is_skill_name(folder.name):
            continue  # no agent reads it, and its name could be markup
        try:
            evidence = read_evidence(folder)
            if evidence is not None:
                found[folder.name] = (read_skill(folder).description, evidence)
        except (SkillInvalid, UsageError, EngineError):
            continue  # somebody else's, and not for us to judge
    return found
