"""`upskill regrade`: apply changed checks to stored answers."""

import json
from pathlib import Path

import click

from upskill.cli.output import NO_COLOR, console
from upskill.cli.steps import Steps


@click.command("regrade")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-t", "--tests", "case_file", type=click.Path(path_type=Path), metavar="FILE", help="A file of test cases."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@NO_COLOR
def command(run: Path, case_file: Path | None, as_json: bool, no_color: bool) -> None:
    """Grade the answers of RUN, a run folder, again with the assertions as they are now. Calls no model."""
    from upskill.reporting import evaluation_json
    from upskill.reporting.terminal import show_evaluation
    from upskill.workflows.regrade import regrade

    with Steps(no_color=no_color) as steps:
        evaluation = regrade(run, case_file=case_file, step=steps.step)
    if as_json:
        click.echo(json.dumps(evaluation_json(evaluation), indent=2, ensure_ascii=False))
    else:
        show_evaluation(evaluation, console(no_color=no_color))
