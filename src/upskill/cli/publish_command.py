"""`upskill publish`: skills with their evidence, laid out for installers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import print_json, print_lines
from upskill.cli.sharing_output import agree, file_lines, finding_lines, findings_json
from upskill.domain.text import count
from upskill.errors import EXIT_DONE

if TYPE_CHECKING:
    from upskill.workflows.publish_skill import PublishPlan

SCHEMA = "upskill.publish/1"
_ACTIONS = {"write": "new", "replace": "changed", "keep": "unchanged"}


@click.command("publish")
@click.argument("skills", metavar="SKILL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--to", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder, e.g. a repository."
)
@click.option("--owner", metavar="NAME", help="Whose marketplace it is; needed once, for a new one.")
@click.option("--name", metavar="NAME", help="The name of a new marketplace.  [default: made from that of DIR]")
@options.dry_run("Show what would be written; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.runs_dir("Where run folders are, for the evidence.")
@options.LEDGER
@options.JSON
def command(
    skills: tuple[Path, ...],
    to: Path,
    owner: str | None,
    name: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **settings: object,
) -> int:
    """Write each SKILL to DIR/skills, with its evidence and a card, and add it to the marketplace file of DIR, for
    `npx skills add` and for Claude Code.

    The cases (skill_meta.json, evals) are left out. Everything else in DIR stays as it is. A skill with a dangerous
    finding, an error of the specification or the verdict `hurts` is refused; one for which nothing was shown is marked.

    Exit codes: 0 published; 1 a skill was refused; 2 wrong usage, or something is in the way; 3 failed. In every
    case but 0 nothing was changed.
    """
    from upskill.workflows.publish_skill import PublishOrder, plan_publish, publish

    values = options.resolved(settings, uses=["runs_dir", "ledger"]).values
    plan = plan_publish(
        PublishOrder(
            skills=skills,
            to=to,
            runs_dir=Path(values.runs_dir),
            ledger=options.ledger_path(values.ledger),
            owner=owner,
            name=name,
            home=Path.home(),
        )
    )
    if not as_json:
        _show(plan)
    if dry_run:
        done = False
    else:
        if plan.changes:
            agree("Publish?", yes=yes, nothing="nothing was published")
            publish(plan)
        done = True
    if as_json:
        print_json(_as_json(plan, done=done))
    elif done:
        print_lines(f"published: {to}" if plan.changes else f"{to}: everything is there already")
        print_lines(
            "next: commit and push it; then `npx skills add OWNER/REPOSITORY`, and in Claude Code "
            "`/plugin marketplace add OWNER/REPOSITORY`",
            err=True,
        )
    return EXIT_DONE


def _show(plan: "PublishPlan") -> None:
    for one in plan.skills:
        where = one.folder.relative_to(plan.to).as_posix()
        print_lines(f"{where}: {_ACTIONS[one.action]}, {count(len(one.files), 'file')}")
        print_lines(*file_lines(one.files))
        print_lines(f"  result: {one.result}", *(f"  note: {note}" for note in one.notes))
        if not one.evidence.is_shown:
            print_lines("  No result shows that this skill helps a model; card, README and marketplace say so.")
        print_lines(*(f"  {line}" for line in finding_lines(one.findings)))
    for file in plan.files:
        print_lines(f"{file.path.relative_to(plan.to).as_posix()}: {_ACTIONS[file.action]}")


def _as_json(plan: "PublishPlan", *, done: bool) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "to": str(plan.to),
        "marketplace": plan.marketplace,
        "done": done,
        "skills": [
            {
                "name": one.name,
                "digest": one.shared.skill.digest,
                "folder": str(one.folder),
                "action": one.action,
                "files": [{"path": path, "size": len(file.data)} for path, file in sorted(one.files.items())],
                "result": one.result,
                "verdict": one.evidence.worst_verdict,
                "shown": one.evidence.is_shown,
                "findings": findings_json(one.findings),
                "notes": list(one.notes),
            }
            for one in plan.skills
        ],
        "files": [{"path": str(file.path), "action": file.action} for file in plan.files],
    }
