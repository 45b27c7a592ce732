"""`upskill doctor`: does a sandbox hold on this machine, and can a coding agent be measured in it?"""

import platform
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.live_display import StepProgress
from upskill.cli.output import console, print_json
from upskill.domain.harness import HARNESSES
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_NOT_SHOWN, UsageError

if TYPE_CHECKING:
    from upskill.sandbox import Backend


@click.command("doctor")
@click.option(
    "--harness",
    type=click.Choice([info.name for info in HARNESSES.values() if info.program]),
    help="Examine this coding agent instead: a scripted model makes it load a skill, run a command and try to escape.",
)
@options.AGENT_BIN
@click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "docker"]),
    default="bubblewrap",
    help="Which sandbox; docker: the quick probes only, in a container.  [default: bubblewrap]",
)
@options.JSON
@options.NO_COLOR
def command(harness: str | None, agent_bin: Path | None, sandbox: "Backend", as_json: bool, no_color: bool) -> int:
    """Start a real sandbox and attack it in 44 ways. Exits with 3 if there is no sandbox, or if an attack succeeds.

    With --harness, run a coding agent in the sandbox and see that it can be measured. Exits with 1 if it cannot.

    Calls no model, sends nothing and leaves nothing behind. Takes half a minute.
    """
    if harness is not None and sandbox == "docker":
        raise UsageError("coding agents run with bubblewrap only", hint="remove --sandbox docker")
    if harness is not None:
        return _examine_agent(harness, agent_bin, as_json=as_json, no_color=no_color)
    if agent_bin is not None:
        raise UsageError("--agent-bin names a coding agent", hint="add --harness, to say which one it is")
    return _examine_sandbox(sandbox, as_json=as_json, no_color=no_color)


def _examine_agent(harness: str, agent_bin: Path | None, *, as_json: bool, no_color: bool) -> int:
    from upskill.reporting.doctor_agent_table import agent_json, show_agent
    from upskill.workflows.doctor_agent import examine_installed

    with StepProgress(no_color=no_color) as steps:
        found, facts = examine_installed(harness, agent_bin=agent_bin, progress=steps)
    if as_json:
        print_json(agent_json(found, facts, kernel=platform.release()))
    else:
        show_agent(found, facts, console=console(no_color=no_color))
    return EXIT_DONE if found.ok else EXIT_NOT_SHOWN


def _examine_sandbox(backend: "Backend", *, as_json: bool, no_color: bool) -> int:
    from upskill.reporting.doctor_table import diagnosis_json, refusal_json, show_diagnosis
    from upskill.sandbox import SandboxUnavailable
    from upskill.workflows.doctor import examine

    try:
        with StepProgress(no_color=no_color) as steps:
            diagnosis = examine(backend=backend, progress=steps)
    except SandboxUnavailable as error:
        if as_json:
            print_json(refusal_json(error, kernel=platform.release()))
        raise
    if as_json:
        found = diagnosis_json(diagnosis.facts, diagnosis.results, kernel=diagnosis.kernel)
        print_json(found)
    else:
        show_diagnosis(
            diagnosis.facts,
            diagnosis.results,
            by_root=diagnosis.started_by_root,
            console=console(no_color=no_color),
        )
    return EXIT_DONE if diagnosis.holds else EXIT_FAILED
