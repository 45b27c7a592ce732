"""Skill folders: read, digested, copied byte for byte, written. Cases never count as part of a skill."""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from upskill.domain import Skill, SkillFile, digest_of
from upskill.errors import SkillInvalid, UsageError
from upskill.storage.frontmatter import parse_skill_text, render_skill_text
from upskill.storage.whole_file import write_whole

SKILL_FILE = "SKILL.md"
META_FILE = "skill_meta.json"
NOT_FOR_STUDENTS = frozenset({META_FILE, "evals"})
"""The answers are in there: these never reach a student and never change the digest."""
NEVER_PART_OF_A_SKILL = frozenset({".git", "__pycache__", ".DS_Store", "node_modules"})

MOST_FILES = 10_000
MOST_BYTES = 1_000_000_000
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class _Entry(NamedTuple):
    """A file of a skill: its name inside the skill, and where its bytes are."""

    path: str
    source: Path


def read_skill(folder: Path) -> Skill:
    """Read a skill folder. Lenient about how it is written, strict about what it could reach outside itself."""
    root = skill_root(folder)
    problems: list[str] = []
    entries = list(_entries(root, problems))
    text = ""
    parsed = None
    try:
        text = (root / SKILL_FILE).read_bytes().decode("utf-8")
        parsed = parse_skill_text(text)
    except UnicodeDecodeError:
        problems.append("SKILL.md is not UTF-8 text")
    except (OSError, ValueError) as error:
        problems.append(str(error))
    description = ""
    if parsed is not None:
        raw = parsed.frontmatter.get("description")
        description = " ".join(str(raw).split()) if raw is not None else ""
        if not description:
            problems.append("SKILL.md has no description, by which agents choose a skill")
    if parsed is None or problems:
        raise SkillInvalid(
            f"{root.name}: this skill cannot be used as it is",
            problems=problems,
            hint="a skill is a folder with a SKILL.md; see docs/reference/files.md",
        )
    name, notes = _name_and_notes(parsed.frontmatter, root)
    files = tuple(_describe(entry) for entry in entries)
    return Skill(
        name=name,
        description=description,
        body=parsed.body,
        digest=_digest(files),
        frontmatter=parsed.frontmatter,
        files=files,
        notes=(*parsed.notes, *notes),
    )


def skill_root(folder: Path) -> Path:
    """The folder of a skill, which may also be named by its `SKILL.md`."""
    if folder.name == SKILL_FILE and folder.is_file():
        folder = folder.parent
    if not folder.exists():
        raise UsageError(f"{folder}: no such folder", hint=_nearby_skills(folder))
    if not folder.is_dir():
        raise UsageError(f"{folder}: not a folder", hint="name the folder that holds SKILL.md")
    if not (folder / SKILL_FILE).is_file():
        raise UsageError(f"{folder}: there is no {SKILL_FILE} in it", hint=_nearby_skills(folder))
    return folder.resolve()


def _nearby_skills(folder: Path) -> str:
    parent = folder if folder.is_dir() else folder.parent
    found = list(islice(find_skills(parent), 5)) if parent.is_dir() else []
    if found:
        return "did you mean " + ", ".join(str(path) for path in found) + "?"
    return "a skill is a folder with a SKILL.md in it"


def _name_and_notes(frontmatter: Mapping[str, object], root: Path) -> tuple[str, tuple[str, ...]]:
    name = str(frontmatter.get("name") or "").strip()
    notes: list[str] = []
    if not name:
        name = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-") or "skill"
        notes.append(f"SKILL.md has no name; called {name} after its folder")
    elif not _NAME.fullmatch(name) or len(name) > 64:
        safe = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-") or "skill"
        notes.append(f"the name {name!r} is not valid under the Agent Skills specification; called {safe} here")
        name = safe
    if name != root.name:
        notes.append(f"the name {name} differs from the folder's, {root.name}; some agents refuse that")
    return name, tuple(notes)


