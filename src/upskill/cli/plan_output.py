"""How `eval --dry-run` prints what an evaluation would take, of one skill or of several."""

from typing import TYPE_CHECKING

from upskill.cli.output import named, print_json, print_lines

if TYPE_CHECKING:
    from upskill.domain.case import Json
    from upskill.workflows.evaluate_skills import PlannedSkill, PlannedSkills
    from upskill.workflows.evaluating.prepare import PreparedEvaluation


def show_plan(prepared: "PreparedEvaluation", *, as_json: bool) -> None:
    """Print the plan of one skill."""
    from upskill.domain import harness_info

    if as_json:
        print_json(_plan_json(prepared))
        return
    for student in prepared.plan.students:
        print_lines(f"{prepared.skill.name} on {named(student)}")
    if (harness := harness_info(prepared.plan.harness)).with_tools:
        print_lines(f"models have tools; {', '.join(map(harness.arm_name, prepared.plan.arms))}")
    if prepared.others is not None:
        print_lines(prepared.others.words)
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
    from upskill.reporting.compared_skills import by_skill

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
    from upskill.reporting.compared_skills import unmeasured_words

    if one.prepared is None:
        return unmeasured_words(one.skill)
    new = "new; " if one.skill.is_new else ""
    return f"{new}{'recorded verdict, nothing is asked' if one.recorded else one.estimate.words}"


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
    from upskill.reporting.json_report import others_json

    estimate = prepared.estimate
    return {
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
