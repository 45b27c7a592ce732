"""`upskill sweep`: many skills on many models, with one plan, one cap and one table."""

import click

from upskill.cli import sweep_plan, sweep_report, sweep_run, sweep_status


@click.group("sweep")
def command() -> None:
    """Measure many skills on many models, on one machine or on many."""


for one in (sweep_plan, sweep_run, sweep_status, sweep_report):
    command.add_command(one.command)
