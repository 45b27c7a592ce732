"""`upskill eval`: parse flags, call the workflow, print the result."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import (
    ask_to_spend,
    named,
    print_json,
    print_lines,
    refuse_what_resume_ignores,
    write_file,
)
from upskill.cli.result_output import show_result
from upskill.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from upskill.domain import Evaluation
    from upskill.domain.evaluation import Required
    from upskill.reporting.formats import Format
    from upskill.sandbox import Backend
    from upskill.workflows.evaluating.prepare import PreparedEvaluation
    from upskill.workflows.evaluating.spending import PricedPlan
    from upskill.workflows.progress import RunProgress


_HEEDED = frozenset(
    {"resume", "require", "as_json", "verbose", "quiet", "no_color", "yes"}
    | {
        "skill",
        "case_file",
        "compare",
        "among",
        "sandbox",
        "accept_findings",
        "agent_bin",
        "models",
        "base_url",
        "judge",
        "ledger",
        "concurrency",
        "max_turns",
    }
    | {"max_cost", "max_calls", "max_total_tokens", "max_time_minutes", "test_gen_base_url"}
)
"""What may be typed beside --resume; the rest is as when the run began."""


class _Runs(click.ParamType[int | None]):
    """A number of runs, or `auto`."""

    name = "runs"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value is None or value == "auto":
            return None
        try:
            return int(str(value))
        except ValueError:
            self.fail(f"{value!r} must be a number or auto", param, ctx)


@click.command("eval")
@click.argument("skill", type=click.Path(path_type=Path), required=False)
@options.students("A model to measure; may be repeated.")
@options.BASE_URL
@click.option("--judge", metavar="MODEL", help="The model that grades checks written in prose.  [default: none]")
@click.option(
    "--judge-is-student",
    is_flag=True,
    callback=lambda *given: given[-1] or None,
    help="Allow a measured model to judge its own answers.",
)
@options.CASE_FILE
@click.option(
    "--test-gen-model",
    metavar="MODEL",
    help="The model that writes cases if the skill has none.  [default: the strongest with a key]",
)
@click.option("--test-gen-base-url", metavar="URL", help="An OpenAI-compatible server for --test-gen-model.")
@click.option(
    "--runs",
    type=_Runs(),
    metavar="N|auto",
    help="Repeats of each case, with and without the skill; auto stops when the result is clear.  [default: auto]",
)
@click.option("--no-baseline", is_flag=True, help="Measure only with the skill; there is no lift then.")
@click.option(
    "--ceiling", is_flag=True, help="Also measure without the skill but with the passage that each case names."
)
@click.option("--compare", metavar="previous:PATH", help="Compare with an older version of the skill.")
@click.option(
    "--min-lift",
    type=float,
    metavar="X",
    help="Run until a lift of at least X (0.1 is 10 points) is shown or excluded; exit with 1 unless it is shown.",
)
@options.REQUIRE
@options.RESUME
@options.harness(auto="tools if a case needs them")
@options.among(f"Other skills beside this one, in every arm: {options.OTHER_SKILLS}")
@options.AGENT_BIN
@options.SANDBOX
@options.ACCEPT_FINDINGS
@options.MAX_TURNS
@options.max_cost("Stop at this cost.  [default: 5]")
@options.MAX_CALLS
@options.MAX_TOTAL_TOKENS
@options.MAX_TIME
@options.dry_run("Show the calls, the price and the lift that can be detected; call no model.")
@options.fresh("Ask every model again instead of using cached answers; adds a look.")
@options.LEDGER
@options.concurrency(per="model")
@options.temperature("Sampling temperature.")
@options.max_output_tokens("Token limit of an answer.")
@options.runs_dir()
@options.JSON
@options.formats("eval")
@options.VERBOSE
@options.SENTENCE_ONLY
@options.YES
@options.NO_COLOR
def command(
    skill: Path | None,
    case_file: Path | None,
    test_gen_model: str | None,
    test_gen_base_url: str | None,
    runs: int | None,
    no_baseline: bool,
    ceiling: bool,
    compare: str | None,
    min_lift: float | None,
    require: "Required | None",
    resume: Path | None,
    among: tuple[str, ...],
    agent_bin: Path | None,
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
    """Measure each MODEL with and without SKILL, a folder with a SKILL.md.

    The lift is the pass rate with the skill minus the pass rate without it, in points.

    Exit codes: 0 done; 1 a requirement was not met; 2 wrong usage; 3 failed, or no verdict; 130 interrupted (143 by
    SIGTERM, 129 by SIGHUP).
    """
    from upskill.cli.progress import TrialProgress
    from upskill.domain.other_skills import read_among
    from upskill.workflows.evaluate_skill import evaluate
    from upskill.workflows.evaluating.prepare import EvaluationOrder, prepare
    from upskill.workflows.evaluating.resume import resume as resume_run
    from upskill.workflows.evaluating.typed_again import TypedAgain
    from upskill.workflows.progress import SILENT_RUN

    files = options.asked_formats("eval", settings)
    settings |= {"test_gen_model": test_gen_model, "teacher_base_url": test_gen_base_url}
    if test_gen_base_url:
        settings["teacher"] = test_gen_model
    with nullcontext(SILENT_RUN) if quiet else TrialProgress(no_color=no_color) as progress:
        if resume is not None:
            refuse_what_resume_ignores(_HEEDED | {format.name for format, _ in files})
            typed = TypedAgain(
                settings=options.resolved(settings),
                sandbox=sandbox,
                accept_findings=accept_findings,
                agent_bin=agent_bin,
                skill=skill,
                case_file=case_file,
                previous=_previous(compare),
                among=read_among(among),
            )
            evaluation = resume_run(resume, typed=typed, progress=progress)
        elif require is not None and no_baseline and compare is None:
            raise UsageError(f"--require {require} needs answers without the skill", hint="remove --no-baseline")
        elif skill is None:
            raise UsageError("no skill was named", hint="name the folder of a skill, or resume a run with --resume RUN")
        else:
            order = EvaluationOrder(
                skill=skill,
                case_file=case_file,
                repeats=runs,
                baseline=not no_baseline,
                ceiling="beside" if ceiling else None,
                min_lift=min_lift,
                previous=_previous(compare),
                fresh=settings["store"] is False,
                sandbox=sandbox,
                accept_findings=accept_findings,
                among=read_among(among),
                agent_bin=agent_bin,
            )
            chosen = options.resolved(settings)
            if dry_run:
                announce = partial(print_lines, err=True)
                _show_plan(prepare(order, chosen.values, announce=announce, needs_keys=False), as_json=as_json)
                return EXIT_DONE
            evaluation = evaluate(
                order,
                settings=chosen,
                progress=progress,
                confirm=lambda estimate: yes or _agrees(estimate, progress),
            )
    evaluation = replace(evaluation, required=require)
    _write_files(evaluation, files)
    if as_json:
        from upskill.reporting import evaluation_json

        print_json(evaluation_json(evaluation))
    else:
        said = progress.rows_noted if isinstance(progress, TrialProgress) else 0
        show_result(
            evaluation,
            skill=skill,
            case_file=case_file,
            rows_noted=said,
            quiet=quiet,
            verbose=verbose,
            no_color=no_color,
        )
    return evaluation.exit_code()


def _agrees(estimate: "PricedPlan", progress: "RunProgress") -> bool:
    """Whether the person agrees to the price, who is shown the whole plan first."""
    from upskill.cli.progress import TrialProgress

    if isinstance(progress, TrialProgress):
        progress.show_plan()
    return ask_to_spend(estimate)


def _previous(compare: str | None) -> Path | None:
    if compare is None:
        return None
    word, _, path = compare.partition(":")
    if word != "previous" or not path:
        raise UsageError(f"--compare {compare}: is not understood", hint="write --compare previous:PATH")
    return Path(path)


def _show_plan(prepared: "PreparedEvaluation", *, as_json: bool) -> None:
    from upskill.domain import harness_info

    estimate = prepared.estimate
    if as_json:
        from upskill.reporting.json_report import others_json

        plan = {
            "schema": "upskill.plan/1",
            "skill": prepared.skill.name,
            "students": [student.name for student in prepared.plan.students],
            "harness": prepared.plan.harness,
            "arms": list(prepared.plan.arms),
            "sandbox": None if prepared.sandbox is None else prepared.sandbox.backend,
            "others": others_json(prepared.others),
            "cases": len(prepared.plan.cases),
            "repeats": prepared.plan.repeats,
            "design": prepared.plan.design,
            **estimate.as_json(),
            "price_unknown_for": list(estimate.unknown),
            "detectable": estimate.detectable,
            "missing_keys": list(prepared.missing_keys),
        }
        print_json(plan)
        return
    for student in prepared.plan.students:
        print_lines(f"{prepared.skill.name} on {named(student)}")
    if (harness := harness_info(prepared.plan.harness)).with_tools:
        print_lines(f"models have tools; {', '.join(map(harness.arm_name, prepared.plan.arms))}")
    if prepared.others is not None:
        print_lines(prepared.others.words)
    print_lines(*prepared.lines, *prepared.note_lines)


def _write_files(evaluation: "Evaluation", files: "list[tuple[Format, object]]") -> None:
    """The reports that were asked for, each from the stored trials."""
    from upskill.reporting.formats import Result
    from upskill.workflows.list_runs import trials_of

    for format, path in files:
        write_file(str(path), format.render(Result(evaluation=evaluation, trials=trials_of(Path(evaluation.run)))))
