"""`upskill list`: the skills in a folder."""

from pathlib import Path

import click

from upskill.cli import options
from upskill.cli.output import console, print_json, print_lines


@click.command("list")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@options.JSON
@options.NO_COLOR
def command(folder: Path | None, as_json: bool, no_color: bool) -> None:
    """List the skills below FOLDER, by default the one in `skills_dir`."""
    from upskill.domain import estimate_tokens
    from upskill.reporting.listings import show_rows
    from upskill.settings import resolve_settings
    from upskill.workflows.list_skills import list_skills

    where = folder if folder is not None else Path(resolve_settings(uses=()).values.skills_dir)
    found = tuple(list_skills(where))
    rows = [
        {
            "skill": listed.skill.name if listed.skill else listed.folder.name,
            "cases": listed.cases,
            "tokens": estimate_tokens(listed.skill.body) if listed.skill else None,
            "folder": listed.folder.as_posix(),
            "description": listed.skill.description if listed.skill else None,
            "problem": listed.problem,
        }
        for listed in found
    ]
    if as_json:
        print_json({"schema": "upskill.list/1", "skills": rows})
        return
    if not rows:
        print_lines(f"no skills below {where}", err=True)
        return
    shown = [
        {
            **row,
            "tokens": f"~{row['tokens']}" if row["tokens"] is not None else None,
            "description": " ".join(listed.skill.description.split())
            if listed.skill
            else f"cannot be used: {listed.problem}",
        }
        for row, listed in zip(rows, found, strict=True)
    ]
    columns = ["folder", "cases", "tokens", "description"]
    show_rows(shown, columns, console(no_color=no_color), folded=["description"], right=["cases", "tokens"])