def _entries(root: Path, problems: list[str]) -> Iterator[_Entry]:
    """All files of a skill, sorted by name, links that stay inside followed, everything else refused."""
    found: list[_Entry] = []
    total = 0

    def walk(folder: Path, inside: PurePosixPath, above: frozenset[Path]) -> None:
        nonlocal total
        for child in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if child.name in NEVER_PART_OF_A_SKILL or (inside == PurePosixPath() and child.name in NOT_FOR_STUDENTS):
                continue
            name = str(inside / child.name)
            try:
                name.encode("utf-8")
            except UnicodeEncodeError:
                problems.append(f"{name!r}: the name is not UTF-8")
                continue
            path = Path(child.path)
            real = path.resolve()
            if child.is_symlink():
                if not real.is_relative_to(root):
                    problems.append(f"{name}: a link that leaves the skill ({path.readlink()})")
                    continue
                if not real.exists():
                    problems.append(f"{name}: a link to nothing ({path.readlink()})")
                    continue
                if real.relative_to(root).parts[:1] and real.relative_to(root).parts[0] in NOT_FOR_STUDENTS:
                    problems.append(f"{name}: a link to the cases, which students must not see")
                    continue
            if path.is_dir():
                if real in above:
                    problems.append(f"{name}: a link that leads back to a folder it is in")
                    continue
                walk(path, inside / child.name, above | {real})
            elif path.is_file():
                total += path.stat().st_size
                found.append(_Entry(name, real))
            else:
                problems.append(f"{name}: not a file or a folder")
            if len(found) > MOST_FILES or total > MOST_BYTES:
                raise SkillInvalid(
                    f"{root.name}: more than {MOST_FILES:,} files or {MOST_BYTES // 1_000_000:,} MB",
                    hint="is this the right folder? a skill is usually a few files",
                )

    walk(root, PurePosixPath(), frozenset({root}))
    folded: dict[str, str] = {}
    for entry in found:
        other = folded.setdefault(entry.path.casefold(), entry.path)
        if other != entry.path:
            problems.append(f"{entry.path}: differs from {other} only by case, which not every system can hold")
    yield from sorted(found)


def _describe(entry: _Entry) -> SkillFile:
    with entry.source.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        info = os.fstat(file.fileno())
    executable = os.name != "nt" and bool(info.st_mode & stat.S_IXUSR)
    return SkillFile(path=entry.path, size=info.st_size, sha256=sha256, executable=executable)


def _digest(files: tuple[SkillFile, ...]) -> str:
    """Names and bytes only. Mode bits are left out: Windows has none, and a student reads the same text."""
    return digest_of([[file.path, file.sha256] for file in files])


def copy_skill(source: Path, target: Path) -> None:
    """Copy what a student may see, byte for byte with mode bits, into a new folder. Cases stay behind."""
    root = skill_root(source)
    problems: list[str] = []
    entries = list(_entries(root, problems))
    if problems:
        raise SkillInvalid(f"{root.name}: this skill cannot be copied", problems=problems)
    if target.exists():
        raise UsageError(f"{target}: exists already", hint="name a folder that does not exist yet")
    for entry in entries:
        place = target / entry.path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(entry.source, place)
        place.chmod(entry.source.stat().st_mode & 0o777)  # never setuid, setgid or sticky


def write_skill(folder: Path, *, description: str, body: str, fields: Mapping[str, object] | None = None) -> Skill:
    """Write a new `SKILL.md` into a folder, whose name is the skill's name."""
    name = folder.name
    if not _NAME.fullmatch(name) or len(name) > 64:
        raise UsageError(
            f"{name!r} cannot be the name of a skill",
            hint="use up to 64 letters a-z, digits and single hyphens, as in pdf-merge",
        )
    if not 1 <= len(" ".join(description.split())) <= 1024:
        raise UsageError(f"{name}: a description has 1 to 1,024 characters, this one {len(description):,}")
    try:
        text = render_skill_text({**(fields or {}), "name": name, "description": description}, body)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / SKILL_FILE, text)
    return read_skill(folder)


def find_skills(folder: Path, *, depth: int = 4) -> Iterator[Path]:
    """Folders below this one that hold a `SKILL.md`, without entering a skill."""
    if (folder / SKILL_FILE).is_file():
        yield folder
        return
    if depth == 0:
        return
    try:
        children = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except PermissionError:  # a folder that may not be listed holds no skill that could be used
        return
    for child in children:
        if child.is_dir(follow_symlinks=False) and child.name not in NEVER_PART_OF_A_SKILL:
            yield from find_skills(Path(child.path), depth=depth - 1)
