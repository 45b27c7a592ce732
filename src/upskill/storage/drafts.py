"""Drafts as skill folders, and skill folders as drafts. Nothing that an agent could not load is ever saved."""

import secrets
import shutil
from pathlib import Path

from upskill.domain import Skill
from upskill.domain.draft import Draft
from upskill.domain.paths import clash, path_problem
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.storage.frontmatter import MOST_CHARACTERS, SPECIFIED_FIELDS, render_skill_text
from upskill.storage.skill_files import NOT_FOR_STUDENTS, SKILL_FILE
from upskill.storage.skills import is_skill_name, read_contents, read_skill, skill_root
from upskill.storage.whole_file import write_bytes_whole
from upskill.storage.wording import on_one_line, skill_invalid


def read_draft(folder: Path) -> Draft:
    """A skill as a draft, to be improved. What the specification does not know of its frontmatter is left behind."""
    skill = read_skill(folder)
    contents = dict(read_contents(folder, skill))
    contents.pop(SKILL_FILE, None)
    return Draft(
        name=skill.name,
        description=skill.description,
        body=skill.body,
        files=contents,
        executable=frozenset(file.path for file in skill.other_files if file.executable),
        frontmatter=_kept_fields(skill),
    )


def _kept_fields(skill: Skill) -> dict[str, object]:
    """The other fields of the specification, as far as they can be written again."""
    kept: dict[str, object] = {}
    for key in SPECIFIED_FIELDS:
        value = skill.frontmatter.get(key)
        if key in ("name", "description") or value is None:
            continue
        if key == "allowed-tools" and isinstance(value, list):
            value = " ".join(map(str, value))
        try:
            render_skill_text({key: value}, "")
        except ValueError:
            continue
        kept[key] = value
    return kept


def write_draft(folder: Path, draft: Draft, *, beside: dict[str, str] | None = None) -> Skill:
    """A new folder with the skill in it, whole or not at all. `beside` are files that are not part of the skill.

    Raises `SkillInvalid` with every problem, before anything is written, and `UsageError` where the folder exists.
    """
    contents = _contents(draft)
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{on_one_line(str(folder))}: exists already", hint="name a folder that does not exist yet")
    made = folder.with_name(f".{secrets.token_hex(4)}.tmp") / folder.name
    try:
        made.mkdir(parents=True)
        for path, data in {**contents, **{path: text.encode() for path, text in (beside or {}).items()}}.items():
            _put(made / path, data, executable=path in draft.executable)
        read_skill(made)  # what was written can be read, or it does not stay
        made.rename(folder)
    except OSError as error:
        raise EngineError(f"{folder}: the skill cannot be written here ({error.strerror})") from error
    finally:
        shutil.rmtree(made.parent, ignore_errors=True)
    return read_skill(folder)


def replace_skill(folder: Path, draft: Draft) -> Skill:
    """Put a better version in the place of a skill. What is beside it (cases, provenance, a repository) is left.

    Each file is replaced whole, `SKILL.md` after those it names; then the files that are no longer part of it go.
    """
    root = skill_root(folder)
    contents = _contents(draft)
    before = read_skill(root)
    try:
        for path in sorted(contents, key=lambda path: path == SKILL_FILE):
            _put(root / path, contents[path], executable=path in draft.executable)
        for file in before.files:
            if file.path not in contents:
                (root / file.path).unlink(missing_ok=True)
                _remove_empty(root, (root / file.path).parent)
    except OSError as error:
        raise EngineError(f"{folder}: the skill cannot be replaced ({error.strerror})") from error
    return read_skill(root)


def _contents(draft: Draft) -> dict[str, bytes]:
    """The bytes of every file, `SKILL.md` included. Raises `SkillInvalid` with everything that is wrong."""
    problems: list[str] = []
    if not is_skill_name(draft.name):
        problems.append(f"{draft.name!r} is no name of a skill: up to {MOST_CHARACTERS['name']} of a-z, 0-9, hyphens")
    for path in draft.files:
        if (problem := path_problem(path)) is not None:
            problems.append(f"{path!r} {problem}")
        elif path == SKILL_FILE or path.split("/")[0].casefold() in NOT_FOR_STUDENTS:
            problems.append(f"{path!r} is not for a draft to write")
    if (double := clash(dict(draft.files))) is not None:
        problems.append(f"{double!r} is a file and also a folder")
    text = ""
    try:
        fields = {**draft.frontmatter, "name": draft.name, "description": draft.description}
        text = render_skill_text(fields, draft.body)
    except ValueError as error:
        problems.append(str(error))
    if not draft.body.strip():
        problems.append("there is nothing in it")
    if problems:
        raise skill_invalid(f"{on_one_line(draft.name)}: this draft cannot be saved as a skill", problems)
    return {**draft.files, SKILL_FILE: text.encode("utf-8")}


def _put(path: Path, data: bytes, *, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_whole(path, data)
    path.chmod(0o755 if executable else 0o644)


def _remove_empty(root: Path, folder: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def draft_problem(draft: Draft) -> str | None:
    """Why a draft could not be saved, in one line; `None` if it could."""
    try:
        _contents(draft)
    except UpskillError as error:
        return "; ".join(error.problems) or error.message
    return None
