"""`upskill generate`: parse flags, call the workflow, print the result."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from upskill.cli.output import NO_COLOR, console, refuse_what_resume_ignores
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN, UsageError

if TYPE_CHECKING:
    from upskill.domain.generated import Generated
    from upskill.sandbox import Backend
    from upskill.workflows.generate import GeneratePlan

_DASHES = ("–", "—", "‑")
"""What a web page makes of two hyphens."""


@click.command("generate")
@click.argument("task", nargs=-1)
@click.option("-e", "--example", "examples", multiple=True, metavar="EXAMPLE", help="An input; may be repeated.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="A recording, `last` for the newest session here, a document, a repository, or a skill to improve.",
)
@click.option("-m", "--model", "--m", "teacher", metavar="TEACHER", help="Who teaches.  [default: the strongest here]")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server for the teacher.")
@click.option("--test-gen-model", metavar="MODEL", help="Who writes the cases.  [default: the teacher]")
@click.option(
    "--eval-model", "models", multiple=True, metavar="STUDENT", help="Who is measured.  [default: the teacher]"
)
@click.option("--eval-base-url", metavar="URL", help="An OpenAI-compatible server for the students.")
@click.option("--no-eval", is_flag=True, help="Write the skill and its cases, and measure nothing.")
@click.option("-o", "--output", metavar="DIR", help="The skill's folder.  [default: skills/NAME]")
@click.option("--cases", "counts", metavar="L+H+N", help="To learn from, held out, negative.  [default: 10+16+4]")
@click.option("-t", "--tests", "case_file", type=click.Path(path_type=Path), metavar="FILE", help="Cases of your own.")
@click.option("--revisions", type=int, default=3, metavar="N", help="The most revisions.  [default: 3]")
@click.option("--effort", type=click.Choice(["low", "high"]), default="low", help="high searches over many revisions.")
@click.option("--require", type=click.Choice(["helps"]), help="Exit with 1 unless every student is helped.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Go on with a run that was cut short.")
@click.option(
    "--harness",
    type=click.Choice(["auto", "chat", "agent"]),
    help="How students are asked; agent gives them tools in a sandbox.  [default: auto, tools where cases need them]",
)
@click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "none"]),
    help="What confines whatever is executed. none runs it on this machine, with your rights.  [default: bubblewrap]",
)
@click.option("--max-turns", type=int, metavar="N", help="The most answers of a student with tools.  [default: 30]")
@click.option("--max-cost", type=float, metavar="DOLLARS", help="Stop when so much is spent, in all.  [default: 10]")
@click.option("--max-calls", type=int, metavar="N", help="Stop after so many requests.")
@click.option("--max-total-tokens", type=int, metavar="N", help="Stop after so many tokens.")
@click.option("--max-time", type=float, metavar="MINUTES", help="Stop after so many minutes.")
@click.option("-n", "--dry-run", is_flag=True, help="Show who is asked, calls, price and minutes; call nothing.")
@click.option("--fresh", is_flag=True, help="Buy every trial anew; ignore the trial store.")
@click.option("--concurrency", type=int, metavar="N", help="Calls in flight per model.  [default: 8]")
@click.option("--temperature", type=float, metavar="T", help="Of the students.  [default: the model's own]")
@click.option("--max-output-tokens", type=int, metavar="N", help="A student's longest answer.  [default: 2048]")
@click.option("--runs-dir", metavar="DIR", help="Where the run folder is made.  [default: runs]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@NO_COLOR
def command(
    task: tuple[str, ...],
    examples: tuple[str, ...],
    sources: tuple[str, ...],
    teacher: str | None,
    base_url: str | None,
    test_gen_model: str | None,
    models: tuple[str, ...],
    eval_base_url: str | None,
    no_eval: bool,
    output: str | None,
    counts: str | None,
    case_file: Path | None,
    revisions: int,
    effort: Literal["low", "high"],
    require: str | None,
    resume: Path | None,
    harness: str | None,
    sandbox: "Backend | None",
    max_turns: int | None,
    max_cost: float | None,
    max_calls: int | None,
    max_total_tokens: int | None,
    max_time: float | None,
    dry_run: bool,
    fresh: bool,
    concurrency: int | None,
    temperature: float | None,
    max_output_tokens: int | None,
    runs_dir: str | None,
    as_json: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
) -> int:
    """Make a skill for TASK, from what the teacher knows or from a recording, and measure it on the students.

    With --from SKILL an existing skill is improved; its new version takes its place only if it is shown to be better
    on cases that the teacher never saw.

    Exit codes: 0 done, also where the skill is not proven, 1 what was required was not shown, 2 wrong usage, 3 could
    not be done or no verdict possible, 130 interrupted.
    """
    from upskill.cli.teaching_progress import TeachingProgress
    from upskill.settings import resolve_settings
    from upskill.teaching.splitting import CaseCounts, read_counts
    from upskill.workflows.generate import GenerateOrder, generate, plan_generate, resume_generate

    with TeachingProgress(quiet=quiet, no_color=no_color) as progress:
        try:
            if resume is not None:
                refuse_what_resume_ignores({"resume", "max_cost", "require", "as_json", "quiet", "no_color", "yes"})
                generated = resume_generate(resume, max_cost=max_cost, listener=progress)
            else:
                settings = resolve_settings(
                    {
                        "teacher": teacher,
                        "teacher_base_url": base_url,
                        "test_gen_model": test_gen_model,
                        "models": models,
                        "base_url": eval_base_url,
                        "concurrency": concurrency,
                        "temperature": temperature,
                        "max_output_tokens": max_output_tokens,
                        "runs_dir": runs_dir,
                        "harness": harness,
                        "max_turns": max_turns,
                        "max_cost": max_cost,
                        "max_calls": max_calls,
                        "max_total_tokens": max_total_tokens,
                        "max_time_minutes": max_time,
                        "store": False if fresh else None,
                    }
                )
                order = GenerateOrder(
                    task=_task(task),
                    examples=examples,
                    sources=sources,
                    output=output,
                    counts=CaseCounts() if counts is None else read_counts(counts),
                    case_file=None if case_file is None else str(case_file),
                    evaluate=not no_eval,
                    revisions=revisions,
                    effort=effort,
                    sandbox=sandbox or "bubblewrap",
                )
                if require is not None and no_eval:
                    raise UsageError("--require helps needs an evaluation", hint="leave out --no-eval")
                piped = None if sys.stdin.isatty() else sys.stdin.buffer
                if dry_run:
                    _show_plan(plan_generate(order, settings=settings, listener=progress, piped=piped), as_json=as_json)
                    return EXIT_DONE
                generated = generate(
                    order, settings=settings, listener=progress, confirm=lambda plan: yes or _ask(plan), piped=piped
                )
        except KeyboardInterrupt:
            if progress.run is None:
                raise
            click.echo("interrupted; everything that was bought is kept", err=True)
            click.echo(f"go on with: upskill generate --resume {progress.run.as_posix()}", err=True)
            return EXIT_INTERRUPTED
    _show(generated, as_json=as_json, no_color=no_color)
    return _exit_code(generated, required=require is not None)


def _task(words: tuple[str, ...]) -> str | None:
    """The task, which need not be in quotes."""
    for word in words:
        if word.startswith(_DASHES):
            raise UsageError(f"{word}: begins with a long dash", hint=f"type two hyphens: --{word.lstrip('–—‑')}")
    return " ".join(words).strip() or None


def _ask(plan: "GeneratePlan") -> bool:
    """The one question, on stderr, with both shares. Where nobody can be asked, nothing is run."""
    question = " ".join(line.strip() + "." for line in plan.shares)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{question} Nothing was run.", hint="add --yes to run it without being asked")
    return click.confirm("Go on?", err=True)


def _show_plan(plan: "GeneratePlan", *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(plan.as_json(), indent=2, ensure_ascii=False))
        return
    for line in plan.lines:
        click.echo(line)


def _show(generated: "Generated", *, as_json: bool, no_color: bool) -> None:
    from upskill.reporting.generated import generated_json, show_generated

    if as_json:
        click.echo(json.dumps(generated_json(generated), indent=2, ensure_ascii=False))
        return
    show_generated(generated, console(no_color=no_color))


def _exit_code(generated: "Generated", *, required: bool) -> int:
    """The tool's own trouble goes before what the skill did not show."""
    if any(claim.status == "invalid" for claim in generated.claims):
        return EXIT_FAILED
    helped = bool(generated.claims) and all(claim.status == "helps" for claim in generated.claims)
    if required and not (helped and (generated.proven or not generated.revision)):
        return EXIT_NOT_SHOWN
    return EXIT_DONE
