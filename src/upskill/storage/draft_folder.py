"""Drafts as skill folders, and skill folders as drafts. A folder is there whole or not at all; cases stay."""

import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from upskill.domain import Draft, Skill
from upskill.domain.skill import MOST_CHARACTERS, NEVER_PART_OF_A_SKILL, NOT_FOR_STUDENTS, SKILL_FILE, SPECIFIED_FIELDS
from upskill.domain.text import on_one_line
from upskill.errors import EngineError, UsageError
from upskill.storage.frontmatter import one_line
from upskill.storage.skills import read_contents, read_skill, write_skill


def read_draft(folder: Path) -> Draft:
    """A skill folder as a draft: all that a student may see. Fields that no specification knows go into `metadata`."""
    skill = read_skill(folder)
    contents = read_contents(folder, skill)
    return Draft(
        name=skill.name,
        description=_portable(skill.description),
        body=skill.body,
        files={path: data for path, data in contents.items() if path != SKILL_FILE},
        executable=frozenset(file.path for file in skill.other_files if file.executable),
        frontmatter=_specified(skill.frontmatter),
    )


def write_draft(skills_dir: Path, draft: Draft, *, replace: bool = False) -> Skill:
    """Write a draft as the skill folder of its name.

    With `replace`, a folder of that name gives way in one step: what a student may see is the draft's, the cases and
    whatever never counts as part of a skill are carried over. Without, an existing folder is refused.
    """
    target = skills_dir / draft.name
    shown = on_one_line(str(target))
    if target.is_symlink():
        raise UsageError(f"{shown}: is a link; its target is not overwritten", hint="remove the link")
    if target.exists() and not replace:
        raise UsageError(f"{shown}: already exists", hint="name another folder with -o, or improve it with --from")
    if target.exists() and not target.is_dir():
        raise UsageError(f"{shown}: is not a folder", hint="move it away")
    mark = secrets.token_hex(6)
    beside = skills_dir / f".{mark}.tmp"
    try:
        # First, because it is what refuses a name that could lead elsewhere.
        fields = draft.frontmatter
        write_skill(beside, name=draft.name, description=draft.description, body=draft.body, fields=fields)
        made = beside / draft.name
        _write_files(made, draft)
        if target.exists():
            _carry_over(target, made)
        read_skill(made)
        _swap(made, target, skills_dir / f".{draft.name}.{mark}.old")
    except OSError as error:
        raise EngineError(f"{shown}: the skill cannot be written to it ({error.strerror})") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return read_skill(target)


def _write_files(made: Path, draft: Draft) -> None:
    for path, data in draft.files.items():
        parts = path.split("/")
        hidden = parts[0].casefold() in NOT_FOR_STUDENTS or path == SKILL_FILE
        if hidden or path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
            raise UsageError(f"{draft.name}: {on_one_line(path)!r} is not a valid file name in a skill")
        target = made / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path in draft.executable:
            target.chmod(0o755)


def _carry_over(old: Path, made: Path) -> None:
    """The cases, and what lies in the folder without being part of the skill, such as a repository."""
    for child in old.iterdir():
        if child.name.casefold() in NOT_FOR_STUDENTS or child.name in NEVER_PART_OF_A_SKILL:
            if child.is_dir() and not child.is_symlink():
                shutil.copytree(child, made / child.name, symlinks=True)
            else:
                shutil.copy2(child, made / child.name, follow_symlinks=False)


def _swap(made: Path, target: Path, aside: Path) -> None:
    """Two renames; should the second fail, the first is taken back. The old folder goes last."""
    if not target.exists():
        made.rename(target)
        return
    target.rename(aside)
    try:
        made.rename(target)
    except OSError:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _portable(description: str) -> str:
    """The description without what a strict reader refuses: it could not be written again otherwise."""
    text = re.sub(r"-{3,}", "-", re.sub(r"[<>]", "", description))
    most = MOST_CHARACTERS["description"]
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + "…"


def _specified(frontmatter: Mapping[str, object]) -> dict[str, object]:
    fields: dict[str, object] = {}
    metadata: dict[str, str] = {}
    for key, value in frontmatter.items():
        if key in ("name", "description"):
            continue
        if key == "metadata" and isinstance(value, Mapping):
            metadata |= {str(inner): _as_text(text) for inner, text in value.items() if _as_text(text)}
        elif not (text := _as_text(value)):
            continue
        elif key in SPECIFIED_FIELDS and key != "metadata":
            fields[key] = text[: MOST_CHARACTERS.get(key, len(text))]
        else:
            metadata.setdefault(str(key), text)
    return {**fields, **({"metadata": metadata} if metadata else {})}


def _as_text(value: object) -> str:
    """A value on one line: lists of words with spaces, as `allowed-tools` wants them; tables as JSON."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = " ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text).replace("---", "-")
