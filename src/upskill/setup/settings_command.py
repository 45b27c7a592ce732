"""`upskill settings`: every setting and its origin."""

from dataclasses import asdict

import click

from upskill.terminal import options
from upskill.terminal.output import console, print_json, print_lines


@click.command("settings")
@options.JSON
def command(as_json: bool) -> None:
    """Show every setting, its value in this folder, and where the value comes from."""
    from upskill.core.settings import URLS, resolve_settings, without_secrets
    from upskill.report.console import show_rows

    resolved = resolve_settings(uses=())
    values = asdict(resolved.values)
    values |= {name: without_secrets(values[name]) for name in URLS if values[name] is not None}
    rows = [
        {"setting": name, "value": values[name], "origin": origin, "trusted": name not in resolved.untrusted}
        for name, origin in resolved.origins.items()
    ]
    if as_json:
        print_json({"schema": "upskill.settings/1", "settings": rows})
        return
    shown = [
        {
            **row,
            "value": "not set" if row["value"] in (None, ()) else row["value"],
            "origin": row["origin"] if row["trusted"] else f"{row['origin']} (not trusted)",
        }
        for row in rows
    ]
    show_rows(shown, ["setting", "value", "origin"], console(), folded=["value", "origin"])
    if resolved.untrusted:
        print_lines("note: other commands stop at untrusted settings; see `upskill trust`", err=True)
