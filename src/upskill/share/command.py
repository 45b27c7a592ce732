"""`upskill evidence`, `verify`, `install` and `publish`: what was measured of a skill, beside it and with it."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.core.nouns.text import count
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, UsageError
from upskill.terminal import options
from upskill.terminal.output import confirm, is_interactive, print_document, print_json, print_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upskill.core.nouns.finding import Finding
    from upskill.share.files import NewFile
    from upskill.share.hub import HubPlan, Named
    from upskill.share.install import InstallPlan, Scope
    from upskill.share.publish import PlannedSkill, PublishPlan


@click.command("evidence")
@click.argument("skill", type=click.Path(path_type=Path))
@options.dry_run("Show what would be written, and write nothing.")
@options.JSON
def evidence_command(skill: Path, dry_run: bool, as_json: bool) -> int:
    """Write evidence.json and evidence.md (the card) beside SKILL.md: what was measured of exactly this version.

    They are made from all runs of this version, and no run is chosen: for each model the last complete look is shown,
    and the other looks are counted. Results are computed again from the answers of the runs. Cases are named by digest
    only.

    Exit codes: 0 written; 1 no run measured this version; 2 wrong usage.
    """
    from upskill.core.nouns.skill import SKILL_FILE
    from upskill.share.card import card_text, write_evidence
    from upskill.share.evidence import evidence_text
    from upskill.share.gather import gather, require_results

    settings = options.resolved({}, uses=["runs_dir", "ledger"]).values
    runs_dir, folder = Path(settings.runs_dir), skill.parent if skill.name == SKILL_FILE else skill
    found = gather(folder, runs_dir=runs_dir, ledger=options.ledger_path(settings.ledger))
    evidence = found.evidence
    print_lines(*(f"note: {note}" for note in found.notes), err=True)
    require_results(evidence, skill=skill, runs_dir=runs_dir)
    paths = write_evidence(folder, evidence, dry_run=dry_run)
    if as_json:
        print_json(json.loads(evidence_text(evidence)))
    else:
        print_document(card_text(evidence))
    verb = "would write" if dry_run else "wrote"
    print_lines(*(f"{verb} {path}" for path in paths), err=True, wrap=False)
    return EXIT_DONE


@click.command("verify")
@click.argument("skill", type=options.SkillPath())
@options.CASE_FILE
@options.JSON
def verify_command(skill: Path, case_file: Path | None, as_json: bool) -> int:
    """Compare the evidence beside SKILL with its files, its cases and its card.

    Each result still holds or no longer holds, with the reason. No model is called, and nothing is sent. Figures that
    an author invented cannot be found out.

    Exit codes: 0 everything still holds; 1 something no longer holds, or there is no evidence; 2 wrong usage.
    """
    from upskill.share.verify import verification_json, verification_lines, verify_skill

    state = verify_skill(skill, case_file=case_file)
    if as_json:
        print_json(verification_json(state))
    else:
        print_lines(*verification_lines(state))
    return EXIT_DONE if state.holds else EXIT_NOT_SHOWN


def _agree(question: str, *, yes: bool, nothing: str) -> None:
    """Ask the person on stderr, unless they agreed before. Raises where they do not, or are not there."""
    if yes:
        return
    if not is_interactive():
        raise UsageError(f"{nothing}: there is no terminal to confirm on", hint="add --yes")
    if not confirm(question):
        raise UsageError(nothing)


def _file_lines(files: "Mapping[str, NewFile]") -> list[str]:
    """Every file with its size; programs are named as such."""
    width = max(map(len, files))
    return [
        f"  {path:<{width}}  {len(file.data):>9,} bytes{', a program' if file.executable else ''}"
        for path, file in sorted(files.items())
    ]


def _finding_lines(findings: "Sequence[Finding]") -> list[str]:
    """What a person should read before agreeing. Cautions are only counted."""
    shown = [one.line_for_people for one in findings if one.severity != "caution"]
    if cautions := sum(one.severity == "caution" for one in findings):
        shown.append(f"{count(cautions, 'caution')}: see `upskill lint`")
    return shown or ["findings: none, which does not mean that it is safe"]


def _findings_json(findings: "Sequence[Finding]") -> list[dict[str, object]]:
    """The findings of a skill that may be shared: a person accepted its dangers, or it has none."""
    return [asdict(replace(one, accepted=one.severity == "danger")) for one in findings]


INSTALL_SCHEMA = "upskill.install/1"
_ACTIONS = {"write": "new", "replace": "replaces the older copy", "keep": "is there already"}


@click.command("install", cls=options.Grouped)
@click.argument("skill", type=options.SkillPath())
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
def install_command(
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
    from upskill.share.install import Scope, install, plan_install

    scope = Scope(project=Path.cwd(), user=user, home=Path.home(), environment=os.environ)
    if undo:
        return _undo(skill, agents, scope, dry_run=dry_run, yes=yes, as_json=as_json)
    values = options.resolved({}, uses=["runs_dir", "ledger"]).values
    ledger = options.ledger_path(values.ledger)
    plan = plan_install(skill, agents=agents, scope=scope, runs_dir=Path(values.runs_dir), ledger=ledger)
    if not as_json:
        _show_plan(plan)
    if plan.dangers and not accept_findings:
        raise _refused(plan, shown=not as_json)
    if not dry_run and any(copy.action != "keep" for copy in plan.copies):
        _agree("Install it?", yes=yes, nothing="nothing was installed")
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
    print_lines(*_file_lines(plan.files), f"  and {INSTALL_RECORD}, the record for --undo")
    for copy in plan.copies:
        print_lines(f"into {_shown(copy.folder, copy.real)} for {', '.join(copy.agents)}: {_ACTIONS[copy.action]}")
    if plan.chosen == "none present":
        print_lines("No coding agent was found on this machine; many read .agents/skills.")
    origin = plan.shared.note or {"file": "evidence.json says so", "runs": "in your runs", "none": None}[plan.origin]
    print_lines(f"result: {evidence_line(plan.measured)}" + ("" if origin is None else f" ({origin})"))
    print_lines(*_finding_lines(plan.findings))


def _shown(folder: Path, real: Path) -> str:
    """A folder as a person would type it here, and where it is if a link leads elsewhere."""
    there = Path(os.path.realpath(folder)) if folder.is_relative_to(Path.cwd()) else folder
    return _near(folder) if real == there else f"{_near(folder)} ({real})"


def _near(folder: Path) -> str:
    here = Path.cwd()
    return folder.relative_to(here).as_posix() if folder.is_relative_to(here) else str(folder)


def _show_installed(plan: "InstallPlan", skill: Path) -> None:
    from upskill.share.install import NEEDED_NODE, skills_add_line

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
        "schema": INSTALL_SCHEMA,
        "skill": {"name": plan.skill.name, "digest": plan.skill.digest},
        "user": plan.scope.user,
        "done": done,
        "copies": [
            {"agents": list(copy.agents), "folder": str(copy.real), "action": copy.action} for copy in plan.copies
        ],
        "files": [{"path": path, "size": len(file.data)} for path, file in plan.files.items()],
        "result": evidence_line(plan.measured),
        "result_from": plan.origin,
        "findings": _findings_json(plan.findings),
    }


def _undo(skill: Path, agents: tuple[str, ...], scope: "Scope", *, dry_run: bool, yes: bool, as_json: bool) -> int:
    from upskill.share.install import plan_undo, undo

    copies = plan_undo(skill, agents=agents, scope=scope)
    if not as_json:
        for copy, record in copies.items():
            unchanged = f"unchanged since upskill {record.upskill} installed them"
            files = count(len(record.files) + 1, "file")
            print_lines(f"removes {_shown(copy.folder, copy.real)}: {files}, {unchanged}")
    if not dry_run:
        _agree("Remove it?", yes=yes, nothing="nothing was removed")
        undo(copies, scope=scope)
    if as_json:
        removed = [{"agents": list(copy.agents), "folder": str(copy.real), "action": "remove"} for copy in copies]
        record = next(iter(copies.values()))
        print_json(
            {
                "schema": INSTALL_SCHEMA,
                "skill": {"name": record.name, "digest": record.digest},
                "user": scope.user,
                "done": not dry_run,
                "copies": removed,
            }
        )
    elif not dry_run:
        print_lines("removed: everything is as it was before")
    return EXIT_DONE


PUBLISH_SCHEMA = "upskill.publish/1"
_PUBLISH_ACTIONS = {"write": "new", "replace": "changed", "keep": "unchanged"}


@click.command("publish", cls=options.Grouped)
@click.argument("skills", metavar="SKILL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), metavar="DIR", help="The folder, e.g. a repository.")
@click.option("--owner", metavar="NAME", help="Whose marketplace it is; needed once, for a new one.")
@click.option("--name", metavar="NAME", help="The name of a new marketplace.  [default: made from that of DIR]")
@click.option("--hub", metavar="OWNER/NAME", help="A dataset on the Hugging Face Hub, instead of --to.")
@click.option(
    "--with",
    "named",
    multiple=True,
    type=click.Choice(["cases", "answers", "runs"]),
    help="With --hub, publish these too; may be repeated.",
)
@click.option("--private", is_flag=True, help="With --hub, make a new dataset that only you or your team can read.")
@options.dry_run("Show what would be written; change nothing. With --hub, write it to DIR, by default NAME.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.JSON
def publish_command(
    skills: tuple[Path, ...],
    to: Path | None,
    owner: str | None,
    name: str | None,
    hub: str | None,
    named: "tuple[Named, ...]",
    private: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Write each SKILL to DIR/skills, with its evidence and a card, and add it to the marketplace file of DIR, for
    `npx skills add` and for Claude Code.

    The cases (skill_meta.json, evals) are left out. Everything else in DIR stays as it is. A skill with a dangerous
    finding, an error of the specification or the verdict `hurts` is refused; one for which nothing was shown is marked.

    With --hub, upload the same to a dataset on the Hugging Face Hub, with the results as a table, in one commit. Shows
    every file that becomes public, then asks. What looks like a secret is refused.

    Exit codes: 0 published; 1 a skill was refused; 2 wrong usage, or something is in the way; 3 failed. In every
    case but 0 nothing was changed; where the connection to the Hub broke, the same command again tells.
    """
    from upskill.share.publish import plan_publish, publish

    values = options.resolved({}, uses=["runs_dir", "ledger"]).values
    if hub is not None:
        if owner or name or (to and not dry_run):
            raise UsageError("--owner and --name are for --to; with --hub, --to is for --dry-run", hint="remove them")
        from upskill.share.hub import plan_hub

        folder = (to or Path(hub.rpartition("/")[2])) if dry_run else None
        ledger = options.ledger_path(values.ledger)
        for_hub = plan_hub(
            skills,
            repository=hub,
            named=named,
            private=private,
            to=folder,
            runs_dir=Path(values.runs_dir),
            ledger=ledger,
        )
        return _publish_to_hub(for_hub, folder, yes=yes, as_json=as_json)
    if to is None or named or private:
        raise UsageError("--to DIR or --hub OWNER/NAME is needed; --with and --private are for --hub")
    plan = plan_publish(
        skills,
        to=to,
        home=Path.home(),
        runs_dir=Path(values.runs_dir),
        ledger=options.ledger_path(values.ledger),
        owner=owner,
        name=name,
    )
    if not as_json:
        _show_published(plan)
    if plan.changes and not dry_run:
        _agree("Publish?", yes=yes, nothing="nothing was published")
        publish(plan)
    if as_json:
        print_json(_published_json(plan, done=not dry_run))
    elif not dry_run:
        print_lines(f"published: {to}" if plan.changes else f"{to}: everything is there already")
        print_lines(
            "next: commit and push it; then `npx skills add OWNER/REPOSITORY`, and in Claude Code "
            "`/plugin marketplace add OWNER/REPOSITORY`",
            err=True,
        )
    return EXIT_DONE


