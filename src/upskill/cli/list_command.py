"""`upskill list`: the skills in a folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import console, print_json, print_lines
from upskill.errors import UsageError

if TYPE_CHECKING:
    from upskill.domain.case import Json
    from upskill.reporting.skills_table import SkillLine
    from upskill.workflows.list_skills import ListedSkill


@click.command("list")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("-d", "--dir", "other", type=click.Path(path_type=Path), metavar="DIR", help="The same as FOLDER.")
@click.option("-v", "--verbose", is_flag=True, help="Show full descriptions, and the files of each skill.")
@options.runs_dir("Where past runs are.")
@options.JSON
@options.NO_COLOR
def command(
    folder: Path | None, other: Path | None, verbose: bool, runs_dir: str | None, as_json: bool, no_color: bool
) -> None:
    """List the skills in FOLDER and its subfolders, each with its last result. Default: the setting `skills_dir`."""
    from upskill.workflows.list_skills import list_skills

    if folder is not None and other is not None:
        raise UsageError(f"{folder} and --dir {other}: name only one folder")
    settings = options.resolved({"runs_dir": runs_dir}, uses=["runs_dir"]).values
    where = folder or other or Path(settings.skills_dir)
    found = tuple(list_skills(where, runs_dir=Path(settings.runs_dir)))
    if as_json:
        print_json({"schema": "upskill.list/1", "skills": [_row(listed) for listed in found]})
        return
    if not found:
        print_lines(f"no skills in {where}", err=True)
        return
    from upskill.reporting.skills_table import show_skills

    show_skills([_line(listed) for listed in found], console(no_color=no_color), verbose=verbose)


def _row(listed: "ListedSkill") -> "Json":
    from upskill.domain import estimate_tokens
    from upskill.reporting.run_rows import student_row

    measured = listed.measured
    return {
        "skill": listed.skill.name if listed.skill else listed.folder.name,
        "cases": listed.cases,
        "tokens": estimate_tokens(listed.skill.body) if listed.skill else None,
        "folder": listed.folder.as_posix(),
        "description": listed.skill.description if listed.skill else None,
        "problem": listed.problem,
        "digest": listed.skill.digest if listed.skill else None,
        "measured": None
        if measured is None
        else {
            "at": measured.started_at,
            "run": measured.folder or None,
            "digest": measured.digest,
            "changed": listed.changed,
            "students": [student_row(result) for result in measured.results],
        },
    }


def _line(listed: "ListedSkill") -> "SkillLine":
    from upskill.domain import estimate_tokens
    from upskill.reporting.skills_table import SkillLine

    skill = listed.skill
    return SkillLine(
        folder=listed.folder.as_posix(),
        cases=listed.cases,
        tokens=estimate_tokens(skill.body) if skill else None,
        description=" ".join(skill.description.split()) if skill else "",
        problem=listed.problem,
        measured=listed.measured,
        changed=listed.changed,
        files=tuple(file.path for file in skill.files) if skill else (),
    )
