"""`upskill settings`: every setting and its origin."""

from dataclasses import asdict

import click

from upskill.cli import options
from upskill.cli.output import console, print_json


@click.command("settings")
@options.JSON
@options.NO_COLOR
def command(as_json: bool, no_color: bool) -> None:
    """Show every setting, its value here, and where that comes from."""
    from upskill.reporting.listings import show_rows
    from upskill.settings import resolve_settings

    resolved = resolve_settings()
    values = asdict(resolved.values)
    rows = [{"setting": name, "value": values[name], "origin": origin} for name, origin in resolved.origins.items()]
    if as_json:
        print_json({"schema": "upskill.settings/1", "settings": rows})
        return
    shown = [{**row, "value": "not set" if row["value"] in (None, ()) else row["value"]} for row in rows]
    show_rows(shown, ["setting", "value", "origin"], console(no_color=no_color), folded=["value", "origin"])
