"""`upskill cases write` and `upskill trigger --write`: let a teacher write, and print what was written."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, UsageError
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import ask_to_spend, console, named, print_json, print_lines

if TYPE_CHECKING:
    from upskill.core.settings import ResolvedSettings
    from upskill.generation.write_for_skill import WritingOrder


@click.command("write", cls=options.Grouped)
@click.argument("skill", type=click.Path(path_type=Path))
@options.teacher("The model that writes the cases.  [default: the strongest with a key]")
@options.TEACHER_BASE_URL
@click.option(
    "-f",
    "--from",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="A session, a document or a candidate of `mine` such as mined:1 as further material; may be repeated.",
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
    from upskill.core.hub import fetched
    from upskill.generation.write_for_skill import CasesOrder

    chosen = options.resolved({**settings, "teacher": teacher, "test_gen_model": teacher})
    order = CasesOrder(
        skill=skill,
        counts=read_counts(chosen.values.cases if counts is None else counts),
        sources=tuple(map(fetched, sources)),
        output=output,
        replace=replace,
    )
    return _write(order, chosen, dry_run=dry_run, as_json=as_json, yes=yes)


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
    from upskill.generation.write_for_skill import TriggersOrder

    models, address = settings.pop("models"), settings.pop("base_url")
    names = models if isinstance(models, tuple) else ()
    if len(names) > 1:
        raise UsageError("--write needs one teacher", hint="name it with -m, and measure models afterwards")
    teacher = names[0] if names else None
    chosen = options.resolved({**settings, "teacher": teacher, "test_gen_model": teacher, "teacher_base_url": address})
    order = TriggersOrder(skill=skill, counts=read_trigger_counts(chosen.values.trigger_prompts), output=output)
    return _write(order, chosen, dry_run=dry_run, as_json=as_json, yes=yes)


def plan_missing_cases(skill: Path, chosen: "ResolvedSettings", *, as_json: bool) -> None:
    """Price the cases that an evaluation of a skill without any would have written first."""
    from upskill.core.cases.split import read_counts
    from upskill.generation.write_for_skill import CasesOrder

    counts = replace(read_counts(chosen.values.cases), negative=0)
    _show_plan(CasesOrder(skill=skill, counts=counts), chosen, as_json=as_json)
    print_lines("the skill has no cases: these are written first, and then -n prices the evaluation", err=True)


def _write(order: "WritingOrder", chosen: "ResolvedSettings", *, dry_run: bool, as_json: bool, yes: bool) -> int:
    from upskill.generation.case_writing import WrittenCases
    from upskill.generation.write_for_skill import write_for_skill
    from upskill.report.cases import show_written_cases

    if dry_run:
        _show_plan(order, chosen, as_json=as_json)
        return EXIT_DONE
    with TimedProgress() as progress:
        found = write_for_skill(
            order,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    if as_json:
        print_json(found.as_json())
        return EXIT_DONE
    if isinstance(found.written, WrittenCases):
        show_written_cases(found.written.cases, console())
    print_lines(*(f"note: {note}" for note in found.notes), err=True)
    print_lines(*found.lines, f"Saved to {found.plan.target}")
    return EXIT_DONE


def _show_plan(order: "WritingOrder", chosen: "ResolvedSettings", *, as_json: bool) -> None:
    """Print what a teacher would write: who, for which skill, at what price, to which file."""
    from upskill.generation.write_for_skill import CasesOrder, plan_writing

    plan = plan_writing(order, chosen.values, announce=partial(print_lines, err=True), needs_key=False)
    kind, what = ("cases", "cases") if isinstance(order, CasesOrder) else ("triggers", "prompts")
    if as_json:
        print_json(
            {
                "schema": f"upskill.{kind}_plan/1",
                "skill": plan.skill.name,
                "writer": {"name": plan.writer.name, "model": plan.writer.model},
                what: str(order.counts),
                "path": str(plan.target),
                "estimate": plan.estimate.as_json(),
            }
        )
        return
    amount = f"{order.counts} cases" if isinstance(order, CasesOrder) else order.wanted
    print_lines(
        f"{amount} for {plan.skill.name} by {named(plan.writer)}",
        plan.estimate.words,
        f"to be saved to {plan.target}",
        *(f"note: {note}" for note in plan.notes),
    )
