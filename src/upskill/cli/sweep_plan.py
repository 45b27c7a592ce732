"""`upskill sweep plan`: what a sweep will measure and take. Spends nothing."""

from pathlib import Path

import click

from upskill.cli import options
from upskill.errors import UsageError


@click.command("plan")
@click.argument("manifest", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--at", required=True, metavar="PLACE", help="The folder of the sweep: a path, or a URL such as s3://….")
@options.JSON
def command(manifest: Path, at: str, as_json: bool) -> int:
    """Plan the sweep that FILE (sweep.toml) describes, and write the plan to PLACE. Asks no model anything."""
    raise UsageError(f"{manifest}: `upskill sweep plan` is not there yet ({at=}, {as_json=})")
