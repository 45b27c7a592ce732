"""The skills that ship with upskill, to lie beside a measured one. Read when they are asked for."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from upskill.core.nouns import Files, Skill, SkillFile, digest_of
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.skills.frontmatter import parse_skill_text, render_skill_text
from upskill.errors import UsageError


class SkillWithFiles(NamedTuple):
    """A skill, and the bytes of its files by path."""

    skill: Skill
    files: Files


def shipped_skills(number: int) -> Sequence[SkillWithFiles]:
    """The first so many, in their fixed order. Raises where there are fewer."""
    everything = _all()
    if number > len(everything):
        raise UsageError(
            f"--among {number}: {len(everything)} skills ship with upskill",
            hint=f"name at most {len(everything)}, and a folder of yours for more",
        )
    return everything[:number]


@cache
def _all() -> tuple[SkillWithFiles, ...]:
    text = files("upskill.core.skills").joinpath("shipped_skills.yaml").read_text(encoding="utf-8")
    return tuple(map(_skill, yaml.safe_load(text)))


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
