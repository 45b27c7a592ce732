"""List the skills in a folder, the broken ones included."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from upskill import checks, storage
from upskill.domain import Skill
from upskill.errors import SkillInvalid, UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedSkill:
    """One skill folder: the skill and its number of cases, or why it cannot be used."""

    folder: Path
    skill: Skill | None = None
    cases: int | None = None
    problem: str | None = None


def list_skills(folder: Path) -> Iterator[ListedSkill]:
    """Every skill below a folder, in order of their paths."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", hint="name the folder that holds your skills")
    for path in storage.find_skills(folder):
        try:
            skill = storage.read_skill(path)
            found = storage.read_skill_cases(path, check_problems=checks.check_problems)
        except SkillInvalid as error:
            yield ListedSkill(folder=path, problem="; ".join(error.problems) or error.message)
            continue
        yield ListedSkill(folder=path, skill=skill, cases=len(found.cases) if found else 0)
