"""How `eval` and `regrade` print a result: in few rows, with the next command under them on stderr."""

from pathlib import Path
from typing import TYPE_CHECKING

from upskill.cli.output import console, next_lines, print_lines, rows_on_stderr

if TYPE_CHECKING:
    from upskill.domain import Evaluation


def show_result(
    evaluation: "Evaluation",
    *,
    skill: Path | None = None,
    case_file: Path | None = None,
    own: bool = True,
    rows_noted: int = 0,
    quiet: bool = False,
    verbose: bool = False,
    no_color: bool = False,
) -> None:
    """Print the result; `quiet` its sentence alone, `verbose` every figure and case as well.

    `skill` and `case_file` are as they were typed; where they were not, the record of the run has them. `own`: this
    command ran it, so all that its record asks for was typed. `rows_noted` stand on the screen already, and count.
    """
    from upskill.reporting.glance import glance
    from upskill.reporting.terminal import show_evaluation
    from upskill.workflows.evaluating.report import case_file_of, skill_folder_of
    from upskill.workflows.evaluating.resume import resume_command

    here = evaluation.run_is_here
    resume = resume_command(Path(evaluation.run)) if here and own else None
    folder = str(skill) if skill is not None else skill_folder_of(Path(evaluation.run)) if here else None
    tests = str(case_file) if case_file is not None else case_file_of(Path(evaluation.run)) if here else None
    shown = glance(evaluation, skill=folder, tests=tests, resume=resume)
    if quiet and not verbose:
        print_lines(" ".join(shown.sentences))
        return
    after = next_lines(shown.next_step, run=evaluation.run) if here and not quiet else []
    out = console(no_color=no_color)
    taken = rows_noted + rows_on_stderr(after)
    show_evaluation(evaluation, out, shown=shown, taken=taken, every_note=verbose)
    if verbose:
        show_every_case(evaluation, Path(evaluation.run), no_color=no_color)
    print_lines(*after, err=True, wrap=False)


def show_every_case(evaluation: "Evaluation", run: Path, *, no_color: bool) -> None:
    """Print every figure, and every case with what its assertions saw; `run` is where the trials are."""
    from upskill.reporting.cases import show_cases
    from upskill.reporting.figures import show_figures
    from upskill.workflows.list_runs import trials_of

    out = console(no_color=no_color)
    show_figures(evaluation, out)
    show_cases(trials_of(run), out, harness=evaluation.students[0].harness)