def _show_skill(one: "PlannedSkill") -> None:
    print_lines(f"  result: {one.result}", *(f"  note: {note}" for note in one.notes))
    if not one.evidence.is_shown:
        print_lines("  No result shows that this skill helps a model; what is published says so.")
    print_lines(*(f"  {line}" for line in _finding_lines(one.findings)))


def _show_published(plan: "PublishPlan") -> None:
    for one in plan.skills:
        where = one.folder.relative_to(plan.to).as_posix()
        print_lines(f"{where}: {_PUBLISH_ACTIONS[one.action]}, {count(len(one.files), 'file')}")
        print_lines(*_file_lines(one.files))
        _show_skill(one)
    for file in plan.files:
        print_lines(f"{file.path.relative_to(plan.to).as_posix()}: {_PUBLISH_ACTIONS[file.action]}")


def _published_json(plan: "PublishPlan", *, done: bool) -> dict[str, object]:
    return {
        "schema": PUBLISH_SCHEMA,
        "to": str(plan.to),
        "marketplace": plan.marketplace,
        "done": done,
        "skills": [_skill_json(one) | {"folder": str(one.folder), "action": one.action} for one in plan.skills],
        "files": [{"path": str(file.path), "action": file.action} for file in plan.files],
    }


def _skill_json(one: "PlannedSkill") -> dict[str, object]:
    return {
        "name": one.name,
        "digest": one.shared.skill.digest,
        "files": [{"path": path, "size": len(file.data)} for path, file in sorted(one.files.items())],
        "result": one.result,
        "verdict": one.evidence.worst_verdict,
        "shown": one.evidence.is_shown,
        "findings": _findings_json(one.findings),
        "notes": list(one.notes),
    }


