"""`upskill cases`: what can be asked of the cases of a skill."""

from functools import partial
from pathlib import Path

import click

from upskill.cli import options
from upskill.cli.live_display import StepProgress
from upskill.cli.output import ask_to_spend, console, print_json, print_lines
from upskill.cli.writing import show_writing_plan
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN, UsageError


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
@options.runs_dir("Where past runs are; their answers without the skill count too.")
@options.JSON
@click.option(
    "-v", "--verbose", is_flag=True, help="Show every reason, and every altered answer that passes but should fail."
)
@options.YES
@options.NO_COLOR
def check(
    skill: Path,
    case_file: Path | None,
    probe: bool,
    models: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    yes: bool,
    no_color: bool,
    **settings: object,
) -> int:
    """Check each case of SKILL against known good and bad answers. Calls no model without --probe.

    A case is rejected if an empty or evasive answer passes, or the reference answer fails. It is qualified if the
    reference passes and altered copies of it fail, and unproven otherwise. Every evaluation starts with this check.

    Exit codes: 0 no case is rejected; 1 some are; 2 the cases cannot be read.
    """
    from upskill.reporting.cases import cases_json, show_case_states
    from upskill.workflows.evaluating.check_cases import check_cases

    chosen = options.resolved({**settings, "models": models}, uses=None if probe else ["runs_dir"])
    if models and not probe:
        raise UsageError("-m needs --probe", hint="add --probe to ask this model")
    with StepProgress(no_color=no_color) as steps:
        checked = check_cases(
            skill,
            case_file=case_file,
            runs_dir=None if probe else Path(chosen.values.runs_dir),
            progress=steps,
        )
    if probe and any(one.state != "rejected" for one in checked.qualifications):
        from upskill.workflows.evaluating.probe_cases import probe_cases

        with StepProgress(no_color=no_color) as steps:
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
        out = console(no_color=no_color)
        show_case_states(checked.qualifications, out, cases=checked.cases, verbose=verbose)
        print_lines(*(f"note: {note}" for note in checked.notes), err=True)
    return EXIT_NOT_SHOWN if any(one.state == "rejected" for one in checked.qualifications) else EXIT_DONE


@command.command("write")
@click.argument("skill", type=click.Path(path_type=Path))
@options.teacher("The model that writes the cases.  [default: the strongest with a key]")
@options.TEACHER_BASE_URL
@click.option(
    "-f",
    "--from",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="A session or a document as further material; may be repeated.",
)
@options.COUNTS
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A case file.  [default: the skill's skill_meta.json]",
)
@click.option("--replace", is_flag=True, help="Replace the existing cases.")
@options.max_cost("Stop at this cost.  [default: 5]")
@options.dry_run("Show the model, calls, price and minutes; call no model.")
@options.JSON
@options.QUIET
@options.YES
@options.NO_COLOR
def write(
    skill: Path,
    teacher: str | None,
    sources: tuple[str, ...],
    counts: str | None,
    output: Path | None,
    replace: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
    **settings: object,
) -> int:
    """Have a teacher write cases for SKILL. Only cases that are shown to tell right answers from wrong ones are kept.

    A case that does not qualify is returned to the teacher with the reason, at most twice, and then dropped. Cases are
    split into practice, held-out and unrelated cases by their content, so the same cases are always split alike.

    Exit codes: 0 written; 2 wrong usage, or the skill already has cases; 3 failed.
    """
    from upskill.cli.teaching_progress import TimedProgress
    from upskill.reporting.cases import show_written_cases, written_cases_json
    from upskill.teaching.case_split import read_counts
    from upskill.workflows.generating.write_cases import CasesOrder, cases_for_skill, plan_cases

    chosen = options.resolved({**settings, "teacher": teacher, "test_gen_model": teacher})
    order = CasesOrder(
        skill=skill,
        counts=read_counts(chosen.values.cases if counts is None else counts),
        sources=sources,
        output=output,
        replace=replace,
    )
    if dry_run:
        plan = plan_cases(order, chosen.values, announce=partial(print_lines, err=True), needs_key=False)
        show_writing_plan(
            plan,
            amount=f"{order.counts} cases",
            as_json=as_json,
            wanted={"cases": str(order.counts)},
            schema="upskill.cases_plan/1",
            notes=plan.notes,
        )
        return EXIT_DONE
    with TimedProgress(quiet=quiet, no_color=no_color) as progress:
        found = cases_for_skill(
            order,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    if as_json:
        written = written_cases_json(
            found.plan.skill,
            found.cases,
            path=str(found.plan.target),
            writer=found.plan.writer.endpoint.name,
            dropped=found.dropped,
            bought=found.bought,
            notes=found.plan.notes,
        )
        print_json(written)
        return EXIT_DONE
    show_written_cases(found.cases, console(no_color=no_color))
    print_lines(*(f"note: {note}" for note in (*found.dropped_notes, *found.plan.notes)), err=True)
    print_lines(f"Saved to {found.plan.target}")
    return EXIT_DONE
