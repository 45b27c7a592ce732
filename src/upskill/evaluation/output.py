"""How `eval` and `regrade` print a plan and a result with the next command under it.

Several skills have one price to agree to, one table and one exit code.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.errors import UsageError
from upskill.terminal.output import (
    ask_to_spend,
    console,
    named,
    next_lines,
    print_json,
    print_lines,
    rows_on_stderr,
    write_file,
)

if TYPE_CHECKING:
    from upskill.core.nouns import Evaluation
    from upskill.core.nouns.case import Json
    from upskill.core.nouns.evaluation import ComparedSkill, ComparedSkills, Required
    from upskill.core.progress import PricedPlan, RunProgress
    from upskill.core.settings import ResolvedSettings
    from upskill.evaluation.order import EvaluationOrder
    from upskill.evaluation.prepare import PreparedEvaluation
    from upskill.evaluation.several import PlannedSkill, PlannedSkills
    from upskill.report.formats import Format
    from upskill.report.glance import Glance


def show_plan(prepared: "PreparedEvaluation", *, as_json: bool) -> None:
    """Print the plan of one skill."""
    from upskill.core.nouns import harness_info

    if as_json:
        print_json(_plan_json(prepared))
        return
    for student in prepared.experiment.plan.students:
        print_lines(f"{prepared.experiment.skill.name} on {named(student)}")
    if (harness := harness_info(prepared.experiment.plan.harness)).with_tools:
        print_lines(f"models have tools; {', '.join(map(harness.arm_name, prepared.experiment.plan.arms))}")
    if prepared.experiment.others is not None:
        print_lines(prepared.experiment.others.words)
    print_lines(*prepared.lines, *prepared.note_lines)


def show_plans(planned: "PlannedSkills", *, as_json: bool) -> None:
    """Print the plans of several skills: a line for each, and one for all."""
    if as_json:
        print_json(
            {
                "schema": "upskill.plans/1",
                "compared_with": planned.compared_with,
                **planned.estimate.as_json(),
                "price_unknown_for": list(planned.estimate.unknown),
                "notes": list(planned.notes),
                "skills": [_planned_json(one) for one in planned.skills],
            }
        )
        return
    print_lines(*plan_lines(planned))


def plan_lines(planned: "PlannedSkills") -> list[str]:
    """What each skill takes, what all take, and what is worth knowing of them."""
    from upskill.evaluation.several import by_skill

    lines = [f"{one.skill.name}: {_words(one)}" for one in planned.skills]
    notes = [
        (one.skill.name, note.removeprefix("note: "))
        for one in planned.skills
        if one.prepared is not None
        for note in one.prepared.note_lines
    ]
    total = f"together: {planned.estimate.words}"
    return [*lines, total, *(f"note: {note}" for note in (*planned.notes, *by_skill(notes)))]


def _words(one: "PlannedSkill") -> str:
    from upskill.evaluation.several import unmeasured_words

    if one.prepared is None:
        return unmeasured_words(one.skill)
    new = "new; " if one.skill.is_new else ""
    return f"{new}{'unchanged, nothing is asked' if one.recorded else one.estimate.words}"


def _planned_json(one: "PlannedSkill") -> "Json":
    return {
        "folder": one.skill.folder,
        "name": one.skill.name,
        "state": "planned" if one.prepared is not None else one.skill.state,
        "recorded": one.recorded,
        "new": one.skill.is_new,
        "commit": one.skill.commit,
        "problem": one.skill.problem,
        "hint": one.skill.hint,
        "plan": None if one.prepared is None else _plan_json(one.prepared),
    }


def _plan_json(prepared: "PreparedEvaluation") -> "dict[str, Json]":
    from upskill.report.json_report import others_json

    estimate = prepared.estimate
    return {
        "schema": "upskill.plan/1",
        "skill": prepared.experiment.skill.name,
        "students": [student.name for student in prepared.experiment.plan.students],
        "harness": prepared.experiment.plan.harness,
        "arms": list(prepared.experiment.plan.arms),
        "sandbox": None if prepared.experiment.sandbox is None else prepared.experiment.sandbox.backend,
        "others": others_json(prepared.experiment.others),
        "cases": len(prepared.experiment.plan.cases),
        "repeats": prepared.experiment.plan.repeats,
        "design": prepared.experiment.plan.design,
        **estimate.as_json(),
        "price_unknown_for": list(estimate.unknown),
        "detectable": estimate.detectable,
        "missing_keys": list(prepared.missing_keys),
    }


def show_result(
    evaluation: "Evaluation",
    *,
    skill: Path | None = None,
    case_file: Path | None = None,
    own: bool = True,
    rows_noted: int = 0,
    alone: bool = True,
    verbose: bool = False,
) -> None:
    """Print the result; `verbose` every figure and case as well; the next command only where it stands `alone`.

    `skill` and `case_file` are as they were typed; where they were not, the record of the run has them. `own`: this
    command ran it, so all that its record asks for was typed. `rows_noted` stand on the screen already, and count.
    """
    from upskill.report.terminal import show_evaluation

    shown = glance_here(evaluation, skill=skill, case_file=case_file, own=own)
    after = next_lines(shown.next_step, run=evaluation.run) if alone else []
    out = console()
    taken = rows_noted + rows_on_stderr(after)
    show_evaluation(evaluation, out, shown=shown, taken=taken, every_note=verbose)
    if verbose:
        show_every_case(evaluation, Path(evaluation.run))
    print_lines(*after, err=True, wrap=False)


def glance_here(
    evaluation: "Evaluation", *, skill: Path | None = None, case_file: Path | None = None, own: bool = True
) -> "Glance":
    """The answer with the next command, as for `show_result`."""
    from upskill.core.runs.own_runs import resume_command
    from upskill.evaluation.report import case_file_of, skill_folder_of, typed_for
    from upskill.report.glance import glance

    run = Path(evaluation.run)
    return glance(
        evaluation,
        skill=str(skill) if skill is not None else skill_folder_of(run),
        tests=str(case_file) if case_file is not None else case_file_of(run),
        resume=resume_command(run) if own else None,
        again=typed_for(run),
    )


def show_every_case(evaluation: "Evaluation", run: Path) -> None:
    """Print every figure, and every case with what its assertions saw; `run` is where the trials are."""
    from upskill.evaluation.past_runs import trials_of
    from upskill.evaluation.report import prompts_of
    from upskill.report.cases import show_cases
    from upskill.report.terminal import show_figures

    out = console()
    show_figures(evaluation, out)
    show_cases(trials_of(run), out, harness=evaluation.students[0].harness, prompts=prompts_of(run))


def refuse_for_several(case_file: Path | None, previous: Path | None) -> None:
    """Refuse what is about one skill. Raises `UsageError`."""
    if case_file is not None:
        raise UsageError("--tests is about one skill, and several were named", hint="evaluate them one by one")
    if previous is not None:
        raise UsageError(
            "--compare previous:PATH is about one skill, and several were named", hint="write --compare git:REF"
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

    planned = plan_skills(find_targets(paths), order, settings=settings, progress=progress, needs_keys=not dry_run)
    _clear(progress)
    if dry_run:
        show_plans(planned, as_json=as_json)
        return None
    return evaluate_skills(
        planned,
        progress=progress,
        confirm=lambda estimate: yes or _agrees_to_all(planned, estimate, progress),
    )


def _clear(progress: "RunProgress") -> None:
    """Take away what is drawn while skills are checked, so that a person can read and be asked."""
    from upskill.terminal.progress import TrialProgress

    if isinstance(progress, TrialProgress):
        progress.show(None)


def agrees(estimate: "PricedPlan", progress: "RunProgress") -> bool:
    """Whether the person agrees to the price, who is shown the whole plan first."""
    from upskill.terminal.progress import TrialProgress

    if isinstance(progress, TrialProgress):
        progress.show_plan()
    return ask_to_spend(estimate)


def _agrees_to_all(planned: "PlannedSkills", estimate: "PricedPlan", progress: "RunProgress") -> bool:
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
    from upskill.evaluation.several import compared_json, show_compared

    found = found.requiring(required)
    write_formats(found.skills, files)
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


def write_formats(skills: "Sequence[ComparedSkill]", files: "Sequence[tuple[Format, Path]]") -> None:
    """Write the reports that were asked for, each from the stored trials."""
    from upskill.evaluation.past_runs import trials_of
    from upskill.report.formats import Result

    result = Result(skills=skills, trials_of=lambda evaluation: trials_of(Path(evaluation.run)))
    for format, path in files:
        write_file(str(path), format.render(result))
