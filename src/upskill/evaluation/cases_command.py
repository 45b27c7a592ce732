"""`upskill cases`: what can be asked of the cases of a skill."""

from pathlib import Path

import click

from upskill.core.by_name import by_name
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, UsageError
from upskill.terminal import options
from upskill.terminal.display import StepProgress
from upskill.terminal.output import ask_to_spend, console, print_json, print_lines


@click.group("cases")
def command() -> None:
    """Check the cases of a skill, or have a teacher write them."""


@command.command("check")
@click.argument("skill", type=click.Path(path_type=Path))
@options.CASE_FILE
@click.option("--probe", is_flag=True, help="Ask each MODEL each case without the skill, at most 5 times.")
@options.students("A model for --probe; may be repeated.")
@options.BASE_URL
@options.max_cost("Stop probing at this cost.  [default: 5]")
@options.JSON
@click.option(
    "-v", "--verbose", is_flag=True, help="Show every reason, and every altered answer that passes but should fail."
)
@options.YES
def check(
    skill: Path,
    case_file: Path | None,
    probe: bool,
    models: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Check each case of SKILL against known good and bad answers. Calls no model without --probe.

    A case is rejected if an empty or evasive answer passes, or the reference answer fails. It is qualified if the
    reference passes and altered copies of it fail, and unproven otherwise. Every evaluation starts with this check.

    Exit codes: 0 no case is rejected; 1 some are; 2 the cases cannot be read.
    """
    from upskill.evaluation.check_cases import check_cases
    from upskill.report.cases import cases_json, show_case_states

    chosen = options.resolved({**settings, "models": models}, uses=None if probe else ["runs_dir"])
    if models and not probe:
        raise UsageError("-m needs --probe", hint="add --probe to ask this model")
    with StepProgress() as steps:
        checked = check_cases(
            skill,
            case_file=case_file,
            runs_dir=None if probe else Path(chosen.values.runs_dir),
            progress=steps,
        )
    if probe and any(one.state != "rejected" for one in checked.qualifications):
        from upskill.evaluation.probe_cases import probe_cases

        with StepProgress() as steps:
            checked = probe_cases(
                checked,
                skill,
                settings=chosen,
                confirm=lambda estimate: yes or ask_to_spend(estimate),
                progress=steps,
            )
    if as_json:
        print_json(cases_json(checked.skill, checked.qualifications, cases=checked.cases, notes=checked.notes))
    else:
        out = console()
        show_case_states(checked.qualifications, out, cases=checked.cases, verbose=verbose)
        print_lines(*(f"note: {note}" for note in checked.notes), err=True)
    return EXIT_NOT_SHOWN if any(one.state == "rejected" for one in checked.qualifications) else EXIT_DONE


command.add_command(by_name("cases_write_command"))  # a teacher does that
