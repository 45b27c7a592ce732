"""`upskill evidence` and `upskill verify`: write what was measured of a skill beside it, and what of it still holds."""

import json
from pathlib import Path

import click

from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN
from upskill.terminal import options
from upskill.terminal.output import print_document, print_json, print_lines


@click.command("evidence")
@click.argument("skill", type=click.Path(path_type=Path))
@options.dry_run("Show what would be written, and write nothing.")
@options.JSON
def command(skill: Path, dry_run: bool, as_json: bool) -> int:
    """Write evidence.json and evidence.md (the card) beside SKILL.md: what was measured of exactly this version.

    They are made from all runs of this version, and no run is chosen: for each model the last complete look is shown,
    and the other looks are counted. Results are computed again from the answers of the runs. Cases are named by digest
    only.

    Exit codes: 0 written; 1 no run measured this version; 2 wrong usage.
    """
    from upskill.share.gather import require_results, write_evidence

    settings = options.resolved({}, uses=["runs_dir", "ledger"]).values
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


@click.command("verify")
@click.argument("skill", type=click.Path(path_type=Path))
@options.CASE_FILE
@options.JSON
def verify(skill: Path, case_file: Path | None, as_json: bool) -> int:
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
    return EXIT_DONE if state.verified else EXIT_NOT_SHOWN
