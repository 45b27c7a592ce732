"""`upskill verify`: what of the evidence beside a skill still holds."""

from pathlib import Path

import click

from upskill.cli import options
from upskill.cli.output import print_json, print_lines
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN


@click.command("verify")
@click.argument("skill", type=click.Path(path_type=Path))
@options.CASE_FILE
@options.JSON
def command(skill: Path, case_file: Path | None, as_json: bool) -> int:
    """Compare the evidence beside SKILL with its files, its cases and its card.

    Each result still holds or no longer holds, with the reason. No model is called, and nothing is sent. Figures that
    an author invented cannot be found out.

    Exit codes: 0 everything still holds; 1 something no longer holds, or there is no evidence; 2 wrong usage.
    """
    from upskill.reporting.verification import verification_json, verification_lines
    from upskill.workflows.verify_skill import verify_skill

    state = verify_skill(skill, case_file=case_file)
    if as_json:
        print_json(verification_json(state))
    else:
        print_lines(*verification_lines(state))
    return EXIT_DONE if state.verified else EXIT_NOT_SHOWN
