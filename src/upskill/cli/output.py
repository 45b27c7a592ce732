"""What all commands share: where output goes, whether it has colour, and how a person is asked."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from upskill.errors import EngineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from upskill.domain import Student
    from upskill.models import Endpoint
    from upskill.reporting.next_step import NextStep
    from upskill.workflows.evaluating.spending import PricedPlan


def console(*, no_color: bool, stderr: bool = False) -> "Console":
    """A console that has colour only on a terminal, and that never breaks words of piped output apart.

    Whoever wants no colour gets no escape sequence at all, not even for bold.
    """

    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    plain = no_color or bool(os.environ.get("NO_COLOR"))
    system: Literal["auto"] | None = None if plain else "auto"
    return Console(file=stream, no_color=plain, color_system=system, width=width, highlight=False, emoji=False)


def print_json(value: object) -> None:
    """The one object of --json, in characters that stdout can carry."""
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    click.echo(json.dumps(value, indent=2, ensure_ascii=ascii_only))


def print_lines(*lines: str, err: bool = False) -> None:
    """Print each line unbroken where it is piped, wrapped between words on a terminal."""
    from upskill.cli.screen import wrapped

    stream = sys.stderr if err else sys.stdout
    for line in lines:
        for row in wrapped(line, os.get_terminal_size(stream.fileno()).columns) if stream.isatty() else [line]:
            click.echo(row, err=err)


def write_file(path: str | Path, text: str) -> None:
    """Write what an option asked for. Raises `EngineError` where that is not possible."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise EngineError(f"{path}: cannot be written ({error.strerror})") from None


def is_interactive() -> bool:
    """Whether there is a person who can be asked on stderr."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def named(model: "Endpoint | Student") -> str:
    """The name that was typed, and the model where that differs."""
    return model.name if model.name == model.model else f"{model.name}, {model.model}"


def notes_of(error: BaseException) -> list[str]:
    """What is there in spite of an error, a line each: the best draft of a `generate`, and where it lies."""
    return [f"note:  {note}" for note in getattr(error, "__notes__", ())]


def show_next_steps(steps: "Iterable[NextStep]") -> None:
    """Show the next useful commands on stderr: they are not part of the result."""
    for step in steps:
        click.echo(f"next, {step.what}:\n  {step.command}", err=True)


def ask_to_spend(estimate: "PricedPlan") -> bool:
    """Ask the person on stderr. Raises where there is no terminal."""
    question = f"Price {estimate.price}; {estimate.minutes}."
    if not is_interactive():
        raise UsageError(question + " Nothing was run.", hint="add --yes to run it without being asked")
    return click.confirm(f"{question} Go on?", err=True)


def refuse_what_resume_ignores(allowed: set[str]) -> None:
    """Refuse options that a resumed run would silently ignore: it has its own settings."""
    context = click.get_current_context()
    given = [
        max(parameter.opts, key=len) if isinstance(parameter, click.Option) else str(parameter.name).upper()
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name not in allowed
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(f"--resume goes on under the run's own settings; leave out {', '.join(given)}")
