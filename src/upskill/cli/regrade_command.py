"""`upskill regrade`: apply changed checks to stored answers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.live_display import StepProgress
from upskill.cli.output import print_json
from upskill.cli.result_output import show_result

if TYPE_CHECKING:
    from upskill.sandbox import Backend


@click.command("regrade")
@click.argument("run", type=click.Path(path_type=Path))
@options.CASE_FILE
@options.SANDBOX
@options.JSON
@options.NO_COLOR
def command(run: Path, case_file: Path | None, sandbox: "Backend", as_json: bool, no_color: bool) -> None:
    """Grade the stored answers of RUN, a run folder, with the current checks. Calls no model."""
    from upskill.reporting import evaluation_json
    from upskill.workflows.evaluating.regrade import regrade

    with StepProgress(no_color=no_color) as steps:
        evaluation = regrade(run, case_file=case_file, sandbox=sandbox, progress=steps)
    if as_json:
        print_json(evaluation_json(evaluation))
    else:
        show_result(evaluation, case_file=case_file, own=False, rows_noted=steps.rows_noted, no_color=no_color)
