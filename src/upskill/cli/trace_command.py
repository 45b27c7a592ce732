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
@click.option("--digest", "digest_only", is_flag=True, help="Print the digest itself, as Markdown, and nothing else.")
@options.JSON
@click.option("--budget", type=int, metavar="N", help="Tokens the digest may have.  [default: 6000]")
@options.NO_COLOR
def command(source: str, digest_only: bool, as_json: bool, budget: int | None, no_color: bool) -> None:
    """Show what was understood of a recording of work: turns, tools, failures and their fixes, corrections, proofs.

    PATH is a recording of any agent, a folder of them (read as one source), a text, or - for what is piped in. `last`
    is the newest session of Claude Code, Codex, Gemini CLI or opencode that was recorded in this folder; `last:codex`
    names the agent. Secrets are taken out before anything is shown. Calls no model and writes nothing.
    """
    from upskill.reporting.trace_report import show_trace, trace_json
    from upskill.traces.digesting import DEFAULT_BUDGET
    from upskill.workflows.read_trace import read_trace

    if digest_only and as_json:
        raise click.UsageError("--digest and --json exclude each other: the object holds the digest as well.")
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
