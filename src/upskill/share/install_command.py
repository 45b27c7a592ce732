"""`upskill install` and `upskill publish`: a skill where a coding agent reads it, or laid out for installers."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.core.nouns.text import count
from upskill.errors import EXIT_DONE, UsageError
from upskill.terminal import options
from upskill.terminal.output import confirm, is_interactive, print_json, print_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upskill.core.nouns.finding import Finding
    from upskill.share.copies import InstallRecord, Scope
    from upskill.share.folder_changes import NewFile
    from upskill.share.install import InstallPlan
    from upskill.share.publish import PublishPlan


def agree(question: str, *, yes: bool, nothing: str) -> None:
    """Ask the person on stderr, unless they agreed before. Raises where they do not, or are not there."""
    if yes:
        return
    if not is_interactive():
        raise UsageError(f"{nothing}: there is no terminal to confirm on", hint="add --yes")
    if not confirm(question):
        raise UsageError(nothing)


def file_lines(files: "Mapping[str, NewFile]") -> list[str]:
    """Every file with its size; programs are named as such."""
    width = max(map(len, files))
    return [
        f"  {path:<{width}}  {len(file.data):>9,} bytes{', a program' if file.executable else ''}"
        for path, file in sorted(files.items())
    ]


def finding_lines(findings: "Sequence[Finding]") -> list[str]:
    """What a person should read before agreeing. Cautions are only counted."""
    shown = [one.line_for_people for one in findings if one.severity != "caution"]
    if cautions := sum(one.severity == "caution" for one in findings):
        shown.append(f"{count(cautions, 'caution')}: see `upskill lint`")
    return shown or ["findings: none, which does not mean that it is safe"]


def findings_json(findings: "Sequence[Finding]") -> list[dict[str, object]]:
    """The findings of a skill that may be shared: a person accepted its dangers, or it has none."""
    return [asdict(replace(one, accepted=one.severity == "danger")) for one in findings]


SCHEMA = "upskill.install/1"
_ACTIONS = {"write": "new", "replace": "replaces the older copy", "keep": "is there already"}


@click.command("install")
@click.argument("skill", type=click.Path(path_type=Path))
@click.option(
    "--for",
    "agents",
    multiple=True,
    metavar="AGENT",
    help="claude-code, codex, opencode, or agents (any that reads .agents/skills); may be repeated.  "
    "[default: those on this machine]",
)
@click.option("--user", is_flag=True, help="Install for all your projects instead of the one in the current folder.")
@click.option("--undo", is_flag=True, help="Remove the copies of SKILL that were installed, if nobody changed them.")
@click.option("--accept-findings", is_flag=True, help="Install despite dangerous content that you have read.")
@options.dry_run("Show what would be written or removed; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.JSON
def command(
    skill: Path,
    agents: tuple[str, ...],
    user: bool,
    undo: bool,
    accept_findings: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Copy SKILL into the folder where a coding agent looks for skills: of the project in the current folder, or with
    --user of all your projects.

    Shows every file, the findings of a search for dangerous content, and what was measured; then asks. The cases
    (skill_meta.json, evals) are left out. A folder that upskill did not install, or that was changed since, is never
    replaced or removed.

    Exit codes: 0 installed or removed; 1 dangerous content that was not accepted; 2 wrong usage, or a folder is in the
    way; 3 failed. In every case but 0 nothing was changed.
    """
    from upskill.share.copies import Scope

    scope = Scope(project=Path.cwd(), user=user, home=Path.home(), environment=os.environ)
    if undo:
        return _undo(skill, agents, scope, dry_run=dry_run, yes=yes, as_json=as_json)
    from upskill.share.install import install, plan_install

    values = options.resolved({}, uses=["runs_dir", "ledger"]).values
    ledger = options.ledger_path(values.ledger)
    plan = plan_install(skill, agents=agents, scope=scope, runs_dir=Path(values.runs_dir), ledger=ledger)
    if not as_json:
        _show_plan(plan)
    if plan.dangers and not accept_findings:
        raise _refused(plan, shown=not as_json)
    changes = [copy for copy in plan.copies if copy.action != "keep"]
    if changes and not dry_run:
        agree("Install it?", yes=yes, nothing="nothing was installed")
        install(plan)
    if as_json:
        print_json(_plan_json(plan, done=not dry_run))
    elif not dry_run:
        _show_installed(plan, skill)
    return EXIT_DONE


