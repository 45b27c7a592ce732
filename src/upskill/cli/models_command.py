"""`upskill models`: how a name resolves."""

import click

from upskill.cli import options
from upskill.cli.output import console, print_json


@click.command("models")
@click.argument("name", required=False)
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server.")
@options.JSON
@options.NO_COLOR
def command(name: str | None, base_url: str | None, as_json: bool, no_color: bool) -> None:
    """Show how NAME resolves, or all short names: model, key variable (never the key), price. Calls nothing."""
    from upskill.models import Endpoint
    from upskill.reporting.listings import show_rows
    from upskill.workflows.models import known_aliases, show_model

    settings = options.resolved({"base_url": base_url}).values
    endpoints = (
        [show_model(name, settings=settings)] if name is not None else list(known_aliases(settings=settings).values())
    )

    def row(endpoint: Endpoint) -> dict[str, object]:
        held = endpoint.key_variable()
        price = endpoint.price
        return {
            "name": endpoint.name,
            "model": endpoint.model,
            "how": endpoint.how,
            "endpoint": endpoint.base_url,
            "key_variable": held or (endpoint.key_variables[0] if endpoint.key_variables else None),
            "key_set": held is not None,
            "key_required": endpoint.key_required,
            "dollars_per_million_input": price.input_per_million if price else None,
            "dollars_per_million_output": price.output_per_million if price else None,
            "window": endpoint.window,
        }

    rows = [row(endpoint) for endpoint in endpoints]
    if as_json:
        print_json({"schema": "upskill.models/1", "models": rows})
        return
    out = console(no_color=no_color)
    shown = [{**entry, "key": _key(entry), "price": _price(entry)} for entry in rows]
    if name is None:
        listed = [
            {
                **entry,
                "key": entry["key_variable"] or "none needed",
                "set": "yes" if entry["key_set"] else "no",
                "$/M in": _dollars(entry["dollars_per_million_input"]),
                "out": _dollars(entry["dollars_per_million_output"]),
            }
            for entry in rows
        ]
        columns = ["name", "model", "key", "set", "$/M in", "out"]
        show_rows(listed, columns, out, folded=["model"], right=["$/M in", "out"])
        return
    (entry,) = shown
    pairs = [("resolves to", entry["model"]), ("because", entry["how"]), ("key", entry["key"])]
    pairs += [("price", entry["price"]), ("window", _window(entry["window"]))]
    for label, value in pairs:
        out.print(f"{label:<12} {value}", markup=False, soft_wrap=True)


def _key(entry: dict[str, object]) -> str:
    if entry["key_variable"] is None:
        return "none needed"
    state = "set" if entry["key_set"] else "not set"
    needed = "" if entry["key_required"] else ", only if the server asks for one"
    return f"{entry['key_variable']} ({state}{needed})"


def _price(entry: dict[str, object]) -> str:
    sent, said = entry["dollars_per_million_input"], entry["dollars_per_million_output"]
    if sent is None or said is None:
        return "unknown"
    return f"${_dollars(sent)} in, ${_dollars(said)} out per million tokens"


def _dollars(price: object) -> str:
    return f"{price:.2f}" if isinstance(price, int | float) else "?"


def _window(window: object) -> str:
    return f"{window:,} tokens" if isinstance(window, int) else "unknown"
