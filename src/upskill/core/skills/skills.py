"""Skill folders: read, digested, copied byte for byte, written. Cases never count as part of a skill."""

import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count, islice
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import yaml

from upskill import disk
from upskill.core.nouns import Files, Skill, SkillFile, digest_of
from upskill.core.nouns.skill import (
    MOST_CHARACTERS,
    MOST_HANDED_BYTES,
    MOST_HANDED_FILES,
    NAME_RULE,
    NEVER_PART_OF_A_SKILL,
    RECORD_FILES,
    SKILL_FILE,
    is_skill_name,
)
from upskill.core.nouns.text import on_one_line
from upskill.core.skills.markdown import SkillParts, one_line, parse_skill_text, render_skill_text
from upskill.core.skills.skill_files import (
    FoundFile,
    describe,
    find_files,
    folder_name,
    foreign_evidence,
    skill_invalid,
)
from upskill.errors import EngineError, UsageError

MOST_SKILL_TEXT_BYTES = 10_000_000
_NEARBY_FOLDERS = 2_000


def read_skill(folder: Path) -> Skill:
    """Read a skill folder. Lenient about how it is written, strict about what it could reach outside itself."""
    root = _skill_root(folder)
    problems: list[str] = []
    found = find_files(root, problems)
    parsed = _parsed(found, problems)
    description = "" if parsed is None else _description(parsed, problems)
    files = tuple(describe(file, problems) for file in found)
    if parsed is None or problems:
        typed = folder.parent if folder.is_file() else folder
        shut = [quote(str(typed / file.path)) for file in found if not os.access(file.source, os.R_OK)]
        hint = f"chmod u+r {' '.join(shut)}" if shut else f"see more of it: upskill lint {quote(str(typed))}"
        raise skill_invalid(f"{root.name}: this skill cannot be used", problems, hint=hint)
    name, notes = _name_and_notes(parsed.frontmatter, root)
    if (hidden := foreign_evidence(root)) is not None:
        notes = (*notes, f"{hidden} is not given to models; rename it if it belongs to the skill")
    if len(description) > MOST_CHARACTERS["description"]:
        notes = (*notes, f"the description has {len(description):,} characters; agents refuse or cut more than 1,024")
    return Skill(
        name=name,
        description=description,
        body=parsed.body,
        # Without mode bits: Windows has none, and a student reads the same text.
        digest=digest_of([[file.path, file.sha256] for file in files]),
        frontmatter=parsed.frontmatter,
        files=files,
        notes=tuple(on_one_line(note) for note in (*parsed.notes, *notes)),
    )


def _skill_root(folder: Path) -> Path:
    """The folder of a skill, which may also be named by its `SKILL.md`."""
    shown = on_one_line(str(folder))
    try:
        if folder.name == SKILL_FILE and folder.is_file():
            folder = folder.parent
        if not folder.exists():
            raise UsageError(f"{shown}: no such folder", hint=_nearby_skills(folder.parent))
        if not folder.is_dir():
            raise UsageError(f"{shown}: not a folder", hint="name the folder of a SKILL.md")
        if not (folder / SKILL_FILE).is_file():
            raise UsageError(f"{shown}: has no {SKILL_FILE}", hint=_nearby_skills(folder))
        return folder.resolve()
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read ({error.strerror})", hint="name the folder of a skill") from None


def _nearby_skills(folder: Path) -> str:
    if (folder / SKILL_FILE.lower()).is_file():
        return f"rename {SKILL_FILE.lower()} to {SKILL_FILE}"
    found = list(islice(find_skills(folder, most_folders=_NEARBY_FOLDERS), 5))
    if found:
        return "did you mean " + ", ".join(on_one_line(str(path)) for path in found) + "?"
    return "a skill is a folder with a SKILL.md in it"


def _parsed(found: list[FoundFile], problems: list[str]) -> SkillParts | None:
    """`SKILL.md` taken apart; `None` when it cannot be, with the reason among the problems."""
    source = next((file.source for file in found if file.path == SKILL_FILE), None)
    if source is None:
        problems.append(f"there is no readable file named {SKILL_FILE} (in capitals)")
        return None
    try:
        return parse_skill_text(disk.read(source, most=MOST_SKILL_TEXT_BYTES).decode("utf-8"))
    except UnicodeDecodeError:
        problems.append(f"{SKILL_FILE} is not UTF-8 text")
    except disk.NotPlain as error:
        problems.append(f"{SKILL_FILE} {error.why.removeprefix('it ')}")
    except OSError:
        pass  # `describe` says so
    except ValueError as error:
        problems.append(str(error))
    return None


def _description(parsed: SkillParts, problems: list[str]) -> str:
    raw = parsed.frontmatter.get("description", "")
    if not isinstance(raw, str):
        problems.append("the description in SKILL.md must be a string")
        return ""
    description = one_line(raw)
    if not description:
        problems.append("SKILL.md has no description, which agents need to choose a skill")
    return description


def _name_and_notes(frontmatter: Mapping[str, object], root: Path) -> tuple[str, tuple[str, ...]]:
    raw = frontmatter.get("name", "")
    written = one_line(raw) if isinstance(raw, str) else ""
    folder = folder_name(root)
    name = _safe_name(written or folder)
    notes: list[str] = []
    if not written:
        notes.append(f"SKILL.md has no name, so the name of its folder is used: {name}")
    elif name != written:
        notes.append(f"the name {written!r} is not valid under the Agent Skills specification; {name} is used instead")
    if name != folder:
        notes.append(f"the name {name} differs from the name of its folder, {folder}; some agents refuse that")
    return name, tuple(notes)


