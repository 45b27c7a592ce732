"""What every command does alike: where output goes and whether it has colour."""

import json
import os
import sys
from typing import TYPE_CHECKING, Literal

import click

from upskill.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from upskill.domain import Evaluation
    from upskill.workflows.evaluate import Costly


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


def show_next_steps(evaluation: "Evaluation", *, skill: "Path | None" = None) -> None:
    """The next useful commands, on stderr, because they are no part of the result."""
    from upskill.cli import COMMANDS
    from upskill.reporting.next_step import next_steps

    for step in next_steps(evaluation, commands=COMMANDS, skill=None if skill is None else str(skill)):
        click.echo(f"next, {step.what}:\n  {step.command}", err=True)


def ask_to_spend(estimate: "Costly") -> bool:
    """Ask the person, on stderr. Where nobody can be asked, nothing is run."""
    question = f"Price {estimate.price}; {estimate.minutes}."
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(question + " Nothing was run.", hint="add --yes to run it without being asked")
    return click.confirm(f"{question} Go on?", err=True)


def refuse_what_resume_ignores(kept: set[str]) -> None:
    """A resumed run goes on under its own settings: whatever else is typed would be ignored in silence."""
    context = click.get_current_context()
    given = [
        parameter.opts[-1] if isinstance(parameter, click.Option) else str(parameter.name).upper()
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name not in kept
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(f"--resume goes on under the run's own settings; leave out {', '.join(given)}")
