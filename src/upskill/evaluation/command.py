"""`upskill eval`: parse flags, call the workflow, print the result."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.errors import EXIT_DONE, UsageError
from upskill.evaluation.output import glance_here, show_plan, show_result
from upskill.terminal import options
from upskill.terminal.output import (
    print_json,
    print_lines,
    refuse_what_is_ignored,
)

if TYPE_CHECKING:
    from upskill.core.nouns import Evaluation
    from upskill.core.nouns.evaluation import ComparedSkills, Required
    from upskill.sandbox import Backend


_HEEDED = frozenset(
    {"resume", "require", "as_json", "files", "verbose", "yes"}
    | {
        "skills",
        "case_files",
        "compare",
        "among",
        "sandbox",
        "accept_findings",
        "accept_changed_cases",
        "models",
        "base_url",
        "judge",
        "concurrency",
    }
    | {"max_cost", "max_calls"}
)
"""What may be typed beside --resume; the rest is as when the run began."""
_HEEDED_TOGETHER = frozenset(
    {"together", "skills", "models", "base_url", "judge", "runs", "harness", "sandbox", "accept_findings"}
    | {"max_cost", "max_calls", "concurrency", "store", "dry_run", "as_json", "yes"}
)


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


@click.command("eval", cls=options.Grouped)
@click.argument("skills", metavar="SKILL...", nargs=-1, type=options.SkillPath())
@options.students("A model to measure; may be repeated.")
@options.BASE_URL
@click.option("--judge", metavar="MODEL", help="The model that grades checks written in prose.")
@click.option(
    *("-t", "--tests", "case_files"),
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A file of cases; may be repeated.",
)
@click.option(
    "--runs",
    type=_Runs(),
    metavar="N|auto",
    help="Repeats of each case; auto: one, and more if that does not decide.  [default: auto]",
)
@click.option("--practice", is_flag=True, help="Practice cases, with the skill; claims nothing.")
@click.option("--together", is_flag=True, help="2 to 6 skills: what each changes in others.")
@click.option("--controls", is_flag=True, help="Also with a placebo, and with the skill corrupted.")
@click.option("--no-baseline", is_flag=True, help="Measure only with the skill; there is no lift then.")
@click.option(
    "--compare",
    metavar="VERSION",
    help="Compare with an older one: git:REF, previous:PATH.",
)
@click.option(
    "--accept-changed-cases",
    is_flag=True,
    help="With --compare git:REF: use changed cases as they are now; else as in REF, and no --require is met.",
)
@click.option(
    "--min-lift",
    type=float,
    metavar="X",
    help="Exit with 1 unless a lift of at least X (0.1: 10 points) is shown.",
)
@options.REQUIRE
@options.RESUME
@options.harness(auto="tools if a case needs them")
@options.among(f"Other skills in every arm: {options.OTHER_SKILLS}")
@options.SANDBOX
@options.ACCEPT_FINDINGS
@options.max_cost("Stop at this cost.  [default: 5]")
@options.MAX_CALLS
@options.dry_run("Show calls, price and detectable lift; call no model.")
@options.fresh("Use no cached answers; adds a look.")
@options.concurrency(per="model")
@options.JSON
@options.WRITE
@options.VERBOSE
@options.YES
def command(
    skills: tuple[Path, ...],
    case_files: tuple[Path, ...],
    runs: int | None,
    practice: bool,
    together: bool,
    controls: bool,
    no_baseline: bool,
    compare: str | None,
    min_lift: float | None,
    require: "Required | None",
    resume: Path | None,
    among: tuple[str, ...],
    sandbox: "Backend",
    accept_findings: bool,
    accept_changed_cases: bool,
    dry_run: bool,
    as_json: bool,
    files: tuple[Path, ...],
    verbose: bool,
    yes: bool,
    **settings: object,
) -> int:
    """Measure each MODEL with and without SKILL, a folder with a SKILL.md. Several skills, or a folder of skills, are
    measured under the same caps. The lift is the pass rate with the skill minus the pass rate without it, in points.
    See `upskill settings` for `temperature` and `max_output_tokens` (length).

    Exit codes: 0 done; 1 a requirement was not met; 2 wrong usage; 3 failed, or no verdict; 130 interrupted (143 by
    SIGTERM, 129 by SIGHUP).
    """
    from upskill.evaluation.offers import MEASURE_TOGETHER, PLAN_MISSING_CASES

    if together:
        refuse_what_is_ignored(_HEEDED_TOGETHER, why="--together measures each skill on its own cases, with the others")
        return MEASURE_TOGETHER.load()(
            skills,
            settings,
            repeats=runs,
            sandbox=sandbox,
            accept_findings=accept_findings,
            dry_run=dry_run,
            as_json=as_json,
            yes=yes,
        )
    from upskill.core.nouns.skill import read_among
    from upskill.evaluation.cases import has_cases
    from upskill.evaluation.evaluate import evaluate
    from upskill.evaluation.order import EvaluationOrder, opened_previous, read_compare
    from upskill.evaluation.output import agrees, refuse_for_several, run_several, show_several, write_formats
    from upskill.evaluation.prepare import prepare
    from upskill.evaluation.resume import TypedAgain
    from upskill.evaluation.resume import resume as resume_run
    from upskill.evaluation.several import is_several
    from upskill.report.formats import one_skill
    from upskill.terminal.progress import TrialProgress

    older = read_compare(compare)
    skill = skills[0] if skills else None
    case_file = case_files[0] if case_files else None
    if practice:
        _require_practice(skills, refused={"--require": require, "--compare": compare})
    written = options.written_formats(files)
    evaluation: Evaluation | None = None
    compared: ComparedSkills | None = None
    with TrialProgress() as progress:
        if resume is not None:
            refuse_what_is_ignored(_HEEDED, why="--resume uses the settings of the run")
            if len(skills) > 1:
                raise UsageError("--resume is about one run, and several skills were named", hint="name one, or none")
            today = options.resolved(settings)
            program = today.values.agent_bin
            typed = TypedAgain(
                settings=today,
                sandbox=sandbox,
                accept_findings=accept_findings,
                accept_changed_cases=accept_changed_cases,
                agent_bin=None if program is None else Path(program).expanduser(),
                skill=skill,
                case_file=options.only_one("--tests", case_files, by="eval --resume"),
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
            chosen = options.resolved(settings)
            order = EvaluationOrder(
                skill=skill,
                case_file=case_file,
                more_case_files=case_files[1:],
                repeats=1 if practice and runs is None else runs,
                practice=practice,
                baseline=not (no_baseline or practice),
                ceiling="beside" if chosen.values.ceiling else None,
                controls=controls,
                min_lift=min_lift,
                required=require,
                previous=older.folder,
                previous_revision=older.revision,
                fresh=settings["store"] is False,
                sandbox=sandbox,
                accept_findings=accept_findings,
                accept_changed_cases=accept_changed_cases,
                among=read_among(among),
                agent_bin=options.agent_program(chosen.values),
                yes=yes,
            )
            # A comment is about a change, in which a skill may also be new or unchanged; one skill by itself may not.
            of_a_change = older.revision is not None and any(format.suffix == ".md" for format, _ in written)
            if is_several(skills) or of_a_change:
                refuse_for_several(case_file, older.folder)
                compared = run_several(
                    skills, order, settings=chosen, progress=progress, dry_run=dry_run, as_json=as_json, yes=yes
                )
            elif dry_run and case_file is None and not has_cases(skill):
                PLAN_MISSING_CASES.load()(skill, chosen, as_json=as_json)
            elif dry_run:
                announce = partial(print_lines, err=True)
                with opened_previous(order) as opened:
                    planned = prepare(
                        opened, chosen.values, unchosen=chosen.unchosen, announce=announce, needs_keys=False
                    )
                show_plan(planned, as_json=as_json)
            else:
                evaluation = evaluate(
                    order,
                    settings=chosen,
                    progress=progress,
                    confirm=lambda estimate: yes or agrees(estimate, progress),
                )
    if compared is not None:
        return show_several(compared, require, files=written, as_json=as_json, verbose=verbose)
    if evaluation is None:  # the plan was shown
        return EXIT_DONE
    evaluation = replace(evaluation, required=require)
    kept = None if len(case_files) > 1 else case_file  # several were merged into a file of the run
    write_formats(one_skill(evaluation), written)
    if as_json:
        from upskill.report.json_report import evaluation_json

        step = glance_here(evaluation, skill=skill, case_file=kept).next_step
        print_json({**evaluation_json(evaluation), "next": None if step is None else step.as_json()})
    else:
        show_result(
            evaluation,
            skill=skill,
            case_file=kept,
            rows_noted=progress.rows_noted,
            verbose=verbose,
        )
        if practice:
            from upskill.evaluation.practice import practised

            runs_dir = Path(evaluation.run).parent
            for one in practised(evaluation, Path(evaluation.run), runs_dir=runs_dir):
                print_lines(*one.lines())
    return evaluation.exit_code()


def _require_practice(skills: Sequence[Path], *, refused: Mapping[str, object]) -> None:
    """Refuse what practice is not about."""
    if len(skills) != 1:
        raise UsageError("practice is about one skill", hint="name one skill")
    for flag, value in refused.items():
        if value is not None:
            raise UsageError(f"{flag} needs a proof, and practice claims nothing", hint=f"remove {flag} or --practice")
