"""`upskill sweep status`: how far a sweep is."""

import click

from upskill.cli import options
from upskill.errors import UsageError


@click.command("status")
@click.argument("place", metavar="PLACE")
@options.JSON
def command(place: str, as_json: bool) -> int:
    """Show what of the sweep at PLACE is done, what is left, and what was charged."""
    raise UsageError(f"{place}: `upskill sweep status` is not there yet ({as_json=})")
