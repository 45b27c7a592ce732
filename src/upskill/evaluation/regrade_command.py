"""`upskill regrade`: apply changed checks to stored answers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.evaluation.output import show_result
from upskill.terminal import options
from upskill.terminal.display import StepProgress
from upskill.terminal.output import print_json

if TYPE_CHECKING:
    from upskill.sandbox import Backend


@click.command("regrade")
@click.argument("run", type=click.Path(path_type=Path))
@options.CASE_FILE
@options.SANDBOX
@options.JSON
def command(run: Path, case_file: Path | None, sandbox: "Backend", as_json: bool) -> None:
    """Grade the stored answers of RUN, a run folder, with the current checks. Calls no model."""
    from upskill.evaluation.regrade import regrade
    from upskill.report.json_report import evaluation_json

    with StepProgress() as steps:
        evaluation = regrade(run, case_file=case_file, sandbox=sandbox, progress=steps)
    if as_json:
        print_json(evaluation_json(evaluation))
    else:
        show_result(evaluation, case_file=case_file, own=False, rows_noted=steps.rows_noted)
