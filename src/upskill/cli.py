"""The table of commands. A command is loaded when it is typed; nothing heavy is imported before it is needed."""

import io
import os
import re
import sys
from functools import partial
from importlib import import_module
from types import TracebackType

import click

from upskill import __version__
from upskill.errors import EXIT_FAILED, EXIT_INTERRUPTED, UpskillError
from upskill.terminal.signals import ending_in_good_order, shell_code

COMMANDS = {
    "cases": ("evaluation.skills_command", "Check the cases of a skill, or have a teacher write them."),
    "completion": ("cli:completion", "Print the completion of commands for a shell."),
    "doctor": ("setup.doctor", "Check the sandbox, a coding agent or a model server."),
    "drift": ("drift.command", "Watch every night whether a skill still does what it did."),
    "eval": ("evaluation.command", "Measure one or more models with and without a skill."),
    "evidence": ("share.command:evidence_command", "Write what was measured of a skill beside it."),
    "generate": ("generation.command", "Write a skill from a task or a session, and measure it."),
    "handoff": ("generation.handoff", "Act as the teacher of a run, by hand or with an agent."),
    "init": ("setup.init_command", "Write an example project that runs without a key."),
    "install": ("share.command:install_command", "Copy a skill to where a coding agent looks for it."),
    "lint": ("lint.command", "Check skills for danger, the specification and quality."),
    "list": ("evaluation.skills_command:list_command", "List the skills in a folder."),
    "mine": ("mining.command", "Find what is worth teaching in recorded sessions, without a model."),
    "models": ("setup.models_command", "Show what a model name resolves to, its key variable and price."),
    "publish": ("share.command:publish_command", "Lay out skills with their evidence for installers."),
    "regrade": ("evaluation.runs_command:regrade_command", "Apply changed checks to the stored answers of a run."),
    "report": ("evaluation.runs_command:report_command", "Show a run as an HTML page or as Markdown."),
    "runs": ("evaluation.runs_command", "List past runs and their results; remove old ones."),
    "settings": ("setup.settings_command", "Show every setting and where its value comes from."),
    "slim": ("slim.command", "Cut the lines of a skill that no answer needs."),
    "sweep": ("sweep.command", "Measure many skills on many models, on one machine or on many."),
    "trace": ("traces.command", "Show what upskill reads from a recorded session."),
    "trigger": ("trigger.command", "Measure whether models load a skill when they should."),
    "trust": ("setup.trust_command", "Trust the settings file of a project."),
    "verify": ("share.command:verify_command", "Check which results beside a skill still hold."),
}
"""Each command is one line: its module, the name in it where that is not `command`, and its help, so that --help
imports none of them."""

GROUPS = {
    "Commands": ("generate", "eval", "trigger", "drift", "slim", "report", "handoff"),
    "Many skills": ("sweep",),
    "Sharing": ("lint", "evidence", "verify", "publish", "install"),
    "Past runs": ("runs", "regrade"),
    "Skills and cases": ("init", "list", "cases", "trace", "mine"),
    "This machine": ("models", "settings", "trust", "doctor", "completion"),
}
"""The order of the help. A command that is in no group comes last."""


def grouped() -> dict[str, list[str]]:
    """Every command once, by its heading."""
    groups = {title: [name for name in names if name in COMMANDS] for title, names in GROUPS.items()}
    placed = {name for names in groups.values() for name in names}
    groups["Others"] = [name for name in COMMANDS if name not in placed]
    return {title: names for title, names in groups.items() if names}


class _LazyGroup(click.Group):
    """Imports a command when it is called, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in grouped().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"upskill.{module}"), name or "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, names in grouped().items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name][1]) for name in names])


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
