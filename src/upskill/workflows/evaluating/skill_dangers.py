"""Searches the skills that an evaluation hands to models: what is dangerous in them is noted, and refused where a model
could run programs that nothing confines."""

import shlex
from pathlib import Path

from upskill.domain.skill import SKILL_FILE
from upskill.domain.text import count, on_one_line
from upskill.errors import UsageError
from upskill.workflows.lint_skill import lint

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
