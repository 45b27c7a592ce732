"""`upskill trigger`: parse flags, call the workflow, print the result."""

from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN, UsageError
from upskill.terminal import options
from upskill.terminal.display import TimedProgress
from upskill.terminal.output import (
    ask_to_spend,
    console,
    named,
    next_lines,
    print_json,
    print_lines,
    refuse_what_is_ignored,
    typed_options,
)

if TYPE_CHECKING:
    from upskill.evaluation.triggering import PreparedTriggering
    from upskill.report.next_step import NextStep
    from upskill.sandbox import Backend
    from upskill.trigger.report import TriggerResult

_HEEDED_TOGETHER = frozenset(
    {"together", "skills", "models", "base_url", "runs", "harness", "sandbox", "accept_findings"}
    | {"max_cost", "store", "dry_run", "as_json", "yes"}
)


@click.command("trigger", cls=options.Grouped)
@click.argument("skills", metavar="SKILL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.students("A model to measure; may be repeated.")
@options.BASE_URL
@options.tests_file("prompt_file", "A file of trigger prompts.  [default: evals/triggers.json of the skill]")
@click.option("--write", is_flag=True, help="Have a teacher write the prompts, and measure nothing; -m is the teacher.")
@click.option("--together", is_flag=True, help="2 to 6 skills: measure which of them takes loads from which.")
@click.option("--runs", type=int, default=1, metavar="N", help="Repeats of each prompt.  [default: 1]")
@click.option("--require", is_flag=True, help="Exit with 1 unless the skill triggers well with every model.")
@options.harness(auto="agent", with_tools=True)
@options.among(f"Measure it again beside other skills: {options.OTHER_SKILLS}")
@options.SANDBOX
@options.ACCEPT_FINDINGS
@options.max_cost("Stop at this cost.  [default: 5]")
@options.dry_run("Show the calls and the price; call no model.")
@options.fresh("Use no cached answers.")
@options.JSON
@click.option("-v", "--verbose", is_flag=True, help="List every prompt that went wrong.")
@options.YES
def command(
    skills: tuple[Path, ...],
    prompt_file: Path | None,
    write: bool,
    together: bool,
    runs: int,
    require: bool,
    among: tuple[str, ...],
    sandbox: "Backend",
    accept_findings: bool,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Measure when each MODEL loads SKILL: on prompts that should load it, and on near misses that should not.

    Each answer ends when the skill is loaded, at the final answer, or after the third turn. Recall is the share of
    prompts that load the skill where they should; J is recall minus the load rate on near misses. The skill triggers
    well if the 95% CI of J lies above 0.5.

    Exit codes: 0 done; 1 with --require, it does not trigger well, or that is undecided; 2 wrong usage; 3 failed, or no
    verdict; 130 interrupted.
    """
    from upskill.core.models.teachers import has_teacher
    from upskill.core.nouns.skill import read_among
    from upskill.core.runs.own_runs import cap_for_yes, settings_record, typed_variables
    from upskill.evaluation.offers import MEASURE_TOGETHER
    from upskill.report.next_step import BY_HAND, BY_HAND_INTO
    from upskill.trigger.offers import WRITE_PROMPTS
    from upskill.trigger.report import step_after_trigger
    from upskill.trigger.trigger import TriggerOrder, plan_triggering, trigger

    if together:
        refuse_what_is_ignored(_HEEDED_TOGETHER, why="--together asks the prompts of each skill, with the others")
        return MEASURE_TOGETHER.load()(
            skills,
            settings,
            repeats=runs,
            sandbox=sandbox,
            accept_findings=accept_findings,
            dry_run=dry_run,
            as_json=as_json,
            yes=yes,
            prompts=True,
        )
    if len(skills) > 1:
        raise UsageError("trigger measures one skill, and several were named", hint="name one, or add --together")
    skill = skills[0]
    if write:
        shown = {"dry_run": dry_run, "as_json": as_json, "yes": yes}
        return WRITE_PROMPTS.load()(skill, settings, output=prompt_file, **shown)
    chosen = options.resolved(settings)
    order = TriggerOrder(
        skill=skill,
        prompt_file=prompt_file,
        repeats=runs,
        among=read_among(among),
        sandbox=sandbox,
        accept_findings=accept_findings,
        agent_bin=options.agent_program(chosen.values),
    )
    if dry_run:
        announce = partial(print_lines, err=True)
        _show_plan(plan_triggering(order, chosen.values, announce=announce, needs_keys=False), as_json=as_json)
        return EXIT_DONE
    with TimedProgress() as progress:
        result = trigger(
            order,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    recorded = settings_record(chosen)
    variables = "".join(f"{one} " for one in typed_variables(recorded))
    cap = "".join(f" {one}" for one in cap_for_yes(recorded)) if yes else ""
    asked = typed_options(without=("skills", "as_json", "verbose", "require", "store")) + cap
    where = {"--harness": settings["harness"], "--among": among}
    revised = {"--eval-model": settings["models"], "--eval-base-url": settings["base_url"]}
    asked_of = {"-m": settings["models"], "--base-url": settings["base_url"]}
    folder = quote(str(skill))
    teacher, teacher_into = ("", "") if has_teacher(chosen.values) else (BY_HAND, BY_HAND_INTO)
    step = step_after_trigger(
        result,
        repeat=f"{variables}upskill trigger {folder}{asked}",
        revise=f"{variables}upskill generate --description-only --from {folder}{teacher}{_typed(revised | where)}",
        write=f"upskill trigger {folder} --write -t more-prompts.json{teacher_into}",
        prompted=f"{variables}upskill eval {folder}{_typed(asked_of)} --harness chat",
    )
    _show(result, step, as_json=as_json, verbose=verbose)
    return _exit_code(result, require=require)


def _typed(options: dict[str, object]) -> str:
    """The options that were given, as they are typed."""
    words: list[str] = []
    for flag, given in options.items():
        for value in given if isinstance(given, tuple) else () if given is None else (given,):
            words += [flag, quote(str(value))]
    return "".join(f" {word}" for word in words)


def _exit_code(result: "TriggerResult", *, require: bool) -> int:
    if result.interrupted:
        return EXIT_INTERRUPTED
    if any(score.verdict == "invalid" for score in result.scores):
        return EXIT_FAILED
    return EXIT_NOT_SHOWN if require and not result.triggers_well else EXIT_DONE


def _show(result: "TriggerResult", step: "NextStep", *, as_json: bool, verbose: bool) -> None:
    from upskill.trigger.report import show_triggering, spent_line, trigger_json

    if as_json:
        print_json({**trigger_json(result), "next": step.as_json()})
        return
    show_triggering(result, console(), verbose=verbose)
    print_lines(*(f"note: {note}" for note in result.notes), err=True)
    print_lines(spent_line(result), f"saved in {result.run}", *next_lines(step, run=result.run), err=True)


def _show_plan(prepared: "PreparedTriggering", *, as_json: bool) -> None:
    plan = prepared.parts[0][1].experiment.plan
    should = sum(prompt.should_load for prompt in prepared.prompts)
    if as_json:
        found = {
            "schema": "upskill.trigger_plan/1",
            "skill": prepared.skill.name,
            "students": [student.name for student in plan.students],
            "harness": plan.harness,
            "companies": [company for company, _ in prepared.parts],
            "prompts": {"should_load": should, "near_miss": len(prepared.prompts) - should},
            "repeats": plan.repeats,
            **prepared.estimate.as_json(),
            "price_unknown_for": list(prepared.estimate.unknown),
        }
        print_json(found)
        return
    print_lines(
        *(f"{prepared.skill.name} on {named(student)}, harness {plan.harness}" for student in plan.students),
        *prepared.lines,
        *(f"note: {note}" for note in prepared.notes),
    )
