"""Sweeps made by hand, for tests: a folder with a plan and results whose verdicts come from the real statistics."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from report.unit.evaluations import arm, evaluation, report
from upskill.core.nouns import Arm, Skill
from upskill.core.nouns.text import digest_of
from upskill.core.statistics import Pair, Pairing, judge
from upskill.report.json_report import evaluation_json
from upskill.sweep.files import SweepFolder, result_name, value_text
from upskill.sweep.values import (
    AttemptBegun,
    AttemptEnd,
    JobSpending,
    PlannedJob,
    PlannedStudent,
    Row,
    SweepPlan,
    SweepResult,
)

Rates = tuple[float, float]
"""How often answers pass without and with the skill."""
CASES = 10
REPEATS = 3
ATTEMPT = "20261116T120000-0123abcd"


def made_job(skill: str, students: Sequence[str] = ("small", "large"), **changes: Any) -> PlannedJob:
    """A job as a plan has it."""
    values: dict[str, Any] = {
        "id": digest_of([skill, list(students)])[:32],
        "skill": skill,
        "name": skill.rstrip("/").rpartition("/")[2],
        "version": digest_of(skill),
        "input": digest_of([skill]),
        "cases": CASES,
        "students": tuple(students),
        "calls_expected": 60,
        "calls_at_most": 120,
        "cost_expected": 0.1,
        "cost_at_most": 0.2,
    }
    return PlannedJob(**(values | changes))


def made_rows(
    students: Mapping[str, Rates],
    *,
    seed: int = 0,
    cases: int = CASES,
    repeats: int = REPEATS,
    families: Mapping[str, str] | None = None,
) -> list[Row]:
    """Answers of a design of fixed size, each once."""
    rng = random.Random(seed)
    return [
        Row(
            student=student,
            case=f"case-{case}",
            arm=name,
            repeat=repeat,
            passed=rng.random() < rate,
            calls=1,
            cost=0.001,
            family=(families or {}).get(f"case-{case}"),
        )
        for student, rates in students.items()
        for repeat in range(repeats)
        for case in range(cases)
        for name, rate in zip(("baseline", "with_skill"), rates, strict=True)
    ]


def made_result(job: PlannedJob, rows: Sequence[Row], *, cost: Mapping[str, float] | None = None) -> SweepResult:
    """The result that these answers give."""
    reports = []
    for student in job.students:
        mine = {(row.case, row.repeat, row.arm): row for row in rows if row.student == student}
        keys = sorted({(case, repeat) for case, repeat, _ in mine})
        pairs = tuple(
            Pair(
                case_id=case,
                repeat=repeat,
                passed=mine[case, repeat, "with_skill"].passed,
                passed_against=mine[case, repeat, "baseline"].passed,
                family=mine[case, repeat, "baseline"].family,
            )
            for case, repeat in keys
        )
        judged = judge(Pairing(arm="with_skill", against="baseline", pairs=pairs))
        arms = []
        names: tuple[Arm, Arm] = ("baseline", "with_skill")
        for name in names:
            passed = sum(row.passed for row in mine.values() if row.arm == name)
            arms.append(_priced(arm(name, passed=passed, trials=len(keys)), (cost or {}).get(student)))
        reports.append(
            report(
                student,
                verdict=judged.verdict,
                sentence=judged.sentence,
                arms=tuple(arms),
                lifts=() if judged.lift is None else (judged.lift,),
            )
        )
    skill = Skill(name=job.name, description="d", body="b", digest=job.version)
    found = evaluation(*reports, skill=skill, cases=job.cases, repeats=REPEATS, planned=len(rows))
    spending = JobSpending(calls=len(rows), tokens=100 * len(rows), cost=0.001 * len(rows))
    return SweepResult(
        id=job.id,
        skill=job.skill,
        name=job.name,
        version=job.version,
        students=job.students,
        attempt="attempt",
        evaluation=evaluation_json(found),
        rows=tuple(rows),
        spending=spending,
        charged=spending,
        confirms=job.confirms,
        finished_at="2026-11-16T12:00:00+00:00",
    )


def _priced(summary: Any, cost: float | None) -> Any:
    from dataclasses import replace

    return replace(summary, cost=cost)


class MadeSweep:
    """A sweep in a folder, made step by step."""

    def __init__(self, folder: Path, *, students: Sequence[str] = ("small", "large"), **changes: Any) -> None:
        self.path = folder
        self.folder = SweepFolder(str(folder))
        found = tuple(PlannedStudent(name=name, model=f"org/{name}", priced=True) for name in students)
        self.plan = SweepPlan(groups=(tuple(students),), students=found, **changes)
        self.jobs: list[PlannedJob] = []
        self.students = tuple(students)

    def made(self, skill: str, **changes: Any) -> PlannedJob:
        """A job of this sweep that is in no plan yet."""
        return made_job(skill, self.students, **changes)

    def job(self, skill: str, **changes: Any) -> PlannedJob:
        """One more job of the plan, which is written again."""
        job = self.made(skill, **changes)
        self.jobs.append(job)
        self.folder.write_plan(self.plan, self.jobs, [])
        return job

    def measured(self, job: PlannedJob, rates: Mapping[str, Rates], *, seed: int = 0, **changes: Any) -> SweepResult:
        """Keep the result of a job whose answers pass so often."""
        return self.keep(made_result(job, made_rows(rates, seed=seed), **changes))

    def confirmed(self, job: PlannedJob, rates: Mapping[str, Rates], *, seed: int = 1) -> SweepResult:
        """Keep the result of a second evaluation of these models."""
        return self.measured(job.confirmation(rates, seed=self.plan.seed + 1), rates, seed=seed)

    def keep(self, result: SweepResult) -> SweepResult:
        assert self.folder.objects.create(result_name(result.id), value_text(result).encode())
        return result

    def begun(self, job: PlannedJob, begun: AttemptBegun, *, attempt: str = ATTEMPT) -> None:
        self.folder.objects.replace(f"attempts/{job.id}/{attempt}/begun.json", value_text(begun).encode())

    def ended(self, job: PlannedJob, ended: AttemptEnd) -> None:
        self.folder.objects.replace(f"attempts/{job.id}/{ended.attempt}/ended.json", value_text(ended).encode())
