"""`upskill generate`: parse flags, call the workflow, print the result."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN, UsageError
from upskill.terminal import options
from upskill.terminal.output import (
    confirm,
    console,
    is_interactive,
    next_lines,
    notes_of,
    print_json,
    print_lines,
    refuse_what_is_ignored,
    rows_on_stderr,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upskill.core.nouns.evaluation import Required
    from upskill.core.nouns.finding import Finding
    from upskill.generation.generate import GeneratePlan
    from upskill.generation.generated import GenerateResult
    from upskill.sandbox import Backend

_HEEDED = frozenset(
    {"resume", "accept_findings", "require", "as_json", "verbose", "yes", "base_url", "max_cost"}
    | {"sandbox", "output", "sources", "plan_file", "teacher", "teacher_base_url", "models"}
)
"""What may be typed beside --resume; the rest is as when the run began."""


@click.command("generate", cls=options.Grouped)
@click.argument("task", nargs=-1)
@click.option(
    "-e", "--example", "examples", multiple=True, metavar="EXAMPLE", help="An example input; may be repeated."
)
@click.option(
    "-f",
    "--from",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="A session, `last` (the newest here), a document, a repository, a candidate of `mine` (mined:1), a skill to "
    "improve; also hf:// names.",
)
@click.option(
    "--feedback",
    metavar="FILE",
    help="Comments saved from the report of --from RUN.",
)
@click.option(
    "--description-only",
    is_flag=True,
    help="Revise only the description of --from SKILL.",
)
@options.teacher("Writes the skill.  [default: the strongest with a key]")
@options.TEACHER_BASE_URL
@click.option(
    "--eval-model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="A model to measure; may be repeated.  [default: teacher]",
)
@click.option("--eval-base-url", "base_url", metavar="URL", help="An OpenAI-compatible server for these.")
@click.option("--no-eval", is_flag=True, help="Write the skill and its cases; measure nothing.")
@click.option("-o", "--output", metavar="DIR", help="The skill's folder.  [default: skills/NAME]")
@options.COUNTS
@options.tests_file("case_file", "A file with your own cases.")
@click.option("--revisions", type=int, default=3, metavar="N", help="At most N revisions.  [default: 3]")
@click.option("--effort", type=click.Choice(["low", "high"]), default="low", help="high: search over many revisions.")
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    help="The facts that cases ask about; written for you to edit if FILE is new.",
)
@click.option("--accept-findings", is_flag=True, help="Save a draft with dangers that you have read.")
@options.REQUIRE
@options.RESUME
@options.harness(auto="tools if a case needs them")
@options.SANDBOX
@options.max_cost("Stop at this total cost.  [default: 10]")
@options.dry_run("Show models, calls, price and minutes; call nothing.")
@options.JSON
@options.VERBOSE
@options.YES
def command(
    task: tuple[str, ...],
    examples: tuple[str, ...],
    sources: tuple[str, ...],
    feedback: str | None,
    description_only: bool,
    no_eval: bool,
    output: str | None,
    counts: str | None,
    case_file: Path | None,
    revisions: int,
    effort: Literal["low", "high"],
    plan_file: str | None,
    accept_findings: bool,
    require: "Required | None",
    resume: Path | None,
    sandbox: "Backend",
    max_cost: float | None,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Write a skill for TASK, from what the teacher knows or from a session, and measure whether it helps a model.

    --from SKILL improves a skill: the new version replaces it only if it is shown to be better on held-out cases, which
    the teacher does not see while it writes.

    Exit codes: 0 done, even if nothing is proven; 1 a requirement was not met, or dangerous content was not accepted; 2
    wrong usage; 3 failed, no verdict, no skill can help, or questions are open; 130 interrupted.
    """
    from upskill.core.cases.split import read_counts
    from upskill.core.hub import fetched
    from upskill.core.models.handoff import HandoffOpen
    from upskill.core.runs.own_runs import resume_command
    from upskill.generation.generate import (
        GenerateOrder,
        PlanWritten,
        TypedGenerate,
        generate,
        plan_order,
        resume_generate,
    )
    from upskill.generation.words import TeachingProgress

    progress = TeachingProgress()

    def accept(dangers: "Sequence[Finding]", draft: Path) -> bool:
        return progress.ask(lambda: _agrees(dangers, draft, typed=accept_findings, as_json=as_json))

    try:
        with progress:
            if resume is not None:
                refuse_what_is_ignored(_HEEDED, why="--resume uses the settings of the run")
            chosen = options.resolved({**settings, "max_cost": max_cost})
            if resume is not None:
                typed = TypedGenerate(
                    settings=chosen, sandbox=sandbox, skill=_improved(sources), output=output, plan_file=plan_file
                )
                generated = resume_generate(resume, typed=typed, accept=accept, progress=progress)
            else:
                order = GenerateOrder(
                    task=_task(task),
                    examples=examples,
                    sources=tuple(fetched(one, progress.note) for one in sources),
                    output=output,
                    counts=read_counts(chosen.values.cases if counts is None else counts),
                    case_file=None if case_file is None else str(case_file),
                    evaluate=not no_eval,
                    revisions=revisions,
                    effort=effort,
                    plan_file=plan_file,
                    feedback=feedback,
                    description_only=description_only,
                    sandbox=sandbox,
                )
                if counts is not None and description_only:
                    raise UsageError("--description-only uses trigger prompts, not cases", hint="remove --cases")
                if require is not None and no_eval:
                    raise UsageError(f"--require {require} needs an evaluation", hint="remove --no-eval")
                piped = None if sys.stdin.isatty() else sys.stdin.buffer
                if dry_run:
                    plan = plan_order(order, settings=chosen, progress=progress, piped=piped, needs_keys=False)
                    _show_plan(plan, as_json=as_json)
                    return EXIT_DONE
                generated = generate(
                    order,
                    settings=chosen,
                    progress=progress,
                    confirm=lambda plan: yes or _ask(plan),
                    accept=accept,
                    piped=piped,
                )
    except PlanWritten as written:
        print_lines(written.message, err=as_json)
        return EXIT_DONE
    except HandoffOpen as waiting:
        # Not an error: this is what UPSKILL_WAIT=false asks for.
        print_lines(waiting.message, *([waiting.hint] if waiting.hint else []), *notes_of(waiting), err=True)
        return EXIT_FAILED
    except KeyboardInterrupt as interrupted:
        # Printed after the live block is gone: clearing it would remove the last line.
        if progress.run is None:
            raise
        line = f"resume with: {resume_command(progress.run)}"
        print_lines("interrupted; every answer so far is saved", line, err=True, wrap=False)
        print_lines(*notes_of(interrupted), err=True)
        return EXIT_INTERRUPTED
    _show(generated, require, as_json=as_json, verbose=verbose)
    return exit_code(generated, require)


