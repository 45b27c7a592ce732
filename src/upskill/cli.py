"""The commands of all plug-ins. One is loaded when it is typed; nothing heavy is imported before it is needed."""

import io
import os
import re
import sys
from functools import partial
from types import TracebackType

import click

from upskill import __version__, plugin
from upskill.errors import EXIT_FAILED, EXIT_INTERRUPTED, UpskillError
from upskill.plugin import Command
from upskill.terminal.signals import ending_in_good_order, shell_code

HEADINGS = ("Commands", "Many skills", "Sharing", "Past runs", "Skills and cases", "This machine", "Others")
"""The order of the help."""
COMPLETION = Command(
    place="upskill.cli:completion", heading="This machine", help="Print the completion of commands for a shell."
)


def commands() -> dict[str, Command]:
    """Every command by its name, without those below another."""
    found = {name: command for name, command in plugin.names("commands").items() if " " not in name}
    return {**found, "completion": COMPLETION}


def by_heading() -> dict[str, dict[str, Command]]:
    """The commands below each heading; one that is unknown counts as the last."""
    found: dict[str, dict[str, Command]] = {heading: {} for heading in HEADINGS}
    for name, command in commands().items():
        found.get(command.heading, found[HEADINGS[-1]])[name] = command
    return {heading: below for heading, below in found.items() if below}


class _LazyGroup(click.Group):
    """Imports a command when it is called, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for below in by_heading().values() for name in below]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = COMPLETION if cmd_name == "completion" else plugin.find("commands", cmd_name)
        return None if command is None else plugin.load(command.place)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            _name_left_out()
            near = get_close_matches(args[0], commands(), n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, commands()))
        for heading, below in by_heading().items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), command.help) for name, command in below.items()])
        _name_left_out()


def _name_left_out() -> None:
    """Say which plug-ins of other packages could not be loaded."""
    if left_out := plugin.strangers().left_out:
        _print(*(f"note: the plug-in {name} is left out: {why}" for name, why in left_out))


@click.command(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Documentation: docs/ in the repository, README.md first.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; allowed after any command.")
def app(debug: bool) -> None:
    """Make small models good at hard, specific work with Agent Skills, and prove it."""


_PASTED = re.compile(r"[–—‑]{1,2}(?=[a-z])")
"""What web pages and word processors make of hyphens."""


def with_hyphens(word: str) -> str:
    """A word as it was meant where it was pasted with long dashes: `–model` is `--model`, `–m` is `-m`."""
    option, is_option = _PASTED.subn("", word, count=1) if _PASTED.match(word) else (word, 0)
    if not is_option or not re.fullmatch(r"[a-z][a-z-]*(=.*)?", option, re.DOTALL):
        return word
    return f"{'-' if len(option.partition('=')[0]) == 1 else '--'}{option}"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what completes commands and options in SHELL.

    For bash, add this to ~/.bashrc: eval "$(upskill completion bash)"; the same for zsh in ~/.zshrc. For fish, write it
    to ~/.config/fish/completions/upskill.fish.
    """
    from click.shell_completion import get_completion_class

    from upskill.terminal.output import print_lines

    found = get_completion_class(shell)
    assert found is not None  # one for each choice
    made = found(app, {}, "upskill", "_UPSKILL_COMPLETE")
    # Not `source`, which starts a shell to learn its version.
    print_lines(*(made.source_template % made.source_vars()).splitlines(), wrap=False)


def main() -> None:
    """The `upskill` command. Errors are explained in words; with --debug their traceback is shown."""
    sys.argv[1:] = map(with_hyphens, sys.argv[1:])
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
        sys.excepthook = _show_traceback
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Skills, answers and recordings hold any character; an output that cannot carry one is no reason to fail.
        sys.stdout.reconfigure(errors="replace")
    try:
        code: int | None = ending_in_good_order(partial(app.main, standalone_mode=False, prog_name="upskill"))
        sys.exit(shell_code(code or 0))
    except click.ClickException as error:
        _explain_usage(error)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _print("interrupted")
        sys.exit(shell_code(EXIT_INTERRUPTED))
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
    except UpskillError as error:
        if debug:
            raise
        explain(error)
        sys.exit(error.exit_code)
    except Exception as error:
        if debug:
            raise
        from upskill.terminal.output import notes_of

        _print(f"error: {type(error).__name__}: {error}", *notes_of(error))
        _print("hint:  this is a bug in upskill; run again with --debug to see the traceback")
        sys.exit(EXIT_FAILED)


def _explain_usage(error: click.ClickException) -> None:
    """Show a usage error like any other error. A group without a command shows its help instead."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    message, context = error.format_message(), getattr(error, "ctx", None)
    _print(f"error: {message[:1].lower()}{message[1:].removesuffix('.')}")
    if context is not None:
        _print(f"hint:  see `{context.command_path} --help`")


def explain(error: UpskillError) -> None:
    """Print the problems, then the message, then the hint."""
    from upskill.terminal.output import notes_of

    lines = [f"  {problem}" for problem in error.problems]
    lines.append(f"error: {error.message}")
    if error.hint:
        lines.append(f"hint:  {error.hint}")
    _print(*lines, *notes_of(error))


def _show_traceback(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    from traceback import format_exception

    _print(*"".join(format_exception(kind, error, where)).rstrip("\n").split("\n"), wrap=False)


def _print(*lines: str, wrap: bool = True) -> None:
    """Redact, then print on stderr: a server can send a key back in an error message."""
    from upskill.redaction import redactor_from
    from upskill.terminal.output import print_lines

    print_lines(*map(redactor_from(os.environ).clean_own, lines), err=True, wrap=wrap)
