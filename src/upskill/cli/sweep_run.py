"""`upskill sweep run`: buy what the plan of a sweep still needs."""

import click

from upskill.errors import UsageError


@click.command("run")
@click.argument("place", metavar="PLACE")
def command(place: str) -> int:
    """Run the evaluations of the sweep at PLACE that have no result yet."""
    raise UsageError(f"{place}: `upskill sweep run` is not there yet")
