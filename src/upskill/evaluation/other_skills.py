"""The skills that an evaluation hands to models: those beside the measured one, and what is dangerous in them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from upskill.core.nouns import Files, Skill, harness_info
from upskill.core.nouns.skill import (
    MOST_HANDED_BYTES,
    MOST_OTHERS,
    SKILL_FILE,
    Among,
    OtherSkill,
    OtherSkills,
    OtherSource,
)
from upskill.core.nouns.text import count, on_one_line
from upskill.core.skills.skills import find_skills, read_contents, read_skill, shipped_skills
from upskill.errors import SkillInvalid, UpskillError, UsageError
from upskill.lint.lint_skill import lint
from upskill.sandbox import MOST_READ_ONLY

MOST_FILES = MOST_READ_ONLY - 20
"""Of all skills together: a sandbox takes so many, and its own and an agent's settings are among them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundOthers:
    """The other skills of an evaluation, with their files."""

    skills: tuple[Skill, ...] = ()
    """Sorted by name; no two have the same one."""
    contents: Mapping[str, Files] = field(default_factory=dict)
    """Their files, by the digest of each."""
    record: OtherSkills | None = None
    """What is recorded and reported of them; `None` where none was asked for."""
    notes: tuple[str, ...] = ()


def require_offered_by(harness: str, among: Among) -> None:
    """Raise where this harness cannot offer what `--among` asks for."""
    info = harness_info(harness)
    if among and not info.with_tools:
        raise UsageError(
            f"--among: models of the harness {harness} cannot load skills",
            hint="add --harness agent, or the name of a coding agent",
        )
    if among.bundled and not info.program:
        raise UsageError(
            f"--among bundled: the harness {harness} has no skills of its own",
            hint="name a coding agent, for example --harness codex",
        )


def find_others(among: Among, *, measured: Sequence[Skill]) -> FoundOthers:
    """Read the other skills. One with the name of a measured skill is left out, and so is a second one of a name.

    `measured` are the versions of the skill that are compared. Raises with all that is wrong with the folders.
    """
    if not among:
        return FoundOthers()
    found = _Found(measured)
    for folder in among.folders:
        found.add_folder(Path(folder))
    for skill, files in shipped_skills(among.shipped):
        found.add(skill, files, source="shipped")
    found.require_bounds()
    names = sorted(found.skills)
    return FoundOthers(
        skills=tuple(found.skills[name] for name in names),
        contents=found.contents,
        record=OtherSkills(
            skills=tuple(
                OtherSkill(name=name, digest=found.skills[name].digest, source=found.sources[name]) for name in names
            ),
            bundled=among.bundled,
            shipped=among.shipped,
        ),
        notes=tuple(found.notes),
    )


class _Found:
    """Collects other skills, the first of each name."""

    def __init__(self, measured: Sequence[Skill]) -> None:
        self._names = {skill.name for skill in measured}
        self._measured_files = max((len(skill.files) for skill in measured), default=0)
        self._digests = {skill.digest for skill in measured}
        self.skills: dict[str, Skill] = {}
        self.sources: dict[str, OtherSource] = {}
        self.contents: dict[str, Files] = {}
        self.notes: list[str] = []

    def add_folder(self, folder: Path) -> None:
        """Every skill in a folder; a folder without one is a mistake."""
        shown = on_one_line(str(folder))
        if not folder.is_dir():
            raise UsageError(f"--among {shown}: no such folder", hint="name a folder of skills, a number or bundled")
        paths = list(find_skills(folder))
        if not paths:
            raise UsageError(f"--among {shown}: has no skill", hint="a skill is a folder with a SKILL.md")
        problems: list[str] = []
        for path in paths[: MOST_OTHERS + 2]:
            try:
                skill = read_skill(path)
                if skill.digest not in self._digests:
                    self.add(skill, read_contents(path, skill), source="folder")
            except SkillInvalid as error:
                problems += [f"{path.name}: {problem}" for problem in error.problems or (error.message,)]
            except UpskillError as error:
                problems.append(error.message)
        if problems:
            raise UsageError(
                f"--among {shown}: {count(len(problems), 'problem')} with its skills",
                problems=problems,
                hint="repair these skills, or move them elsewhere",
            )

    def add(self, skill: Skill, files: Files, *, source: OtherSource) -> None:
        """Keep a skill unless its name is taken; of equal ones nothing is said."""
        taken = self.skills.get(skill.name)
        if skill.name in self._names:
            self.notes.append(f"--among: another skill is named {skill.name} too; only the measured one is offered")
        elif taken is None:
            self.skills[skill.name], self.sources[skill.name] = skill, source
            self.contents[skill.digest] = files
        elif taken.digest != skill.digest:
            self.notes.append(f"--among: two skills are named {skill.name}; only the first one is offered")

    def require_bounds(self) -> None:
        """Raise where they are too many for a sandbox."""
        number = self._measured_files + sum(len(files) for files in self.contents.values())
        size = sum(len(data) for files in self.contents.values() for data in files.values())
        problems = [
            f"{found:,} {what}; {most:,} are allowed"
            for found, most, what in (
                (len(self.skills), MOST_OTHERS, "skills"),
                (number, MOST_FILES, "files with those of the measured skill"),
                (size, MOST_HANDED_BYTES, "bytes"),
            )
            if found > most
        ]
        if problems:
            raise UsageError("--among: these are too many other skills for a sandbox", problems=problems)


_MOST_RULES = 5


def dangers_in(folder: Path, *, what: str) -> str | None:
    """How many dangers `lint` finds in a skill and of which rules, or why it could not look; `None` for none."""
    result = lint(folder)
    if result.refused is not None:
        return f"{what} was not searched for danger ({result.refused})"
    named = list(dict.fromkeys(one.rule for one in result.dangers))
    if not named:
        return None
    more = f", and {len(named) - _MOST_RULES} more" if len(named) > _MOST_RULES else ""
    return f"{count(len(result.dangers), 'dangerous finding')} in {what} ({', '.join(named[:_MOST_RULES])}{more})"


def danger_notes(skill: Path, *, previous: Path | None, refuse: bool) -> tuple[str, ...]:
    """Notes on dangers in a skill and in the version that it is compared with. With `refuse`, because models could run
    programs unconfined and nobody agreed to that, it raises where there are any."""
    folder = skill.parent if skill.name == SKILL_FILE and skill.is_file() else skill
    here = dangers_in(folder, what="this skill")
    there = None if previous is None else dangers_in(previous, what="the version that it is compared with")
    if refuse and (found := here or there) is not None:
        raise UsageError(
            f"{folder.resolve().name}: {found}, and programs would run unconfined (--sandbox none)",
            hint="remove --sandbox none; or read the skill (upskill lint shows the places) and add --accept-findings",
        )
    listed = () if here is None else (f"{here}: upskill lint {shlex.quote(on_one_line(str(folder)))}",)
    return listed if there is None else (*listed, there)
