"""`upskill eval`: parse flags, call the workflow, print the result."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli.output import NO_COLOR, ask_to_spend, console, refuse_what_resume_ignores, show_next_steps
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN, EngineError, UsageError

if TYPE_CHECKING:
    from upskill.domain import Evaluation
    from upskill.sandbox import Backend
    from upskill.workflows.prepare import Prepared


class _Runs(click.ParamType[int | None]):
    """A number of runs, or `auto`."""

    name = "runs"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value is None or value == "auto":
            return None
        try:
            return int(str(value))
        except ValueError:
            self.fail(f"{value!r} is neither a number nor auto", param, ctx)


@click.command("eval")
@click.argument("skill", type=click.Path(path_type=Path), required=False)
@click.option("-m", "--model", "--m", "models", multiple=True, metavar="MODEL", help="A student; may be repeated.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server, e.g. http://localhost:8080/v1.")
@click.option("--judge", metavar="MODEL", help="The model that decides assertions in prose; off unless named.")
@click.option(
    "-t", "--tests", "case_file", type=click.Path(path_type=Path), metavar="FILE", help="A file of test cases."
)
@click.option(
    "--test-gen-model", metavar="MODEL", help="Who writes cases if there are none.  [default: the strongest here]"
)
@click.option("--test-gen-base-url", metavar="URL", help="An OpenAI-compatible server for whoever writes cases.")
@click.option(
    "--runs",
    type=_Runs(),
    metavar="N|auto",
    help="How often each test case is put, with the skill and without; auto stops when it knows.  [default: auto]",
)
@click.option("--no-baseline", is_flag=True, help="Do not ask without the skill; then nothing is said of lift.")
@click.option("--compare", metavar="previous:PATH", help="Measure against an older version of the skill.")
@click.option("--min-lift", type=float, metavar="X", help="Go on until a lift of X (0.1 is 10 points) is shown or not.")
@click.option("--require", type=click.Choice(["helps"]), help="Exit with 1 unless every student is helped.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Go on with a run that was cut short.")
@click.option(
    "--harness",
    type=click.Choice(["auto", "chat", "agent"]),
    help="How students are asked; agent gives them tools in a sandbox.  [default: auto, tools where needed]",
)
@click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "none"]),
    help="What confines whatever is executed. none runs it on this machine, with your rights.  [default: bubblewrap]",
)
@click.option("--max-turns", type=int, metavar="N", help="The most answers of a student with tools.  [default: 30]")
@click.option("--max-cost", type=float, metavar="DOLLARS", help="Stop when so much is spent.  [default: 5]")
@click.option("--max-calls", type=int, metavar="N", help="Stop after so many requests.")
@click.option("--max-total-tokens", type=int, metavar="N", help="Stop after so many tokens.")
@click.option("--max-time", type=float, metavar="MINUTES", help="Stop after so many minutes.")
@click.option("-n", "--dry-run", is_flag=True, help="Show calls, price and what could be found; call nothing.")
@click.option("--fresh", is_flag=True, help="Buy every answer anew; ignore what is stored.")
@click.option("--concurrency", type=int, metavar="N", help="Calls in flight per student.  [default: 8]")
@click.option("--temperature", type=float, metavar="T", help="Sampling temperature.  [default: the model's own]")
@click.option("--max-output-tokens", type=int, metavar="N", help="The longest answer.  [default: 2048]")
@click.option("--runs-dir", metavar="DIR", help="Where the run folder is made.  [default: runs]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write a JUnit report.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Also write a row per answer.")
@click.option("-v", "--verbose", is_flag=True, help="Show every test case, and what its assertions saw.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@NO_COLOR
def command(
    skill: Path | None,
    models: tuple[str, ...],
    base_url: str | None,
    judge: str | None,
    case_file: Path | None,
    test_gen_model: str | None,
    test_gen_base_url: str | None,
    runs: int | None,
    no_baseline: bool,
    compare: str | None,
    min_lift: float | None,
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
    junit: Path | None,
    csv: Path | None,
    verbose: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
) -> int:
    """Measure SKILL, a folder with a SKILL.md, on each MODEL: with the skill and without it.

    Exit codes: 0 done, 1 what was required was not shown, 2 wrong usage, 3 could not be done or no verdict possible,
    130 interrupted.
    """
    from upskill.cli.progress import TrialProgress
    from upskill.settings import resolve_settings
    from upskill.workflows.evaluate import Silence, evaluate
    from upskill.workflows.evaluate import resume as resume_run
    from upskill.workflows.prepare import EvaluationOrder, prepare

    flags = {
        "models": models,
        "base_url": base_url,
        "judge": judge,
        "test_gen_model": test_gen_model,
        "teacher": test_gen_model if test_gen_base_url else None,
        "teacher_base_url": test_gen_base_url,
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
    with nullcontext(Silence()) if quiet else TrialProgress(no_color=no_color) as progress:
        if resume is not None:
            kept = {"resume", "require", "as_json", "junit", "csv", "verbose", "quiet", "no_color", "yes"}
            refuse_what_resume_ignores(kept)
            evaluation = resume_run(resume, progress=progress)
        elif require is not None and no_baseline and compare is None:
            raise UsageError("--require helps needs the baseline", hint="leave out --no-baseline")
        elif skill is None:
            raise UsageError("which skill? name its folder", hint="or go on with a run: --resume RUN")
        else:
            order = EvaluationOrder(
                skill=skill,
                case_file=case_file,
                repeats=runs,
                baseline=not no_baseline,
                min_lift=min_lift,
                previous=_previous(compare),
                sandbox=sandbox or "bubblewrap",
            )
            settings = resolve_settings(flags)
            if dry_run:
                _show_plan(prepare(order, settings.values), as_json=as_json)
                return EXIT_DONE
            evaluation = evaluate(
                order,
                settings=settings,
                progress=progress,
                confirm=lambda estimate: yes or ask_to_spend(estimate),
            )
    _write_files(evaluation, junit=junit, csv=csv)
    _show(evaluation, as_json=as_json, verbose=verbose, no_color=no_color)
    if not (quiet or as_json):
        show_next_steps(evaluation, skill=skill)
    return _exit_code(evaluation, required=require is not None)


def _previous(compare: str | None) -> Path | None:
    if compare is None:
        return None
    word, _, path = compare.partition(":")
    if word != "previous" or not path:
        raise UsageError(f"--compare {compare}: cannot be understood", hint="write --compare previous:PATH")
    return Path(path)


def _show_plan(prepared: "Prepared", *, as_json: bool) -> None:
    estimate = prepared.estimate
    if as_json:
        plan = {
            "schema": "upskill.plan/1",
            "skill": prepared.skill.name,
            "students": [student.name for student in prepared.plan.students],
            "harness": prepared.plan.harness,
            "arms": list(prepared.plan.arms),
            "sandbox": None if prepared.sandbox is None else prepared.sandbox.backend,
            "cases": len(prepared.plan.cases),
            "repeats": prepared.plan.repeats,
            "design": prepared.plan.design,
            "calls": {"expected": estimate.calls_expected, "at_most": estimate.calls_at_most},
            "price": {"expected": estimate.price_expected, "at_most": estimate.price_at_most},
            "minutes": {"expected": estimate.minutes_expected, "at_most": estimate.minutes_at_most},
            "price_unknown_for": list(estimate.unknown),
            "detectable": estimate.detectable,
        }
        click.echo(json.dumps(plan, indent=2, ensure_ascii=False))
        return
    for student in prepared.plan.students:
        click.echo(f"{prepared.skill.name} on {student.name}, {student.model}")
    if prepared.plan.harness == "agent":
        from upskill.reporting.arms import arm_name

        click.echo(f"students work with tools; {', '.join(arm_name(arm, 'agent') for arm in prepared.plan.arms)}")
    click.echo(f"{estimate.calls}; price {estimate.price}; {estimate.minutes}")
    click.echo(estimate.detectable)
    for note in prepared.notes:
        click.echo(f"note: {note}")


def _show(evaluation: "Evaluation", *, as_json: bool, verbose: bool, no_color: bool) -> None:
    if as_json:
        from upskill.reporting import evaluation_json

        click.echo(json.dumps(evaluation_json(evaluation), indent=2, ensure_ascii=False))
        return
    from upskill.reporting.terminal import show_evaluation

    out = console(no_color=no_color)
    show_evaluation(evaluation, out)
    if verbose:
        from upskill.reporting.cases import show_cases
        from upskill.workflows.list_runs import trials_of

        show_cases(trials_of(Path(evaluation.run)), out)


def _write_files(evaluation: "Evaluation", *, junit: Path | None, csv: Path | None) -> None:
    """The reports that were asked for, each from the stored trials."""
    from upskill.reporting import csv_report, junit_report
    from upskill.workflows.list_runs import trials_of

    for path, report in ((junit, junit_report), (csv, csv_report)):
        if path is not None:
            text = report(evaluation, trials_of(Path(evaluation.run)))
            try:
                path.write_text(text, encoding="utf-8", newline="")
            except OSError as error:
                raise EngineError(f"{path}: cannot be written ({error.strerror})") from None


def _exit_code(evaluation: "Evaluation", *, required: bool) -> int:
    """The tool's own trouble goes before what the skill did not show."""
    reports = evaluation.students
    if evaluation.interrupted:
        return EXIT_INTERRUPTED
    if any(report.verdict == "invalid" for report in reports):
        return EXIT_FAILED
    if required and any(report.verdict != "helps" for report in reports):
        return EXIT_NOT_SHOWN
    if evaluation.min_lift is not None and not all(report.clears for report in reports):
        return EXIT_NOT_SHOWN
    return EXIT_DONE
