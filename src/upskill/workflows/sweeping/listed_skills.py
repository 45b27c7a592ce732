"""Which skills a manifest names: by patterns of folders, or in a list with one JSON object per line."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import has_magic, iglob
from pathlib import Path

from upskill.domain.skill import NEVER_PART_OF_A_SKILL, SKILL_FILE
from upskill.domain.text import on_one_line
from upskill.errors import UsageError
from upskill.storage.foreign_json import parse_json
from upskill.workflows.sweeping.manifest import Manifest

LIST_SUFFIX = ".jsonl"
_LIST_KEYS = ("skill", "cases", "digest")


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedSkill:
    """A skill that a manifest names."""

    skill: str
    """Relative to the folder of the manifest, with forward slashes."""
    folder: Path
    case_file: Path | None = None
    digest: str | None = None
    """What the digest of the skill must be; `None` where the list does not say."""


def listed_skills(manifest: Manifest) -> list[ListedSkill]:
    """All skills of a manifest, each once, in its order. Raises where an entry names none."""
    found: dict[tuple[str, Path | None], ListedSkill] = {}
    for entry in manifest.skills:
        before = len(found)
        listed = _from_list(manifest, entry) if entry.endswith(LIST_SUFFIX) else _matching(manifest, entry)
        count = 0
        for count, one in enumerate(listed, 1):  # noqa: B007 - only how many there were
            found.setdefault((one.skill, one.case_file), one)
        if count == 0 and before == len(found):
            raise UsageError(
                f"{manifest.path}: {on_one_line(entry)!r} in `skills` names no skill",
                hint=f"a pattern such as registry/*/ names folders with a {SKILL_FILE}, relative to this file",
            )
    return list(found.values())


def _matching(manifest: Manifest, pattern: str) -> Iterator[ListedSkill]:
    """Folders that match. Below `**` only those that are skills count; elsewhere the others are refused by name."""
    root = manifest.path.parent
    deep = "**" in pattern
    if not has_magic(pattern) and not (root / pattern).exists():
        raise UsageError(f"{manifest.path}: {on_one_line(pattern)!r} in `skills` does not exist")
    # Unlike `Path.glob` it leaves out hidden folders.
    for name in sorted(iglob(pattern, root_dir=root, recursive=True)):  # noqa: PTH207
        path = name.removesuffix(SKILL_FILE) if name.replace(os.sep, "/").endswith(f"/{SKILL_FILE}") else name
        shown = os.path.normpath(path).replace(os.sep, "/")
        folder = root / shown
        if not NEVER_PART_OF_A_SKILL.isdisjoint(shown.split("/")) or not folder.is_dir():
            continue
        if not deep or (folder / SKILL_FILE).is_file():
            yield ListedSkill(skill=shown, folder=folder)


def _from_list(manifest: Manifest, name: str) -> Iterator[ListedSkill]:
    path = manifest.path.parent / name
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{on_one_line(str(path))}: cannot be read ({error.strerror})") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _listed(manifest, path, line, where=f"{on_one_line(str(path))}: line {number}")


def _listed(manifest: Manifest, path: Path, line: bytes, *, where: str) -> ListedSkill:
    try:
        value = parse_json(line)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("skill"), str) or not value["skill"]:
        raise UsageError(f'{where}: must be an object such as {{"skill": "registry/pdf"}}')
    for key, entry in value.items():
        if key not in _LIST_KEYS:
            raise UsageError(f"{where}: there is no key `{on_one_line(key)}`", hint=f"keys are {', '.join(_LIST_KEYS)}")
        if not (isinstance(entry, str) or (entry is None and key != "skill")):
            raise UsageError(f"{where}: `{key}` must be a text")
    folder, cases, digest = path.parent / str(value["skill"]), value.get("cases"), value.get("digest")
    shown = os.path.relpath(folder, manifest.path.parent).replace(os.sep, "/")
    return ListedSkill(
        skill=shown,
        folder=folder,
        case_file=path.parent / cases if isinstance(cases, str) else None,
        digest=digest if isinstance(digest, str) else None,
    )


def with_folder(raw: str | None, listed: ListedSkill) -> str | None:
    """Names the bytes of a skill that does not say its name: the name of its folder counts."""
    return None if raw is None else f"{raw}/{listed.folder.absolute().name}"
