"""What every command does alike: where output goes and whether it has colour."""

import sys
from typing import TYPE_CHECKING

import click

from upskill.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from upskill.workflows.evaluate import Costly

NO_COLOR = click.option("--no-color", is_flag=True, help="No colour; also with NO_COLOR set.")


def console(*, no_color: bool, stderr: bool = False) -> "Console":
    """A console that has colour only on a terminal, and that never breaks words of piped output apart."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return Console(file=stream, no_color=no_color or None, width=width, highlight=False, emoji=False)


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
