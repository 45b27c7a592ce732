"""What all commands share: where output goes, whether it has colour, and how a person is asked."""

import json
import os
import re
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, TextIO

import click

from upskill import disk
from upskill.core.nouns.text import visible, wrapped
from upskill.errors import EngineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from rich.console import Console

    from upskill.core.models import Endpoint
    from upskill.core.nouns import Student
    from upskill.core.progress import PricedPlan
    from upskill.report.next_step import NextStep

_JSON_ESCAPED = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Acts on a terminal, and JSON would let it through."""
_MOST_COMMAND_ROWS = 2


def console(*, stderr: bool = False) -> "Console":
    """A console that has colour only on a terminal, and that never breaks words of piped output apart.

    Whoever wants no colour gets no escape sequence at all, not even for bold.
    """

    from upskill.report.console import VisibleConsole

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    plain = bool(os.environ.get("NO_COLOR"))
    system: Literal["auto"] | None = None if plain else "auto"
    return VisibleConsole(file=stream, no_color=plain, color_system=system, width=width, highlight=False, emoji=False)


def print_json(value: object) -> None:
    """The one object of --json, in characters that stdout can carry."""
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    # JSON escapes what is below U+0020 itself; the newlines between its lines are its own.
    click.echo("\n".join(_JSON_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n")))


def print_lines(*lines: str, err: bool = False, wrap: bool = True) -> None:
    """Print each line unbroken where it is piped, wrapped between words on a terminal.

    Each is one line, whatever is in it: a newline and anything else that would act on a terminal is shown as an escape.
    What a person is to copy is not wrapped.
    """
    stream = sys.stderr if err else sys.stdout
    for line in map(visible, lines):
        columns = _columns(stream) if wrap else None
        for row in [line] if columns is None else wrapped(line, max(20, columns - 1)):
            click.echo(row, err=err)


def print_document(text: str) -> None:
    """Print a text of several lines: as it is where it is piped, without anything that acts where a person reads it."""
    if sys.stdout.isatty():
        text = "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", "replace"))
    sys.stdout.buffer.flush()


def confirm(question: str) -> bool:
    """Ask a person on stderr."""
    return click.confirm(visible(question), err=True)


def write_file(path: str | Path, text: str) -> None:
    """Write what an option asked for. Raises `EngineError` where that is not possible."""
    try:
        disk.write_named(Path(path), text)
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


def next_lines(step: "NextStep | None", *, run: str) -> list[str]:
    """The next useful command, with what it is for: on one line where there is room.

    A command that would fill the screen, because it names many models, is read in the report of `run` instead.
    """
    if step is None:
        return []
    line = f"next, {step.what}: {step.command}"
    columns = _columns(sys.stderr)
    if columns is None or len(line) <= columns:
        return [line]
    if len(step.command) > _MOST_COMMAND_ROWS * columns:
        return [f"next, {step.what}: the command is in the report,", f"  upskill report {run} --open"]
    return [f"next, {step.what}:", f"  {step.command}"]


def rows_on_stderr(lines: "Iterable[str]") -> int:
    """How many rows lines take that are not wrapped between words."""
    columns = _columns(sys.stderr)
    return sum(1 if columns is None else max(1, -(-len(line) // columns)) for line in lines)


def _columns(stream: TextIO) -> int | None:
    """How wide the terminal is; `None` where there is none."""
    return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else None


def ask_to_spend(estimate: "PricedPlan") -> bool:
    """Ask the person on stderr. Raises where there is no terminal."""
    question = f"Price {estimate.price}; {estimate.minutes}."
    if not is_interactive():
        raise UsageError(question + " Nothing was run.", hint="add --yes to run without confirmation")
    return confirm(f"{question} Continue?")


def refuse_what_is_ignored(allowed: frozenset[str], *, why: str) -> None:
    """Refuse options that would silently be ignored."""
    if given := [name for name, _ in _typed(allowed)]:
        raise UsageError(f"{why}; remove {', '.join(given)}")


def typed_options(*, without: "Collection[str]") -> str:
    """The options that were typed for this command, to be typed again; each with a space before it."""
    words = []
    for name, value in _typed(frozenset(without)):
        values = value if isinstance(value, tuple) else (value,)
        words += [name if one is True else f"{name} {quote(str(one))}" for one in values]
    return "".join(f" {word}" for word in words)


def _typed(without: frozenset[str]) -> "Iterator[tuple[str, object]]":
    """The options and arguments that were typed, as people call them, with their values."""
    context = click.get_current_context()
    for parameter in context.command.params:
        known = parameter.name is not None and parameter.name not in without
        if known and context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE:
            shown = max(parameter.opts, key=len) if isinstance(parameter, click.Option) else str(parameter.name).upper()
            yield shown, context.params[str(parameter.name)]
