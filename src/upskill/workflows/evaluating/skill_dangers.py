"""Searches the skills that an evaluation hands to models: what is dangerous in them is noted, and refused where a model
could run programs that nothing confines."""

import shlex
from pathlib import Path

from upskill import storage
from upskill.domain import Skill
from upskill.domain.skill import MOST_HANDED_BYTES, MOST_HANDED_FILES, SKILL_FILE
from upskill.domain.text import count, on_one_line
from upskill.errors import UsageError
from upskill.shipping import search_skill

_MOST_RULES = 5


def dangers_in(folder: Path, skill: Skill, *, what: str = "this skill") -> str | None:
    """How many dangers a skill has and of which rules, in words; `None` where it has none."""
    rules = [one.rule for one in search_skill(_texts(folder, skill)) if one.severity == "danger"]
    if not rules:
        return None
    named = list(dict.fromkeys(rules))
    more = f", and {len(named) - _MOST_RULES} more" if len(named) > _MOST_RULES else ""
    return f"{count(len(rules), 'dangerous finding')} in {what} ({', '.join(named[:_MOST_RULES])}{more})"


def danger_notes(
    folder: Path, skill: Skill, *, previous: Skill | None, previous_folder: Path | None, refuse: bool
) -> tuple[str, ...]:
    """Notes on dangers in a skill and in the version that it is compared with. With `refuse`, because models could run
    programs unconfined and nobody agreed to that, it raises where there are any."""
    here, there = dangers_in(folder, skill), None
    if previous is not None and previous_folder is not None:
        there = dangers_in(previous_folder, previous, what="the version that it is compared with")
    if refuse and (found := here or there) is not None:
        raise UsageError(
            f"{skill.name}: {found}, and programs would run unconfined (--sandbox none)",
            hint="remove --sandbox none; or read the skill (upskill lint shows the places) and add --accept-findings",
        )
    listed = () if here is None else (f"{here}: upskill lint {shlex.quote(on_one_line(str(folder)))}",)
    return listed if there is None else (*listed, there)


def _texts(folder: Path, skill: Skill) -> dict[str, bytes]:
    """Its files; where they are too many to be handed to anybody, what a model is shown at once."""
    if len(skill.files) <= MOST_HANDED_FILES and sum(file.size for file in skill.files) <= MOST_HANDED_BYTES:
        return dict(storage.read_contents(folder, skill))
    return {SKILL_FILE: f"---\nname: {skill.name}\ndescription: {skill.description}\n---\n{skill.body}".encode()}