def _refused(plan: "InstallPlan", *, shown: bool) -> Exception:
    from upskill.core.nouns.finding import FindingsRefused

    return FindingsRefused(
        f"{plan.skill.name}: not installed: {count(len(plan.dangers), 'dangerous finding')}",
        findings=plan.findings,
        problems=[] if shown else [one.line_for_people for one in plan.dangers],
        hint="read the files; to install it as it is, add --accept-findings",
    )


def _show_plan(plan: "InstallPlan") -> None:
    from upskill.core.nouns.skill import INSTALL_RECORD
    from upskill.share.card import evidence_line

    size = sum(len(file.data) for file in plan.files.values())
    print_lines(f"{plan.skill.name}: {count(len(plan.files), 'file')}, {count(size, 'byte')}")
    print_lines(*file_lines(plan.files), f"  and {INSTALL_RECORD}, the record for --undo")
    for copy in plan.copies:
        print_lines(f"into {shown(copy.folder, copy.real)} for {', '.join(copy.agents)}: {_ACTIONS[copy.action]}")
    if plan.chosen == "none present":
        print_lines("No coding agent was found on this machine; many read .agents/skills.")
    print_lines(f"result: {evidence_line(plan.measured)}{_origin(plan)}")
    print_lines(*finding_lines(plan.findings))


def _origin(plan: "InstallPlan") -> str:
    if plan.evidence.note is not None:
        return f" ({plan.evidence.note})"
    return {"file": " (evidence.json says so)", "runs": " (in your runs)", "none": ""}[plan.evidence.origin]


def shown(folder: Path, real: Path) -> str:
    """A folder as a person would type it here, and where it is if a link leads elsewhere."""
    there = Path(os.path.realpath(folder)) if folder.is_relative_to(Path.cwd()) else folder
    return _near(folder) if real == there else f"{_near(folder)} ({real})"


def _near(folder: Path) -> str:
    here = Path.cwd()
    return folder.relative_to(here).as_posix() if folder.is_relative_to(here) else str(folder)


def _show_installed(plan: "InstallPlan", skill: Path) -> None:
    from upskill.share.copies import NEEDED_NODE, skills_add_line

    folders = [_near(copy.folder) for copy in plan.copies]
    user, first = plan.scope.user, folders[0] if Path(folders[0]).is_absolute() else f"./{folders[0]}"
    already = "already " if all(copy.action == "keep" for copy in plan.copies) else ""
    print_lines(f"{already}installed: {', '.join(folders)}")
    print_lines(
        f"to undo: upskill install {quote(str(skill))} --undo{' --user' if user else ''}",
        f"for another agent: {skills_add_line(quote(first), user=user)} (npm, Node.js {NEEDED_NODE} or later)",
        err=True,
        wrap=False,
    )


def _plan_json(plan: "InstallPlan", *, done: bool) -> dict[str, object]:
    from upskill.share.card import evidence_line

    return {
        "schema": SCHEMA,
        "skill": {"name": plan.skill.name, "digest": plan.skill.digest},
        "user": plan.scope.user,
        "done": done,
        "copies": [
            {"agents": list(copy.agents), "folder": str(copy.real), "action": copy.action} for copy in plan.copies
        ],
        "files": [{"path": path, "size": len(file.data)} for path, file in plan.files.items()],
        "result": evidence_line(plan.measured),
        "result_from": plan.evidence.origin,
        "findings": findings_json(plan.findings),
    }


