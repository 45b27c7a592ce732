"""Run folders of evaluations made by hand: a record, its answers, and the result that follows from them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from made_runs import record
from upskill.core.cases.files import read_skill_cases
from upskill.core.nouns import Arm, Case, CheckResult, Grade, Purchase, RunEnd, Scored, Student, Trial
from upskill.core.runs.records import CaseReference
from upskill.core.runs.run_folders import run_folder_at
from upskill.core.skills.skills import read_skill
from upskill.evaluation.conclude import by_student, summarise
from upskill.evaluation.replay import recorded_plan, replay_trials
from upskill.report.json_report import evaluation_json

HAIKU = Student(name="haiku", model="anthropic/claude-haiku", max_output_tokens=2048)


def measured_run(
    runs_dir: Path,
    name: str,
    skill: Path,
    *,
    passed: Sequence[bool],
    passed_without: Sequence[bool],
    cases: Sequence[Case] | None = None,
    student: Student = HAIKU,
    at: str = "2026-11-15T12:00:00+00:00",
    arms: tuple[Arm, ...] = ("baseline", "with_skill"),
    **changes: Any,
) -> Path:
    """A finished run of one student, one repeat of each case. By default the cases are those beside the skill."""
    run = run_folder_at(runs_dir / name)
    if cases is None:
        file = read_skill_cases(skill, check_problems=lambda _: [])
        cases = () if file is None else file.cases
    grades = {arms[0]: passed_without, **dict.fromkeys(arms[1:], passed)}
    trials = [
        _trial(student, case, arm, grade=grades[arm][number], at=at)
        for number, case in enumerate(cases)
        for arm in arms
    ]
    with run.trials.open() as log:
        for trial in trials:
            log.append(trial)
    fields = {
        "status": "finished",
        "started_at": at,
        "finished_at": at,
        "skill_name": skill.name,
        "skill_digest": read_skill(skill).digest,
        "skill_source": f"../../{skill.name}",
        "case_source": f"../../{skill.name}/skill_meta.json",
        "cases": tuple(
            CaseReference(id=case.id, digest=case.digest, prompt_digest=case.prompt_digest) for case in cases
        ),
        "students": (student,),
        "arms": arms,
        "repeats": 1,
        "end": RunEnd(),
        "harness": "chat/2",
    }
    planned = record(**fields | changes)
    plan = recorded_plan(planned, tuple(cases))
    evaluation = summarise(
        plan,
        trials,
        skill=read_skill(skill),
        run=name,
        schedules={student.name: replay_trials(plan, by_student(trials)[student.name])},
        cut_short=lambda _: None,
        min_lift=None,
        bought=Purchase(calls=len(trials), failed_calls=0, tokens=0, cost=None),
        notes=(),
        end=RunEnd(),
    )
    run.write_record(replace(planned, results=evaluation_json(evaluation)))
    return run.path


def _trial(student: Student, case: Case, arm: Arm, *, grade: bool, at: str) -> Trial:
    seen = CheckResult(kind="contains", passed=grade, saw="")
    return Trial(
        id=f"{case.id}-{arm}",
        student=student.name,
        case_id=case.id,
        arm=arm,
        repeat=0,
        outcome=Scored(end="answered", grade=Grade(results=(seen,))),
        answer=f"{case.id} {arm}",
        calls=1,
        finished_at=at,
    )
