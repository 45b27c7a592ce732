"""`upskill cases write` and `upskill trigger --write`: let a teacher write, and print what was written."""

from functools import partial
from pathlib import Path

import click

from upskill.errors import EXIT_DONE, UsageError
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import ask_to_spend, console, print_json, print_lines, show_writing_plan


@click.command("write")
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
@options.YES
def cases_write_command(
    skill: Path,
    teacher: str | None,
    sources: tuple[str, ...],
    counts: str | None,
    output: Path | None,
    replace: bool,
    dry_run: bool,
    as_json: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Have a teacher write cases for SKILL. Only cases that are shown to tell right answers from wrong ones are kept.

    A case that does not qualify is returned to the teacher with the reason, at most twice, and then dropped. Cases are
    split into practice, held-out and unrelated cases by their content, so the same cases are always split alike.

    Exit codes: 0 written; 2 wrong usage, or the skill already has cases; 3 failed.
    """
    from upskill.core.cases.split import read_counts
    from upskill.generation.write_cases import CasesOrder, cases_for_skill, plan_cases
    from upskill.report.cases import show_written_cases, written_cases_json

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
            skill=plan.skill.name,
            writer=plan.writer.endpoint,
            path=plan.target,
            estimate=plan.estimate.words,
            estimate_json=plan.estimate.as_json(),
            amount=f"{order.counts} cases",
            as_json=as_json,
            wanted={"cases": str(order.counts)},
            schema="upskill.cases_plan/1",
            notes=plan.notes,
        )
        return EXIT_DONE
    with TimedProgress() as progress:
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
    show_written_cases(found.cases, console())
    print_lines(*(f"note: {note}" for note in (*found.dropped_notes, *found.plan.notes)), err=True)
    print_lines(f"Saved to {found.plan.target}")
    return EXIT_DONE


def write_triggers_for_person(
    skill: Path,
    settings: dict[str, object],
    *,
    output: Path | None,
    dry_run: bool,
    as_json: bool,
    yes: bool,
) -> int:
    """Implement `upskill trigger --write`: -m is the teacher."""
    from upskill.generation.trigger_prompts import read_trigger_counts
    from upskill.generation.write_triggers import TriggersOrder, plan_triggers, triggers_for_skill

    models, address = settings.pop("models"), settings.pop("base_url")
    names = models if isinstance(models, tuple) else ()
    if len(names) > 1:
        raise UsageError("--write needs one teacher", hint="name it with -m, and measure models afterwards")
    teacher = names[0] if names else None
    chosen = options.resolved({**settings, "teacher": teacher, "test_gen_model": teacher, "teacher_base_url": address})
    order = TriggersOrder(skill=skill, counts=read_trigger_counts(chosen.values.trigger_prompts), output=output)
    if dry_run:
        plan = plan_triggers(order, chosen.values, announce=partial(print_lines, err=True), needs_key=False)
        show_writing_plan(
            skill=plan.skill.name,
            writer=plan.writer.endpoint,
            path=plan.target,
            estimate=plan.estimate.words,
            estimate_json=plan.estimate.as_json(),
            amount=f"{2 * order.counts.of_a_kind} trigger prompts",
            as_json=as_json,
            wanted={"prompts": str(order.counts)},
            schema="upskill.triggers_plan/1",
        )
        return EXIT_DONE
    with TimedProgress() as progress:
        found = triggers_for_skill(
            order,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    if as_json:
        print_json(found.as_json())
        return EXIT_DONE
    print_lines(*(f"note: dropped: {line}" for line in found.dropped), err=True)
    print_lines(*found.lines, f"Saved to {found.plan.target}")
    return EXIT_DONE