def _publish_to_hub(plan: "HubPlan", folder: Path | None, *, yes: bool, as_json: bool) -> int:
    """Upload what a person agrees to; with a folder, write it there instead."""
    from upskill.share.hub import publish_to_hub, write_hub_folder

    visibility = "private" if plan.private else "public"
    if not as_json:
        if folder is None:
            print_lines(f"{plan.address}: {'new' if plan.commit is None else 'is there already'}, {visibility}")
        print_lines(*_file_lines(plan.files), *(f"  {path}: is removed" for path in plan.removed))
        for one in plan.skills:
            print_lines(f"{one.name}:")
            _show_skill(one)
    commit, done = None, f"{plan.address}: everything is there already"
    if folder is not None:
        write_hub_folder(plan, folder)
        done = f"wrote {folder}: what would be uploaded"
    elif plan.changes:
        who = "for your team alone" if plan.private else "for everybody to read and copy"
        _agree(f"Publish {count(len(plan.files), 'file')} {who}?", yes=yes, nothing="nothing was published")
        commit = publish_to_hub(plan)
        done = f"published: {plan.address}@{commit}"
    if as_json:
        value = {
            "schema": PUBLISH_SCHEMA,
            "to": plan.address if folder is None else str(folder),
            "marketplace": None,
            "done": folder is None,
            "private": plan.private,
            "commit": commit,
            "skills": [_skill_json(one) | {"folder": f"{plan.address}/skills/{one.name}"} for one in plan.skills],
            "files": [{"path": path, "action": action} for path, action in sorted(plan.actions.items())],
        }
        print_json(value)
    else:
        print_lines(done)
    return EXIT_DONE