def _undo(skill: Path, agents: tuple[str, ...], scope: "Scope", *, dry_run: bool, yes: bool, as_json: bool) -> int:
    from upskill.share.install import plan_undo, undo

    copies = plan_undo(skill, agents=agents, scope=scope)
    if not as_json:
        print_lines(*(f"removes {shown(copy.folder, copy.real)}: {_size(record)}" for copy, record in copies))
    if not dry_run:
        agree("Remove it?", yes=yes, nothing="nothing was removed")
        undo(copies, scope=scope)
    if as_json:
        removed = [{"agents": list(copy.agents), "folder": str(copy.real), "action": "remove"} for copy, _ in copies]
        record = copies[0].record
        print_json(
            {
                "schema": SCHEMA,
                "skill": {"name": record.name, "digest": record.digest},
                "user": scope.user,
                "done": not dry_run,
                "copies": removed,
            }
        )
    elif not dry_run:
        print_lines("removed: everything is as it was before")
    return EXIT_DONE


def _size(record: "InstallRecord") -> str:
    return f"{count(len(record.files) + 1, 'file')}, unchanged since upskill {record.upskill} installed them"


PUBLISH_SCHEMA = "upskill.publish/1"
_PUBLISH_ACTIONS = {"write": "new", "replace": "changed", "keep": "unchanged"}


@click.command("publish")
@click.argument("skills", metavar="SKILL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--to", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder, e.g. a repository."
)
@click.option("--owner", metavar="NAME", help="Whose marketplace it is; needed once, for a new one.")
@click.option("--name", metavar="NAME", help="The name of a new marketplace.  [default: made from that of DIR]")
@options.dry_run("Show what would be written; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.JSON
def publish_command(
    skills: tuple[Path, ...],
    to: Path,
    owner: str | None,
    name: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Write each SKILL to DIR/skills, with its evidence and a card, and add it to the marketplace file of DIR, for
    `npx skills add` and for Claude Code.

    The cases (skill_meta.json, evals) are left out. Everything else in DIR stays as it is. A skill with a dangerous
    finding, an error of the specification or the verdict `hurts` is refused; one for which nothing was shown is marked.

    Exit codes: 0 published; 1 a skill was refused; 2 wrong usage, or something is in the way; 3 failed. In every
    case but 0 nothing was changed.
    """
    from upskill.share.publish import PublishOrder, plan_publish, publish

    values = options.resolved({}, uses=["runs_dir", "ledger"]).values
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
        _show_published(plan)
    if dry_run:
        done = False
    else:
        if plan.changes:
            agree("Publish?", yes=yes, nothing="nothing was published")
            publish(plan)
        done = True
    if as_json:
        print_json(_published_json(plan, done=done))
    elif done:
        print_lines(f"published: {to}" if plan.changes else f"{to}: everything is there already")
        print_lines(
            "next: commit and push it; then `npx skills add OWNER/REPOSITORY`, and in Claude Code "
            "`/plugin marketplace add OWNER/REPOSITORY`",
            err=True,
        )
    return EXIT_DONE


def _show_published(plan: "PublishPlan") -> None:
    for one in plan.skills:
        where = one.folder.relative_to(plan.to).as_posix()
        print_lines(f"{where}: {_PUBLISH_ACTIONS[one.action]}, {count(len(one.files), 'file')}")
        print_lines(*file_lines(one.files))
        print_lines(f"  result: {one.result}", *(f"  note: {note}" for note in one.notes))
        if not one.evidence.is_shown:
            print_lines("  No result shows that this skill helps a model; card, README and marketplace say so.")
        print_lines(*(f"  {line}" for line in finding_lines(one.findings)))
    for file in plan.files:
        print_lines(f"{file.path.relative_to(plan.to).as_posix()}: {_PUBLISH_ACTIONS[file.action]}")


def _published_json(plan: "PublishPlan", *, done: bool) -> dict[str, object]:
    return {
        "schema": PUBLISH_SCHEMA,
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
