"""What every command does alike: where output goes and whether it has colour."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

NO_COLOR = click.option("--no-color", is_flag=True, help="No colour; also with NO_COLOR set.")


def console(*, no_color: bool, stderr: bool = False) -> "Console":
    """A console that has colour only on a terminal, and that never breaks words of piped output apart."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return Console(file=stream, no_color=no_color or None, width=width, highlight=False, emoji=False)


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
