"""`upskill trace`: what was understood of recorded work."""

import os
import sys
import time
from pathlib import Path

import click

from upskill.cli import options
from upskill.cli.live_display import StepProgress
from upskill.cli.output import console, print_document, print_json, print_lines


@click.command("trace")
@click.argument("source", metavar="PATH|last|last:AGENT")
@click.option(
    "--digest",
    "digest_only",
    is_flag=True,
    help="Print only the digest: what a teacher would read of the session, as Markdown.",
)
@options.JSON
@click.option("--budget", type=int, metavar="N", help="At most N tokens in the digest.  [default: 6000]")
@options.NO_COLOR
def command(source: str, digest_only: bool, as_json: bool, budget: int | None, no_color: bool) -> None:
    """Show what a recorded session contains: turns, tools, failures and their fixes, corrections, proofs.

    PATH is a session of any agent, a folder of sessions (read as one), a text file, or - for stdin. `last` is the
    newest session of Claude Code, Codex, Gemini CLI or opencode in this folder; `last:codex` names the agent. Secrets
    are removed before anything is shown. Calls no model and writes nothing.
    """
    from upskill.reporting.trace_report import show_trace, trace_json
    from upskill.traces.digesting import DEFAULT_BUDGET
    from upskill.workflows.read_trace import read_trace

    if digest_only and as_json:
        raise click.UsageError("--digest and --json cannot be combined: the JSON object contains the digest.")
    with StepProgress(no_color=no_color) as steps:
        steps.step("reading", 0, None)
        read = read_trace(
            source,
            budget=DEFAULT_BUDGET if budget is None else budget,
            folder=Path.cwd(),
            environment=os.environ,
            progress=steps,
            now=time.time(),
            piped=None if sys.stdin.isatty() else sys.stdin.buffer,
        )
    if as_json:
        print_json(trace_json(read))
    elif digest_only:
        print_document(read.digest.text)
        print_lines(*(f"note: {note}" for note in (*read.notes, *read.refused)), err=True)
    else:
        show_trace(read, console(no_color=no_color))
