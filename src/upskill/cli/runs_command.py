"""`upskill runs`: past runs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli.output import NO_COLOR, console

if TYPE_CHECKING:
    from upskill.storage.teaching_runs import TeachingRecord


@click.command("runs")
@click.option("--runs-dir", metavar="DIR", help="Where to look.  [default: runs]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@NO_COLOR
def command(runs_dir: str | None, as_json: bool, no_color: bool) -> None:
    """List past runs, newest first, with what each found."""
    from upskill.reporting.listings import show_rows
    from upskill.settings import resolve_settings
    from upskill.workflows.list_runs import list_runs

    where = Path(resolve_settings({"runs_dir": runs_dir}).values.runs_dir)
    rows: list[dict[str, object]] = []
    for listed in list_runs(where):
        if listed.teaching is not None:
            rows.append(_generated(listed.teaching, listed.folder))
            continue
        record = listed.record
        results = (record.results or {}) if record else {}
        students = results.get("students")
        found = [
            f"{student['model']}: {student['verdict'] or student['sentence']}"
            for student in (students if isinstance(students, list) else [])
            if isinstance(student, dict)
        ]
        rows.append(
            {
                "started": record.started_at if record else None,
                "skill": record.skill_name if record else None,
                "status": record.status if record else "unreadable",
                "found": "; ".join(found) if record else listed.problem,
                "folder": listed.folder.as_posix(),
            }
        )
    if as_json:
        click.echo(json.dumps({"schema": "upskill.runs/1", "runs": rows}, indent=2, ensure_ascii=False))
    elif not rows:
        click.echo(f"no runs in {where}", err=True)
    else:
        out = console(no_color=no_color)
        show_rows(rows, ["folder", "status", "found"], out, folded=["folder", "found"])


def _generated(record: "TeachingRecord", folder: Path) -> dict[str, object]:
    """A run of `generate`: the skill that came of it, or how far it got."""
    results = record.results or {}
    skill = results.get("skill")
    return {
        "started": record.started_at,
        "skill": skill.get("name") if isinstance(skill, dict) else None,
        "status": record.status,
        "found": results.get("sentence") or f"generate, as far as: {record.stage}",
        "folder": folder.as_posix(),
    }
