"""`upskill doctor`: does a sandbox hold on this machine?"""

import platform

import click

from upskill.cli import options
from upskill.cli.live_display import StepProgress
from upskill.cli.output import console, print_json
from upskill.errors import EXIT_DONE, EXIT_FAILED


@click.command("doctor")
@options.JSON
@options.NO_COLOR
def command(as_json: bool, no_color: bool) -> int:
    """Start a real sandbox and attack it in 44 ways. Exits with 3 if there is no sandbox, or if an attack succeeds.

    Calls no model, sends nothing and leaves nothing behind. Takes half a minute.
    """
    from upskill.reporting.doctor_table import diagnosis_json, refusal_json, show_diagnosis
    from upskill.sandbox import SandboxUnavailable
    from upskill.workflows.doctor import examine

    try:
        with StepProgress(no_color=no_color) as steps:
            diagnosis = examine(progress=steps)
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
