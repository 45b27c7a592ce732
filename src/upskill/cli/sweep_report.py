"""`upskill sweep report`: the table over all evaluations of a sweep."""

import click

from upskill.errors import UsageError


@click.command("report")
@click.argument("place", metavar="PLACE")
def command(place: str) -> int:
    """Show what the sweep at PLACE found: skills by models, with intervals."""
    raise UsageError(f"{place}: `upskill sweep report` is not there yet")
