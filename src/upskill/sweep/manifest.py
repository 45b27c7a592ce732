"""The manifest of a sweep, `sweep.toml`: which skills, which models, under which settings, caps and limits."""

import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from glob import has_magic, iglob
from pathlib import Path
from typing import Any, Literal, cast, get_args

from upskill import disk
from upskill.core.foreign_json import parse_json
from upskill.core.models.retrying import RateLimit
from upskill.core.nouns.skill import NEVER_PART_OF_A_SKILL, SKILL_FILE
from upskill.core.nouns.text import on_one_line
from upskill.core.settings import Origin, Settings, settings_from
from upskill.errors import UsageError
from upskill.sweep.values import JOB_SETTINGS, Caps, Logs, SweepPlan

MANIFEST_FORMAT: Literal["upskill.sweep/1"] = "upskill.sweep/1"
MOST_BYTES = 10_000_000
_OWN_KEYS = ("format", "skills", "students", "groups", "runs", "confirm", "logs", "limits")
_PLAN_SETTINGS = ("harness", "seed")
_CAPS = tuple(one.name for one in fields(Caps))
_LIMITS = tuple(one.name for one in fields(RateLimit))
_SETTINGS = tuple(sorted(JOB_SETTINGS))
KEYS = (*_OWN_KEYS, *_PLAN_SETTINGS, *_CAPS, *_SETTINGS)
"""Every key that a manifest may have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What somebody asks a sweep for."""

    path: Path
    skills: tuple[str, ...]
    """Patterns of skill folders and names of lists (`.jsonl`), relative to the folder of the manifest."""
    plan: SweepPlan
    """The plan, as far as the manifest says it: models are not looked for yet."""

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(student for group in self.plan.groups for student in group)

    @property
    def values(self) -> Settings:
        """The settings of every evaluation of the sweep."""
        plan = self.plan
        named = {**plan.settings, "models": self.students, "harness": plan.harness, "seed": plan.seed}
        values = settings_from(named, where=str(self.path)).values
        told = [name for name in named if name in ("base_url", "aliases")]
        said = {name: Origin(where=f"{name} in {self.path.name}") for name in told}
        return replace(values, untyped=said)


def read_manifest(path: Path) -> Manifest:
    """Read a manifest strictly. Raises `UsageError` or `SettingsError`, which name the key and what to do."""
    where = on_one_line(str(path))
    table = _table(path, where)
    for key in table:
        _known(key, KEYS, where=where)
    if table.get("format") != MANIFEST_FORMAT:
        raise UsageError(f"{where}: `format` is not {MANIFEST_FORMAT}", hint=f'write format = "{MANIFEST_FORMAT}"')
    students = _names(table.get("students"), "students", example='students = ["haiku"]', where=where)
    skills = _skills(table.get("skills"), where=where)
    plan = SweepPlan(
        manifest=path.name,
        groups=_groups(table.get("groups", "all"), students, where=where),
        harness=table.get("harness", "auto"),
        runs=_runs(table.get("runs", "auto"), where=where),
        seed=table.get("seed", 0),
        settings={name: table[name] for name in _SETTINGS if name in table},
        caps=_caps(table, where=where),
        limits=_limits(table.get("limits", {}), students, where=where),
        confirm=_confirm(table.get("confirm", True), where=where),
        logs=_logs(table.get("logs", "failures"), where=where),
    )
    manifest = Manifest(path=path, skills=skills, plan=plan)
    _ = manifest.values  # says which value of which setting is wrong
    return manifest


def _table(path: Path, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(disk.read(disk.named(path), most=MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        hint = "name the sweep.toml; see docs/how-to/sweep-many-skills.md"
        raise UsageError(f"{where}: cannot be read ({error.strerror})", hint=hint) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{where}: is not TOML: {on_one_line(str(error))}") from None


def _known(key: str, keys: Iterable[str], *, where: str) -> None:
    if key in keys:
        return
    near = get_close_matches(key.replace("-", "_"), keys, n=1)
    raise UsageError(
        f"{where}: there is no key `{on_one_line(key)}`",
        hint=f"did you mean `{near[0]}`?" if near else f"keys are {', '.join(keys)}",
    )


def _names(value: object, key: str, *, example: str, where: str) -> tuple[str, ...]:
    """A list of names, each once."""
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one.strip() for one in value):
        raise UsageError(f"{where}: `{key}` must be a list of names", hint=f"for example {example}")
    return tuple(dict.fromkeys(value))


def _skills(value: object, *, where: str) -> tuple[str, ...]:
    example = 'skills = ["registry/*/"], or skills = "skills.jsonl"'
    return _names([value] if isinstance(value, str) else value, "skills", example=example, where=where)


def _groups(value: object, students: tuple[str, ...], *, where: str) -> tuple[tuple[str, ...], ...]:
    if value == "all":
        return (students,)
    example = 'groups = "all", or groups = [["haiku", "kimi"], ["local"]]'
    if not isinstance(value, list) or not value:
        raise UsageError(f'{where}: `groups` must be "all" or lists of models', hint=f"for example {example}")
    groups = tuple(_names(group, "groups", example=example, where=where) for group in value)
    named = [student for group in groups for student in group]
    for student in named:
        if student not in students:
            near = get_close_matches(student, students, n=1)
            hint = f"did you mean `{near[0]}`?" if near else "add it to `students`"
            raise UsageError(f"{where}: `groups` names {on_one_line(student)}, which is not in `students`", hint=hint)
    if twice := [student for student in students if named.count(student) > 1]:
        raise UsageError(f"{where}: {', '.join(twice)} is in more than one group", hint="name each model once")
    if missing := [student for student in students if student not in named]:
        raise UsageError(f"{where}: {', '.join(missing)} is in no group", hint="add it to a group")
    return groups


def _runs(value: object, *, where: str) -> int | None:
    if value == "auto":
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f'{where}: `runs` must be a number from 1, or "auto"')
    return value


def _caps(table: Mapping[str, Any], *, where: str) -> Caps:
    # Checked as the settings of these names are.
    named = {name: table[name] for name in _CAPS if name in table}
    values = settings_from(named, where=where).values
    return Caps(**{name: getattr(values, name) for name in _CAPS})


def _limits(value: object, students: tuple[str, ...], *, where: str) -> dict[str, RateLimit]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: `limits` must be tables", hint=f'for example [limits."{students[0]}"]')
    found = {}
    for student, limits in value.items():
        if student not in students:
            near = get_close_matches(student, students, n=1)
            raise UsageError(
                f'{where}: [limits."{on_one_line(student)}"] is about a model that is not in `students`',
                hint=f"did you mean `{near[0]}`?" if near else f"models are {', '.join(students)}",
            )
        there = f'{where}: [limits."{on_one_line(student)}"]'
        if not isinstance(limits, dict):
            raise UsageError(f"{there}: must be a table", hint=f"keys are {', '.join(_LIMITS)}")
        for key, limit in limits.items():
            _known(key, _LIMITS, where=there)
            if not isinstance(limit, int | float) or isinstance(limit, bool) or not 0 < limit < math.inf:
                raise UsageError(f"{there}: `{key}` must be a number above 0")
        found[student] = RateLimit(**limits)
    return found


def _confirm(value: object, *, where: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{where}: `confirm` must be true or false")
    return value


def _logs(value: object, *, where: str) -> Logs:
    if value not in get_args(Logs):
        raise UsageError(f"{where}: `logs` must be one of {', '.join(get_args(Logs))}")
    return cast("Logs", value)


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
        lines = disk.read(path).splitlines()
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
