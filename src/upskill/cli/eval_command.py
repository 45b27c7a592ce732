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
    print_json,
    print_lines,
    refuse_what_resume_ignores,
    write_file,
)
from upskill.cli.plan_output import show_plan
from upskill.cli.result_output import show_result
from upskill.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from upskill.domain import Evaluation
    from upskill.domain.compared_skill import ComparedSkills
    from upskill.domain.evaluation import Required
    from upskill.reporting.formats import Format
    from upskill.sandbox import Backend
    from upskill.workflows.evaluating.spending import PricedPlan
    from upskill.workflows.progress import RunProgress


_HEEDED = frozenset(
    {"resume", "require", "as_json", "verbose", "quiet", "no_color", "yes"}
    | {
        "skills",
        "case_file",
        "compare",
        "among",
        "sandbox",
        "accept_findings",
        "accept_changed_cases",
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
@click.argument("skills", metavar="SKILL...", nargs=-1, type=click.Path(path_type=Path))
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
@click.option(
    "--compare",
    metavar="git:REF|previous:PATH",
    help="Compare with an older version of the skill: as it was in a commit of its repository, or a folder.",
)
@click.option(
    "--accept-changed-cases",
    is_flag=True,
    help="With --compare git:REF: measure the cases as they are now, though REF has others. Without it, cases that REF "
    "has are measured as they are there, and no --require is met while one is changed or removed.",
)
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
    skills: tuple[Path, ...],
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
    accept_changed_cases: bool,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    yes: bool,
    no_color: bool,
    **settings: object,
) -> int:
    """Measure each MODEL with and without SKILL, a folder with a SKILL.md.

    Several skills, or a folder of skills, are measured one after the other under the same caps, and shown in one table.

    The lift is the pass rate with the skill minus the pass rate without it, in points.

    Exit codes: 0 done; 1 a requirement was not met; 2 wrong usage; 3 failed, or no verdict; 130 interrupted (143 by
    SIGTERM, 129 by SIGHUP).
    """
    from upskill.cli.eval_several import refuse_for_several, run_several, show_several
    from upskill.cli.progress import TrialProgress
    from upskill.domain.other_skills import read_among
    from upskill.workflows.evaluate_skill import evaluate
    from upskill.workflows.evaluate_skills import is_several
    from upskill.workflows.evaluating.prepare import EvaluationOrder, prepare
    from upskill.workflows.evaluating.previous_version import opened_previous, read_compare
    from upskill.workflows.evaluating.resume import resume as resume_run
    from upskill.workflows.evaluating.typed_again import TypedAgain
    from upskill.workflows.progress import SILENT_RUN

    older = read_compare(compare)
    skill = skills[0] if skills else None
    files = options.asked_formats("eval", settings)
    evaluation: Evaluation | None = None
    compared: ComparedSkills | None = None
    settings |= {"test_gen_model": test_gen_model, "teacher_base_url": test_gen_base_url}
    if test_gen_base_url:
        settings["teacher"] = test_gen_model
    with nullcontext(SILENT_RUN) if quiet else TrialProgress(no_color=no_color) as progress:
        if resume is not None:
            refuse_what_resume_ignores(_HEEDED | {format.name for format, _ in files})
            if len(skills) > 1:
                raise UsageError("--resume is about one run, and several skills were named", hint="name one, or none")
            typed = TypedAgain(
                settings=options.resolved(settings),
                sandbox=sandbox,
                accept_findings=accept_findings,
                accept_changed_cases=accept_changed_cases,
                agent_bin=agent_bin,
                skill=skill,
                case_file=case_file,
                previous=older.folder,
                previous_revision=older.revision,
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
                previous=older.folder,
                previous_revision=older.revision,
                fresh=settings["store"] is False,
                sandbox=sandbox,
                accept_findings=accept_findings,
                accept_changed_cases=accept_changed_cases,
                among=read_among(among),
                agent_bin=agent_bin,
            )
            chosen = options.resolved(settings)
            # A comment is about a change, in which a skill may also be new or unchanged; one skill by itself may not.
            of_a_change = older.revision is not None and any(format.name == "comment" for format, _ in files)
            if is_several(skills) or of_a_change:
                refuse_for_several(order, files)
                compared = run_several(
                    skills, order, settings=chosen, progress=progress, dry_run=dry_run, as_json=as_json, yes=yes
                )
            elif dry_run:
                announce = partial(print_lines, err=True)
                with opened_previous(order) as opened:
                    planned = prepare(opened, chosen.values, announce=announce, needs_keys=False)
                show_plan(planned, as_json=as_json)
            else:
                evaluation = evaluate(
                    order,
                    settings=chosen,
                    progress=progress,
                    confirm=lambda estimate: yes or _agrees(estimate, progress),
                )
    if compared is not None:
        return show_several(
            compared, require, files=files, as_json=as_json, verbose=verbose, quiet=quiet, no_color=no_color
        )
    if evaluation is None:  # the plan was shown
        return EXIT_DONE
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


def _write_files(evaluation: "Evaluation", files: "list[tuple[Format, object]]") -> None:
    """The reports that were asked for, each from the stored trials."""
    from upskill.reporting.formats import Result
    from upskill.workflows.list_runs import trials_of

    for format, path in files:
        write_file(str(path), format.render(Result(evaluation=evaluation, trials=trials_of(Path(evaluation.run)))))