def _improved(sources: tuple[str, ...]) -> Path | None:
    """The skill that a resumed run improves, which is all that --from can name there."""
    from upskill.generation.gathering import skill_in

    if not sources:
        return None
    skill = skill_in(sources[0])
    if skill is None or len(sources) > 1:
        raise UsageError("with --resume, --from can name only the skill that is improved")
    return skill


def _task(words: tuple[str, ...]) -> str | None:
    """The task, which need not be in quotes."""
    return " ".join(words).strip() or None


def _ask(plan: "GeneratePlan") -> bool:
    """Ask the person on stderr, with both shares of the price. Raises where there is no terminal."""
    question = " ".join(line.strip() + "." for line in plan.shares)
    if not is_interactive():
        raise UsageError(f"{question} Nothing was run.", hint="add --yes to run without confirmation")
    return confirm("Continue?")


def _agrees(dangers: "Sequence[Finding]", draft: Path, *, typed: bool, as_json: bool) -> bool:
    """Whether the person agrees, by the flag or on stderr. Nobody is asked without a terminal, and nothing is saved."""
    if not typed and (as_json or not is_interactive()):
        return False  # the error lists them
    print_lines(*(one.line_for_people for one in dangers), err=True)
    if typed:
        return True
    print_lines(f"The draft is in {draft.as_posix()}. Read it before you accept.", err=True)
    return confirm("Save it despite these findings?")


def _show_plan(plan: "GeneratePlan", *, as_json: bool) -> None:
    if as_json:
        print_json(plan.as_json())
        return
    print_lines(*plan.lines)


def _show(
    generated: "GenerateResult",
    required: "Required | None",
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    from upskill.core.nouns.plan import NOTHING_MORE
    from upskill.core.runs.own_runs import resume_command
    from upskill.core.runs.run_folders import evaluation_in
    from upskill.evaluation.output import show_every_case
    from upskill.evaluation.report import typed_for, typed_here
    from upskill.generation.words import generated_json, show_generated
    from upskill.report.next_step import step_after_generate

    measured = None if generated.evaluation is None else evaluation_in(Path(generated.run))
    step = step_after_generate(
        generated.evaluation,
        saved=generated.saved,
        improved=generated.improved,
        resume=resume_command(Path(generated.run)),
        students=generated.students,
        description=generated.description is not None,
        again=typed_here(NOTHING_MORE, generated.improved) if measured is None else typed_for(measured),
    )
    if as_json:
        print_json({**generated_json(generated, required), "next": step.as_json()})
        return
    after = next_lines(step, run=generated.run)
    show_generated(generated, console(), required=required, taken=rows_on_stderr(after), every_note=verbose)
    if verbose and generated.evaluation is not None and measured is not None:
        show_every_case(generated.evaluation, measured)
    print_lines(*after, err=True, wrap=False)


def exit_code(generated: "GenerateResult", required: "Required | None") -> int:
    """The exit code; a failure of the tool goes before what the skill did not show."""
    from upskill.generation.words import generate_requirements

    if any(claim.status == "invalid" for claim in generated.claims):
        return EXIT_FAILED
    met = all(one.met for one in generate_requirements(generated, required))
    return EXIT_DONE if met else EXIT_NOT_SHOWN