def _safe_name(text: str) -> str:
    """A valid name, as near to the text as can be."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: MOST_CHARACTERS["name"]].strip("-") or "skill"


def read_contents(folder: Path, skill: Skill) -> Files:
    """The bytes of every file that a student may see, by path, as they were when the skill was read."""
    size = sum(file.size for file in skill.files)
    if len(skill.files) > MOST_HANDED_FILES or size > MOST_HANDED_BYTES:
        raise UsageError(
            f"{skill.name}: {len(skill.files):,} files of {size:,} bytes are too much for a sandbox",
            hint=f"reduce it to {MOST_HANDED_FILES} files and {MOST_HANDED_BYTES:,} bytes, or use --harness chat",
        )
    known = {file.path: file.sha256 for file in skill.files}
    contents: dict[str, bytes] = {}
    for file in find_files(_skill_root(folder), []):
        try:
            contents[file.path] = disk.read(file.source, most=MOST_HANDED_BYTES)
        except OSError as error:
            raise EngineError(f"{skill.name}: {file.path} cannot be read ({error.strerror})") from None
    if {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()} != known:
        raise UsageError(f"{skill.name}: changed while it was being read", hint="try again")
    return contents


def copy_skill(source: Path, target: Path) -> None:
    """Copy what a student may see, byte for byte with mode bits, into a new folder. Cases stay behind."""
    root = _skill_root(source)
    problems: list[str] = []
    found = find_files(root, problems)
    if problems:
        raise skill_invalid(f"{root.name}: this skill cannot be copied", problems)
    shown = on_one_line(str(target))
    if target.exists() or target.is_symlink():
        raise UsageError(f"{shown}: already exists", hint="name a folder that does not exist yet")
    if target.resolve().is_relative_to(root):
        raise UsageError(f"{shown} is inside the skill that is copied", hint="name a folder outside it")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        for file in found:
            copy = beside / file.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            disk.copy(file.source, copy)
            copy.chmod(file.source.stat().st_mode & 0o777)  # never setuid, setgid or sticky
        disk.move(beside, target)
    except OSError as error:
        raise EngineError(f"{shown}: cannot copy the skill here ({error.strerror})") from error
    finally:
        disk.remove_folder(beside)


def write_skill(
    skills_dir: Path, *, name: str, description: str, body: str, fields: Mapping[str, object] | None = None
) -> Skill:
    """Write a new `SKILL.md` into the folder of that name. A name, wherever it came from, cannot leave `skills_dir`."""
    if not is_skill_name(name):
        raise UsageError(f"{on_one_line(name)!r} is not a valid name of a skill", hint=NAME_RULE)
    try:
        text = render_skill_text({**(fields or {}), "name": name, "description": description}, body)
    except ValueError as error:
        raise UsageError(on_one_line(f"{name}: {error}")) from None
    folder = skills_dir / name
    if folder.is_symlink():
        raise UsageError(f"{folder}: is a link; its target is not overwritten", hint="remove the link")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        disk.write(folder / SKILL_FILE, text)
    except OSError as error:
        raise EngineError(f"{folder}: the skill cannot be written to it ({error.strerror})") from error
    return read_skill(folder)


def find_skills(folder: Path, *, depth: int = 4, most_folders: int | None = None) -> Iterator[Path]:
    """Folders below this one that hold a `SKILL.md`, in order, without entering a skill.

    Links to skills are found; other links are not followed. At most so many folders are looked into.
    """
    visits = count() if most_folders is None else iter(range(most_folders))
    yield from _find(folder, depth, visits)


def _find(folder: Path, depth: int, visits: Iterator[int]) -> Iterator[Path]:
    try:
        if (folder / SKILL_FILE).is_file():
            yield folder
            return
        if any((folder / record).is_file() for record in RECORD_FILES):
            return  # a run holds copies of the skill it was about
        if depth == 0 or folder.is_symlink() or next(visits, None) is None:
            return
        inner = [path for path in disk.listed(folder) if path.is_dir()]
    except OSError:  # a folder that cannot be listed holds no skill that could be used
        return
    for path in inner:
        if path.name not in NEVER_PART_OF_A_SKILL:
            yield from _find(path, depth - 1, visits)


class SkillWithFiles(NamedTuple):
    """A skill, and the bytes of its files by path."""

    skill: Skill
    files: Files


def shipped_skills(number: int | None = None) -> Sequence[SkillWithFiles]:
    """The first so many, or all, in their fixed order. Raises where there are fewer."""
    everything = _all()
    if number is not None and number > len(everything):
        raise UsageError(
            f"--among {number}: {len(everything)} skills ship with upskill",
            hint=f"name at most {len(everything)}, and a folder of yours for more",
        )
    return everything[:number]


@cache
def _all() -> tuple[SkillWithFiles, ...]:
    return tuple(map(_skill, yaml.safe_load(disk.packaged("upskill.core.skills", "shipped_skills.yaml"))))


def _skill(entry: dict[str, Any]) -> SkillWithFiles:
    """One entry as if it lay in a folder."""
    fields = {"name": entry["name"], "description": entry["description"]}
    text = render_skill_text(fields, entry["body"])
    data = text.encode("utf-8")
    file = SkillFile(path=SKILL_FILE, size=len(data), sha256=hashlib.sha256(data).hexdigest())
    parsed = parse_skill_text(text)
    skill = Skill(
        name=entry["name"],
        description=entry["description"],
        body=parsed.body,
        digest=digest_of([[file.path, file.sha256]]),
        frontmatter=parsed.frontmatter,
        files=(file,),
    )
    return SkillWithFiles(skill, {SKILL_FILE: data})
