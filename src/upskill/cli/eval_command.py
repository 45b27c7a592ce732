"""`upskill eval`: parse flags, call the workflow, print the result."""

import json
from contextlib import nullcontext
from pathlib import Path

import click

from upskill.cli.output import NO_COLOR, console, is_interactive
from upskill.errors import EXIT_FAILED, EXIT_INTERRUPTED, UsageError


@click.command("eval")
@click.argument("skill", type=click.Path(path_type=Path))
@click.option("-m", "--model", "--m", "models", multiple=True, metavar="MODEL", help="A student; may be repeated.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server, e.g. http://localhost:8080/v1.")
@click.option("-t", "--tests", "case_file", type=click.Path(path_type=Path), metavar="FILE", help="A case file.")
@click.option("--runs", type=int, default=1, show_default=True, help="How often each case is put in each arm.")
@click.option("--no-baseline", is_flag=True, help="Skip the arm without the skill; then nothing is said of lift.")
@click.option("--concurrency", type=int, metavar="N", help="Calls in flight per student.  [default: 8]")
@click.option("--temperature", type=float, metavar="T", help="Sampling temperature.  [default: the model's own]")
@click.option("--max-output-tokens", type=int, metavar="N", help="The longest answer.  [default: 2048]")
@click.option("--runs-dir", metavar="DIR", help="Where the run folder is made.  [default: runs]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option("-v", "--verbose", is_flag=True, help="Show every case, and what the checks saw.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@NO_COLOR
def command(
    skill: Path,
    models: tuple[str, ...],
    base_url: str | None,
    case_file: Path | None,
    runs: int,
    no_baseline: bool,
    concurrency: int | None,
    temperature: float | None,
    max_output_tokens: int | None,
    runs_dir: str | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
) -> int:
    """Measure SKILL, a folder with a SKILL.md, on each MODEL: with the skill and without it.

    Exit codes: 0 done, 2 wrong usage, 3 could not be done or no verdict possible, 130 interrupted.
    """
    from upskill.cli.progress import TrialProgress
    from upskill.reporting import evaluation_json
    from upskill.settings import resolve_settings
    from upskill.workflows.evaluate import EvaluationOrder, Silence, evaluate
    from upskill.workflows.price import PriceEstimate

    settings = resolve_settings(
        {
            "models": models,
            "base_url": base_url,
            "concurrency": concurrency,
            "temperature": temperature,
            "max_output_tokens": max_output_tokens,
            "runs_dir": runs_dir,
        }
    )

    def confirm(price: PriceEstimate) -> bool:
        if yes:
            return True
        question = f"This can cost {price.words}."
        if not is_interactive():
            raise UsageError(question + " Nothing was run.", hint="add --yes to run it without being asked")
        return click.confirm(f"{question} Go on?", err=True)

    with nullcontext(Silence()) if quiet else TrialProgress() as progress:
        evaluation = evaluate(
            EvaluationOrder(skill=skill, case_file=case_file, repeats=runs, baseline=not no_baseline),
            settings=settings,
            progress=progress,
            confirm=confirm,
        )
    if as_json:
        click.echo(json.dumps(evaluation_json(evaluation), indent=2, ensure_ascii=False))
    else:
        from upskill.reporting.terminal import show_evaluation

        out = console(no_color=no_color)
        show_evaluation(evaluation, out)
        if verbose:
            from upskill.reporting.cases import show_cases
            from upskill.workflows.list_runs import trials_of

            show_cases(trials_of(Path(evaluation.run)), out)
    if evaluation.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if any(report.verdict == "invalid" for report in evaluation.students) else 0
