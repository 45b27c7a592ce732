"""`upskill eval` of several skills: one price to agree to, one table, one exit code."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.errors import UsageError
from upskill.evaluation.output import plan_lines, show_plans, show_result
from upskill.terminal.output import ask_to_spend, console, print_json, print_lines, write_file

if TYPE_CHECKING:
    from upskill.core.nouns.evaluation import ComparedSkills, Required
    from upskill.core.nouns.progress import PricedPlan
    from upskill.core.progress_words import RunProgress
    from upskill.core.settings import ResolvedSettings
    from upskill.evaluation.evaluate_skill import EvaluationOrder
    from upskill.evaluation.several import PlannedSkills
    from upskill.report.formats import Format


def refuse_for_several(case_file: Path | None, previous: Path | None, files: "Sequence[tuple[Format, Path]]") -> None:
    """Refuse what is about one skill. Raises `UsageError`."""
    if case_file is not None:
        raise UsageError("--tests is about one skill, and several were named", hint="evaluate them one by one")
    if previous is not None:
        raise UsageError(
            "--compare previous:PATH is about one skill, and several were named", hint="write --compare git:REF"
        )
    for format, _ in files:
        if format.render_all is None:
            raise UsageError(
                f"{format.name} is about one skill, and several were named", hint="evaluate them one by one"
            )


def run_several(
    paths: Sequence[Path],
    order: "EvaluationOrder",
    *,
    settings: "ResolvedSettings",
    progress: "RunProgress",
    dry_run: bool,
    as_json: bool,
    yes: bool,
) -> "ComparedSkills | None":
    """Plan all skills and evaluate them; with `dry_run`, print the plan and return `None`."""
    from upskill.evaluation.several import evaluate_skills, find_targets, plan_skills

    planned = plan_skills(
        find_targets(paths), order, settings=settings.values, progress=progress, needs_keys=not dry_run
    )
    _clear(progress)
    if dry_run:
        show_plans(planned, as_json=as_json)
        return None
    return evaluate_skills(
        planned,
        settings=settings,
        progress=progress,
        confirm=lambda estimate: yes or _agrees(planned, estimate, progress),
    )


def _clear(progress: "RunProgress") -> None:
    """Take away what is drawn while skills are checked, so that a person can read and be asked."""
    from upskill.terminal.progress import TrialProgress

    if isinstance(progress, TrialProgress):
        progress.show(None)


def _agrees(planned: "PlannedSkills", estimate: "PricedPlan", progress: "RunProgress") -> bool:
    """Whether the person agrees to the price of all, who is shown that of each first."""
    for line in plan_lines(planned):
        progress.note(line)
    return ask_to_spend(estimate)


def show_several(
    found: "ComparedSkills",
    required: "Required | None",
    *,
    files: "Sequence[tuple[Format, Path]]",
    as_json: bool,
    verbose: bool,
) -> int:
    """Write the files that were asked for, print the result, and give the exit code."""
    from upskill.core.runs.own_runs import resume_command
    from upskill.evaluation.compared_skills_table import compared_json, show_compared
    from upskill.evaluation.past_runs import trials_of
    from upskill.report.formats import Results

    found = found.requiring(required)
    results = Results(skills=found.skills, trials_of=lambda evaluation: trials_of(Path(evaluation.run)))
    for format, path in files:
        if format.render_all is not None:
            write_file(str(path), format.render_all(results))
    if as_json:
        print_json(compared_json(found))
        return found.exit_code()
    if verbose:
        for one in found.skills:
            if one.evaluation is not None:
                print_lines(f"{one.folder}:")
                show_result(one.evaluation, skill=Path(one.folder), alone=False, verbose=True)
    show_compared(found, console(), every_note=verbose)
    for one in found.skills:
        if one.evaluation is not None and one.evaluation.interrupted:
            command = resume_command(Path(one.evaluation.run))
            print_lines(f"next, resume {one.name}: {command}", err=True, wrap=False)
    return found.exit_code()
