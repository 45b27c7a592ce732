"""`upskill models`: how a name resolves."""

from typing import TYPE_CHECKING

import click

from upskill.terminal import options
from upskill.terminal.output import console, print_json, print_lines

if TYPE_CHECKING:
    from upskill.core.models import Endpoint


@click.command("models")
@click.argument("name", required=False)
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server.")
@options.JSON
def command(name: str | None, base_url: str | None, as_json: bool) -> None:
    """Show what NAME resolves to, or all short names: model, key variable (never the key), price. Calls no model."""
    from upskill.core.models.endpoint import known_aliases, show_model, untyped_lines

    settings = options.resolved({"base_url": base_url}, uses=["base_url", "aliases"]).values
    named = [show_model(name, settings=settings)] if name is not None else [*known_aliases(settings=settings).values()]
    if name is not None:
        print_lines(*untyped_lines("it is", named), err=True)
    rows = [_row(endpoint) for endpoint in named]
    if as_json:
        print_json({"schema": "upskill.models/1", "models": rows})
    elif name is None:
        _show_all(rows)
    else:
        _show_one(rows[0])


def _row(endpoint: "Endpoint") -> dict[str, object]:
    held, price = endpoint.key_variable(), endpoint.price
    return {
        "name": endpoint.name,
        "model": endpoint.model,
        "how": endpoint.how,
        "endpoint": endpoint.base_url,
        "key_variable": held or (endpoint.key_variables[0] if endpoint.key_variables else None),
        "key_set": held is not None,
        "key_withheld": endpoint.withheld_key is not None,
        "key_required": endpoint.key_required,
        "dollars_per_million_input": price.input_per_million if price else None,
        "dollars_per_million_output": price.output_per_million if price else None,
        "window": endpoint.window,
    }


def _show_all(rows: list[dict[str, object]]) -> None:
    from upskill.report.console import show_rows

    listed = [
        {
            **row,
            "key": row["key_variable"] or "none needed",
            "set": "yes" if row["key_set"] else "no",
            "$/M in": _dollars(row["dollars_per_million_input"]),
            "out": _dollars(row["dollars_per_million_output"]),
        }
        for row in rows
    ]
    columns = ["name", "model", "key", "set", "$/M in", "out"]
    show_rows(listed, columns, console(), names=2, right=["$/M in", "out"])


def _show_one(row: dict[str, object]) -> None:
    window = row["window"]
    lines = {
        "resolves to": row["model"],
        "because": row["how"],
        "key": _key(row),
        "price": _price(row),
        "window": f"{window:,} tokens" if isinstance(window, int) else "unknown",
    }
    out = console()
    for label, value in lines.items():
        out.print(f"{label:<12} {value}", markup=False, soft_wrap=True)


def _key(row: dict[str, object]) -> str:
    if row["key_variable"] is None:
        return "none needed"
    state = "set" if row["key_set"] else "set, but not sent there" if row["key_withheld"] else "not set"
    needed = "" if row["key_required"] else ", only if the server asks for one"
    return f"{row['key_variable']} ({state}{needed})"


def _price(row: dict[str, object]) -> str:
    sent, received = row["dollars_per_million_input"], row["dollars_per_million_output"]
    if sent is None or received is None:
        return "unknown"
    return f"${_dollars(sent)} in, ${_dollars(received)} out per million tokens"


def _dollars(price: object) -> str:
    return f"{price:.2f}" if isinstance(price, int | float) else "?"
