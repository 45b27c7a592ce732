"""`upskill cases`: what can be asked of the cases of a skill."""

import json
from pathlib import Path

import click

from upskill.cli.output import NO_COLOR, ask_to_spend, console
from upskill.cli.steps import Steps
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, UsageError


@click.group("cases")
def command() -> None:
    """Whether the test cases of a skill can tell right from wrong."""


@command.command("check")
@click.argument("skill", type=click.Path(path_type=Path))
@click.option(
    "-t", "--tests", "case_file", type=click.Path(path_type=Path), metavar="FILE", help="A file of test cases."
)
@click.option("--probe", is_flag=True, help="Put each test case to each MODEL without the skill, at most 5 times.")
@click.option("-m", "--model", "--m", "models", multiple=True, metavar="MODEL", help="A student for --probe.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server, e.g. http://localhost:8080/v1.")
@click.option("--max-cost", type=float, metavar="DOLLARS", help="Stop probing when so much is spent.  [default: 5]")
@click.option("--runs-dir", metavar="DIR", help="Where past runs are, for baselines.  [default: runs]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option("-v", "--verbose", is_flag=True, help="Show every reason and every mutant that slipped through.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@NO_COLOR
def check(
    skill: Path,
    case_file: Path | None,
    probe: bool,
    models: tuple[str, ...],
    base_url: str | None,
    max_cost: float | None,
    runs_dir: str | None,
    as_json: bool,
    verbose: bool,
    yes: bool,
    no_color: bool,
) -> int:
    """Put every test case of SKILL to answers whose worth is known. Calls no model without --probe.

    A case is rejected when an answer that answers nothing passes, or the right one fails; qualified when its reference
    passes and its mutants fail; unproven otherwise. The same is done before every evaluation.

    Exit codes: 0 no case is rejected, 1 some are, 2 the cases cannot be read.
    """
    from upskill.reporting.case_states import cases_json, show_case_states
    from upskill.settings import resolve_settings
    from upskill.workflows.check_cases import check_cases

    flags = {"models": models, "base_url": base_url, "max_cost": max_cost, "runs_dir": runs_dir}
    settings = resolve_settings(flags)
    if models and not probe:
        raise UsageError("-m names a student, and none is asked", hint="add --probe to put the test cases to it")
    with Steps(no_color=no_color) as steps:
        checked = check_cases(
            skill,
            case_file=case_file,
            runs_dir=None if probe else Path(settings.values.runs_dir),
            say=steps.say,
            step=steps.step,
        )
    if probe and any(one.state != "rejected" for one in checked.qualifications):
        from upskill.workflows.probe_cases import probe_cases

        with Steps(no_color=no_color) as steps:
            checked = probe_cases(
                checked,
                skill,
                settings=settings,
                confirm=lambda estimate: yes or ask_to_spend(estimate),
                step=steps.step,
            )
    if as_json:
        found = cases_json(checked.skill, checked.qualifications, notes=checked.notes)
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        prompts = {case.id: case.prompt for case in checked.cases}
        show_case_states(checked.qualifications, console(no_color=no_color), prompts=prompts, verbose=verbose)
        for note in checked.notes:
            click.echo(f"note: {note}", err=True)
    return EXIT_NOT_SHOWN if any(one.state == "rejected" for one in checked.qualifications) else EXIT_DONE
