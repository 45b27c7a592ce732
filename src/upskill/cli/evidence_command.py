"""`upskill evidence`: write what was measured of a skill beside it."""

import json
from pathlib import Path

import click

from upskill.cli import options
from upskill.cli.output import print_document, print_json, print_lines
from upskill.errors import EXIT_DONE


@click.command("evidence")
@click.argument("skill", type=click.Path(path_type=Path))
@options.runs_dir("Where run folders are.")
@options.LEDGER
@options.dry_run("Show what would be written, and write nothing.")
@options.JSON
def command(skill: Path, runs_dir: str | None, ledger: str | None, dry_run: bool, as_json: bool) -> int:
    """Write evidence.json and evidence.md (the card) beside SKILL.md: what was measured of exactly this version.

    They are made from all runs of this version, and no run is chosen: for each model the last complete look is shown,
    and the other looks are counted. Results are computed again from the answers of the runs. Cases are named by digest
    only.

    Exit codes: 0 written; 1 no run measured this version; 2 wrong usage.
    """
    from upskill.workflows.evidence import require_results, write_evidence

    typed = {"runs_dir": runs_dir, "ledger": ledger}
    settings = options.resolved(typed, uses=["runs_dir", "ledger"]).values
    written = write_evidence(
        skill,
        runs_dir=Path(settings.runs_dir),
        ledger=options.ledger_path(settings.ledger),
        dry_run=dry_run,
    )
    print_lines(*(f"note: {note}" for note in written.notes), err=True)
    require_results(written.evidence, skill=skill, runs_dir=Path(settings.runs_dir))
    if as_json:
        print_json(json.loads(written.text))
    else:
        print_document(written.card)
    verb = "would write" if dry_run else "wrote"
    print_lines(*(f"{verb} {path}" for path in written.paths), err=True, wrap=False)
    return EXIT_DONE
