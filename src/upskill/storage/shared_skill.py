"""What of a skill is installed or published: the files that a model may see, and the evidence. Cases stay behind."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from upskill.domain import Skill
from upskill.domain.files import shared_path_problem
from upskill.domain.skill import (
    EVIDENCE_FILES,
    MOST_SHARED_BYTES,
    MOST_SHARED_FILES,
    NAME_RULE,
    SKILL_FILE,
    is_skill_name,
)
from upskill.domain.text import count, on_one_line
from upskill.errors import SkillInvalid, UsageError
from upskill.storage.evidence import MOST_EVIDENCE_BYTES
from upskill.storage.folder_changes import NewFile
from upskill.storage.plain_files import read_plain
from upskill.storage.skill_files import MOST_PROBLEMS, find_files
from upskill.storage.skills import read_skill


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedSkill:
    """A skill with the bytes of everything that travels with it."""

    root: Path
    """Its real folder."""
    skill: Skill
    files: dict[str, NewFile]
    """What a model may see, by path."""
    evidence: dict[str, NewFile]
    """The files of evidence that lie beside it, by name."""


def read_shared_skill(folder: Path) -> SharedSkill:
    """Read a skill whole. What cannot be shared is refused: in one line, if it is one thing."""
    try:
        skill = read_skill(folder)
    except SkillInvalid as error:
        if len(error.problems) != 1:
            raise
        raise SkillInvalid(on_one_line(f"{folder}: {error.problems[0]}")) from None
    root = (folder.parent if folder.name == SKILL_FILE and folder.is_file() else folder).resolve()
    written = skill.frontmatter.get("name")
    if not is_skill_name(skill.name) or written != skill.name:
        raise SkillInvalid(
            on_one_line(f"{folder}: the name {written!r} in SKILL.md is not valid, so agents would refuse the skill"),
            hint=NAME_RULE,
        )
    paths = (skill.name, *(file.path for file in skill.files))
    if problems := [on_one_line(f"{path!r} {problem}") for path in paths if (problem := shared_path_problem(path))]:
        raise SkillInvalid(
            on_one_line(f"{folder}: {count(len(problems), 'name')} that not every system can hold, or that deceive"),
            problems=problems[:MOST_PROBLEMS],
            hint="rename them",
        )
    size = sum(file.size for file in skill.files)
    if len(skill.files) > MOST_SHARED_FILES or size > MOST_SHARED_BYTES:
        raise SkillInvalid(
            on_one_line(
                f"{folder}: {len(skill.files):,} files with {size:,} bytes; a skill that is shared may have "
                f"{MOST_SHARED_FILES:,} files and {MOST_SHARED_BYTES:,} bytes"
            ),
            hint="remove what an agent does not need",
        )
    return SharedSkill(root=root, skill=skill, files=_contents(root, skill), evidence=_evidence(root))


def _contents(root: Path, skill: Skill) -> dict[str, NewFile]:
    """The bytes of every file, which must be those that were read before."""
    known = {file.path: file for file in skill.files}
    sources = {file.path: file.source for file in find_files(root, [])}
    contents: dict[str, NewFile] = {}
    for path, file in known.items():
        try:
            with sources[path].open("rb") as opened:
                data = opened.read(file.size + 1)
        except (KeyError, OSError):
            data = b""
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise UsageError(on_one_line(f"{skill.name}: {path} changed while it was being read"), hint="try again")
        contents[path] = NewFile(data, file.executable)
    return contents


def _evidence(root: Path) -> dict[str, NewFile]:
    found: dict[str, NewFile] = {}
    for name in sorted(EVIDENCE_FILES):
        path = root / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise SkillInvalid(on_one_line(f"{path}: is not an ordinary file"), hint="remove it")
        try:
            found[name] = NewFile(read_plain(path, most=MOST_EVIDENCE_BYTES))
        except FileNotFoundError:
            continue
    return found
