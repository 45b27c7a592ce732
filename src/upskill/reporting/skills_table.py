"""Skills as a table: where they are, how many cases they have, and what was last measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from upskill.domain.evaluation import PastRun
from upskill.domain.text import shortened
from upskill.reporting import wording
from upskill.reporting.glance.names import names_by_model
from upskill.reporting.glance.terminal_block import style_of
from upskill.reporting.listings import plain_table, print_table
from upskill.reporting.runs_table import verdict_words

_MOST_NAMES = 2
_OTHER_COLUMNS = 23
"""Characters of cases, tokens and the space between columns."""
_LEAST_ROOM = 30
_NEEDED = "▲▼◆–…"


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillLine:
    """A skill as it is listed. `problem` says why it cannot be used, and then the rest is unknown."""

    folder: str
    cases: int | None
    tokens: int | None
    description: str
    problem: str | None
    measured: PastRun | None
    changed: bool | None
    files: tuple[str, ...] = ()


def show_skills(skills: Sequence[SkillLine], console: Console, *, verbose: bool) -> None:
    """Print a row for each skill, below its last verdict a line of its description; all of it, and its files, with
    `verbose`."""
    plain = not wording.can_draw(console, _NEEDED)
    room = max(_LEAST_ROOM, console.width - max(len(skill.folder) for skill in skills) - _OTHER_COLUMNS)
    table = plain_table()
    table.add_column("skill", overflow="fold")
    table.add_column("cases", no_wrap=True, justify="right")
    table.add_column("tokens", no_wrap=True, justify="right")
    table.add_column("last verdict", overflow="fold", min_width=_LEAST_ROOM)
    for skill in skills:
        about = skill.description if verbose else shortened(skill.description, room)
        cases = "" if skill.cases is None else str(skill.cases)
        tokens = "" if skill.tokens is None else f"~{skill.tokens}"
        table.add_row(Text(skill.folder), cases, tokens, _last_verdict(skill, plain=plain))
        for line in (about, *(skill.files if verbose else ())):
            table.add_row("", "", "", Text(line, style="dim"))
    print_table(table, console)


def _last_verdict(skill: SkillLine, *, plain: bool) -> Text:
    """`▲ helps haiku, ? undecided kimi, 2026-11-15`, and whether the skill changed since."""
    if skill.problem is not None:
        return Text(f"cannot be used: {skill.problem}")
    if skill.measured is None:
        return Text("not measured")
    results = skill.measured.results
    names = names_by_model([one.model for one in results])
    by_verdict: dict[str | None, list[str]] = {}
    for result in results:
        by_verdict.setdefault(result.verdict, []).append(names[result.model])
    text = Text()
    for verdict, models in by_verdict.items():
        who = ", ".join(models) if len(models) <= _MOST_NAMES else f"{len(models)} models"
        text.append(f"{verdict_words(verdict, plain=plain)} ", style=style_of(verdict or "")).append(f"{who}, ")
    return text.append(skill.measured.day + (", changed since" if skill.changed else ""))
