"""`upskill generate`: parse flags, call the workflow, print the result."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from upskill.cli import options
from upskill.cli.output import (
    confirm,
    console,
    is_interactive,
    next_lines,
    notes_of,
    print_json,
    print_lines,
    refuse_what_resume_ignores,
    rows_on_stderr,
)
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upskill.domain.evaluation import Required
    from upskill.domain.finding import Finding
    from upskill.domain.generated import GenerateResult
    from upskill.sandbox import Backend
    from upskill.workflows.generating.generate import GeneratePlan

_HEEDED = frozenset(
    {"resume", "anyway", "accept_findings", "no_wait", "require", "as_json", "verbose", "quiet", "no_color", "yes"}
    | {"among", "agent_bin"}
    | {"sandbox", "output", "sources", "plan_file", "teacher", "teacher_base_url", "test_gen_model", "models"}
    | {"base_url", "max_cost", "max_calls", "max_total_tokens", "max_time_minutes", "concurrency", "max_turns"}
)
"""What may be typed beside --resume; the rest is as when the run began."""
_DASHES = ("–", "—", "‑")
"""What a web page makes of two hyphens."""


@click.command("generate")
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
    help="A session, `last` for the newest session here, a document, a repository, or a skill to improve.",
)
@click.option(
    "--feedback",
    metavar="FILE",
    help="Comments saved from a report; name their run with --from RUN.",
)
@click.option(
    "--retire",
    multiple=True,
    metavar="CASE",
    help="Turn a commented held-out case into a practice case; may be repeated.",
)
@click.option(
    "--description-only",
    is_flag=True,
    help="Revise only the description of --from SKILL, on its trigger prompts; the body stays as it is.",
)
@options.among("With --description-only: other skills beside this one, as in `upskill trigger`; may be repeated.")
@options.teacher("The model that writes the skill.  [default: the strongest with a key]")
@options.TEACHER_BASE_URL
@click.option("--test-gen-model", metavar="MODEL", help="The model that writes the cases.  [default: the teacher]")
@click.option(
    "--eval-model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="A model to measure; may be repeated.  [default: `models` of the settings, else the teacher]",
)
@click.option("--eval-base-url", "base_url", metavar="URL", help="An OpenAI-compatible server for the measured models.")
@click.option("--no-eval", is_flag=True, help="Write the skill and its cases; measure nothing.")
@click.option("-o", "--output", metavar="DIR", help="The skill's folder.  [default: skills/NAME]")
@options.COUNTS
@click.option(
    "-t", "--tests", "case_file", type=click.Path(path_type=Path), metavar="FILE", help="A file with your own cases."
)
@click.option("--revisions", type=int, default=3, metavar="N", help="At most N revisions.  [default: 3]")
@click.option("--effort", type=click.Choice(["low", "high"]), default="low", help="high: search over many revisions.")
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    help="A plan: the facts that cases ask about. If FILE does not exist, a plan is written there for you to edit.",
)
@click.option(
    "--anyway", is_flag=True, help="Continue even if no skill can help these models, or nothing is left to fix."
)
@click.option("--accept-findings", is_flag=True, help="Save a draft despite dangerous content that you have read.")
@click.option("--no-wait", is_flag=True, help="With a hand-off: write the questions and exit; resume later.")
@options.REQUIRE
@options.RESUME
@options.harness(auto="tools if a case needs them")
@click.option(
    "--agent-bin",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="With --description-only: the program of the coding agent.  [default: the one on the search path]",
)
@options.SANDBOX
@options.MAX_TURNS
@options.max_cost("Stop at this total cost.  [default: 10]")
@options.MAX_CALLS
@options.MAX_TOTAL_TOKENS
@options.MAX_TIME
@options.dry_run("Show models, calls, price and minutes; call nothing.")
@options.fresh("Ask for every answer again; ignore the cache.")
@options.concurrency(per="model")
@options.temperature("Sampling temperature of the measured models.")
@options.max_output_tokens("The longest answer of a measured model.")
@options.runs_dir()
@options.JSON
@options.VERBOSE
@options.SENTENCE_ONLY
@options.YES
@options.NO_COLOR
def command(
    task: tuple[str, ...],
    examples: tuple[str, ...],
    sources: tuple[str, ...],
    feedback: str | None,
    retire: tuple[str, ...],
    description_only: bool,
    among: tuple[str, ...],
    agent_bin: Path | None,
    no_eval: bool,
    output: str | None,
    counts: str | None,
    case_file: Path | None,
    revisions: int,
    effort: Literal["low", "high"],
    plan_file: str | None,
    anyway: bool,
    accept_findings: bool,
    no_wait: bool,
    require: "Required | None",
    resume: Path | None,
    sandbox: "Backend",
    max_cost: float | None,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
    **settings: object,
) -> int:
    """Write a skill for TASK, from what the teacher knows or from a session, and measure whether it helps a model.

    --from SKILL improves an existing skill. The new version replaces it only if it is shown to be better on held-out
    cases, which the teacher does not see while it writes the skill. --from RUN --feedback FILE improves it from your
    comments on answers. --from SKILL --description-only changes nothing but the description, which decides when the
    skill is loaded.

    Exit codes: 0 done, even if the skill is not proven; 1 a requirement was not met, or the draft has dangerous
    content that was not accepted; 2 wrong usage; 3 failed, no verdict, no skill can help these models, or questions
    are open with --no-wait; 130 interrupted (143 by SIGTERM, 129 by SIGHUP).
    """
    from upskill.cli.teaching_progress import TeachingProgress
    from upskill.domain.other_skills import read_among
    from upskill.models.handoff import HandoffOpen
    from upskill.teaching.case_split import read_counts
    from upskill.workflows.evaluating.typed_again import TypedAgain
    from upskill.workflows.generating.generate import (
        GenerateOrder,
        PlanWritten,
        TypedGenerate,
        generate,
        plan_order,
        resume_generate,
    )
    from upskill.workflows.generating.resuming import resume_command

    progress = TeachingProgress(quiet=quiet, no_color=no_color)

    def accept(dangers: "Sequence[Finding]", draft: Path) -> bool:
        return progress.ask(lambda: _agrees(dangers, draft, typed=accept_findings, as_json=as_json))

    try:
        with progress:
            if resume is not None:
                refuse_what_resume_ignores(_HEEDED)
                chosen = options.resolved({**settings, "max_cost": max_cost})
                again = TypedAgain(
                    settings=chosen,
                    sandbox=sandbox,
                    skill=_improved(sources),
                    among=read_among(among),
                    agent_bin=agent_bin,
                )
                typed = TypedGenerate(again=again, output=output, plan_file=plan_file)
                generated = resume_generate(
                    resume, typed=typed, anyway=anyway, wait=not no_wait, accept=accept, progress=progress
                )
            else:
                chosen = options.resolved({**settings, "max_cost": max_cost})
                order = GenerateOrder(
                    task=_task(task),
                    examples=examples,
                    sources=sources,
                    output=output,
                    counts=read_counts(chosen.values.cases if counts is None else counts),
                    case_file=None if case_file is None else str(case_file),
                    evaluate=not no_eval,
                    revisions=revisions,
                    effort=effort,
                    plan_file=plan_file,
                    feedback=feedback,
                    retire=retire,
                    description_only=description_only,
                    among=read_among(among),
                    agent_bin=None if agent_bin is None else str(agent_bin),
                    anyway=anyway,
                    wait=not no_wait,
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
        # Not an error: this is what --no-wait asks for.
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
    _show(generated, require, as_json=as_json, verbose=verbose, quiet=quiet, no_color=no_color)
    return exit_code(generated, require)


def _improved(sources: tuple[str, ...]) -> Path | None:
    """The skill that a resumed run improves, which is all that --from can name there."""
    from upskill.workflows.generating.material import skill_in

    if not sources:
        return None
    skill = skill_in(sources[0])
    if skill is None or len(sources) > 1:
        raise UsageError("with --resume, --from can name only the skill that is improved")
    return skill


def _task(words: tuple[str, ...]) -> str | None:
    """The task, which need not be in quotes."""
    for word in words:
        if word.startswith(_DASHES):
            raise UsageError(f"{word}: starts with a long dash", hint=f"type two hyphens: --{word.lstrip('–—‑')}")
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
    quiet: bool,
    no_color: bool,
) -> None:
    from upskill import storage
    from upskill.cli.result_output import show_every_case
    from upskill.reporting.decision import decision
    from upskill.reporting.described import show_described
    from upskill.reporting.generated import generated_json, show_generated
    from upskill.reporting.next_step import step_after_generate
    from upskill.workflows.generating.resuming import resume_command

    if as_json:
        print_json(generated_json(generated, required))
    elif quiet and not verbose:
        print_lines(decision(generated))
    else:
        step = step_after_generate(
            generated.evaluation,
            saved=generated.saved,
            improved=generated.improved,
            resume=resume_command(Path(generated.run)),
            students=generated.students,
            description=generated.description is not None,
        )
        after = [] if quiet else next_lines(step, run=generated.run)
        out, taken = console(no_color=no_color), rows_on_stderr(after)
        if generated.description is not None:
            revision = generated.description
            show_described(generated, revision, out, required=required, taken=taken, every_note=verbose)
        else:
            show_generated(generated, out, required=required, taken=taken, every_note=verbose)
        if verbose and generated.evaluation is not None:
            held_out = storage.evaluation_in(Path(generated.run))
            show_every_case(generated.evaluation, held_out, no_color=no_color)
        print_lines(*after, err=True, wrap=False)


def exit_code(generated: "GenerateResult", required: "Required | None") -> int:
    """The exit code; a failure of the tool goes before what the skill did not show."""
    from upskill.reporting.requirements import generate_requirements

    if any(claim.status == "invalid" for claim in generated.claims):
        return EXIT_FAILED
    met = all(one.met for one in generate_requirements(generated, required))
    return EXIT_DONE if met else EXIT_NOT_SHOWN
