"""`upskill trigger`: parse flags, call the workflow, print the result."""

from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import ask_to_spend, console, named, next_lines, print_json, print_lines
from upskill.cli.writing import show_writing_plan
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN, UsageError

if TYPE_CHECKING:
    from upskill.domain.trigger import TriggerResult
    from upskill.reporting.next_step import NextStep
    from upskill.sandbox import Backend
    from upskill.workflows.generating.write_triggers import TriggersOrder
    from upskill.workflows.triggering.prepare import PreparedTriggering


@click.command("trigger")
@click.argument("skill", type=click.Path(path_type=Path))
@options.students("A model to measure; may be repeated.")
@options.BASE_URL
@click.option(
    "-t",
    "--tests",
    "prompt_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file of trigger prompts.  [default: evals/triggers.json of the skill]",
)
@click.option("--write", is_flag=True, help="Have a teacher write the prompts, and measure nothing; -m is the teacher.")
@click.option("--replace", is_flag=True, help="With --write: replace the existing prompts.")
@click.option(
    "--prompts",
    "counts",
    metavar="P+H",
    help="Practice and held-out prompts of each kind that are written.  [default: 12+24]",
)
@click.option(
    "--test-gen-model",
    metavar="MODEL",
    help="The model that writes prompts if the skill has none.  [default: the strongest with a key]",
)
@click.option("--test-gen-base-url", metavar="URL", help="An OpenAI-compatible server for --test-gen-model.")
@click.option("--runs", type=int, default=1, metavar="N", help="Repeats of each prompt.  [default: 1]")
@click.option("--require", is_flag=True, help="Exit with 1 unless the skill triggers well with every model.")
@options.harness(auto="agent", with_tools=True)
@options.AGENT_BIN
@options.among(f"Measure it again beside other skills: {options.OTHER_SKILLS}")
@options.SANDBOX
@options.ACCEPT_FINDINGS
@options.max_cost("Stop at this cost.  [default: 5]")
@options.MAX_CALLS
@options.MAX_TOTAL_TOKENS
@options.MAX_TIME
@options.dry_run("Show the calls and the price; call no model.")
@options.fresh("Ask every model again instead of using cached answers.")
@options.concurrency(per="model")
@options.temperature("Sampling temperature.")
@options.max_output_tokens("Token limit of an answer.")
@options.runs_dir()
@options.JSON
@click.option("-v", "--verbose", is_flag=True, help="List every prompt that went wrong.")
@options.SENTENCE_ONLY
@options.YES
@options.NO_COLOR
def command(
    skill: Path,
    prompt_file: Path | None,
    write: bool,
    replace: bool,
    counts: str | None,
    test_gen_model: str | None,
    test_gen_base_url: str | None,
    runs: int,
    require: bool,
    agent_bin: Path | None,
    among: tuple[str, ...],
    sandbox: "Backend",
    accept_findings: bool,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
    **settings: object,
) -> int:
    """Measure when each MODEL loads SKILL: on prompts that should load it, and on near misses that should not.

    Each answer ends when the skill is loaded, at the final answer, or after the third turn. Recall is the share of
    prompts that load the skill where they should; J is recall minus the load rate on near misses. The skill triggers
    well if the 95% CI of J lies above 0.5.

    Exit codes: 0 done; 1 with --require, it does not trigger well, or that is undecided; 2 wrong usage; 3 failed, or no
    verdict; 130 interrupted.
    """
    from upskill.cli.teaching_progress import TimedProgress
    from upskill.domain.other_skills import read_among
    from upskill.reporting.trigger_report import step_after_trigger
    from upskill.teaching.trigger_prompts import read_trigger_counts
    from upskill.workflows.generating.write_triggers import TriggersOrder
    from upskill.workflows.trigger_skill import trigger
    from upskill.workflows.triggering.prepare import TriggerOrder, prepare_triggering

    if write:
        teacher = _teacher(settings.pop("models"), test_gen_model)
        address = test_gen_base_url or settings.pop("base_url", None)
        settings |= {"teacher": teacher, "test_gen_model": teacher, "teacher_base_url": address}
        wanted = TriggersOrder(skill=skill, counts=read_trigger_counts(counts), output=prompt_file, replace=replace)
        return _write(wanted, settings, dry_run=dry_run, as_json=as_json, quiet=quiet, yes=yes, no_color=no_color)
    if replace or counts is not None:
        raise UsageError(f"{'--replace' if replace else '--prompts'} needs --write")
    settings |= {"test_gen_model": test_gen_model, "teacher_base_url": test_gen_base_url}
    if test_gen_base_url:
        settings["teacher"] = test_gen_model
    order = TriggerOrder(
        skill=skill,
        prompt_file=prompt_file,
        repeats=runs,
        among=read_among(among),
        sandbox=sandbox,
        accept_findings=accept_findings,
        agent_bin=agent_bin,
    )
    chosen = options.resolved(settings)
    if dry_run:
        announce = partial(print_lines, err=True)
        _show_plan(prepare_triggering(order, chosen.values, announce=announce, needs_keys=False), as_json=as_json)
        return EXIT_DONE
    with TimedProgress(quiet=quiet, no_color=no_color) as progress:
        result = trigger(
            order,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    asked = {"-m": settings["models"], "--base-url": settings["base_url"], "-t": prompt_file, "--agent-bin": agent_bin}
    where = {"--harness": settings["harness"], "--among": among}
    revised = {"--eval-model": settings["models"], "--eval-base-url": settings["base_url"]}
    step = step_after_trigger(
        result,
        repeat=f"upskill trigger {quote(str(skill))}{_typed(asked | where)}",
        revise=f"upskill generate --description-only --from {quote(str(skill))}{_typed(revised | where)}",
        write=f"upskill trigger {quote(str(skill))} --write",
    )
    _show(result, step, as_json=as_json, quiet=quiet, verbose=verbose, no_color=no_color)
    return _exit_code(result, require=require)


def _teacher(models: object, named: str | None) -> str | None:
    names = [*(models if isinstance(models, tuple) else ()), *([] if named is None else [named])]
    if len(names) > 1:
        raise UsageError("--write needs one teacher", hint="name it with -m, and measure models afterwards")
    return names[0] if names else None


def _write(
    order: "TriggersOrder",
    settings: dict[str, object],
    *,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
) -> int:
    from upskill.cli.teaching_progress import TimedProgress
    from upskill.reporting.trigger_report import written_json
    from upskill.workflows.generating.write_triggers import plan_triggers, triggers_for_skill

    chosen = options.resolved(settings)
    if dry_run:
        plan = plan_triggers(order, chosen.values, announce=partial(print_lines, err=True), needs_key=False)
        show_writing_plan(
            plan,
            amount=f"{2 * order.counts.of_a_kind} trigger prompts",
            as_json=as_json,
            wanted={"prompts": str(order.counts)},
            schema="upskill.triggers_plan/1",
        )
        return EXIT_DONE
    with TimedProgress(quiet=quiet, no_color=no_color) as progress:
        found = triggers_for_skill(
            order,
            settings=chosen,
            progress=progress,
            confirm=lambda estimate: yes or progress.ask(partial(ask_to_spend, estimate)),
        )
    if as_json:
        written = written_json(
            found.plan.skill,
            found.prompts,
            path=str(found.plan.target),
            writer=found.plan.writer.endpoint.name,
            disputed=found.disputed,
            dropped=found.dropped,
            bought=found.bought,
        )
        print_json(written)
        return EXIT_DONE
    print_lines(*(f"note: dropped: {line}" for line in found.dropped), err=True)
    print_lines(*found.lines, f"Saved to {found.plan.target}")
    return EXIT_DONE


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


def _show(
    result: "TriggerResult", step: "NextStep", *, as_json: bool, quiet: bool, verbose: bool, no_color: bool
) -> None:
    from upskill.reporting.trigger_report import show_triggering, spent_line, trigger_json, trigger_sentence

    if as_json:
        print_json(trigger_json(result))
        return
    if quiet:
        print_lines(trigger_sentence(result))
        return
    show_triggering(result, console(no_color=no_color), verbose=verbose)
    print_lines(*(f"note: {note}" for note in result.notes), err=True)
    print_lines(spent_line(result), f"saved in {result.run}", *next_lines(step, run=result.run), err=True)


def _show_plan(prepared: "PreparedTriggering", *, as_json: bool) -> None:
    plan = prepared.parts[0][1].plan
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
