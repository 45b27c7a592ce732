"""A finished sweep of ten thousand evaluations, planned and run again: nothing has changed, so nothing is bought.

python -m benchmarks.finished_sweep [EVALUATIONS] [PLANNED]
Prints the seconds of the first plan and of everything again, by the clock and of the processor. Where PLANNED is given,
only so many skills are planned for the first time, which takes minutes; the others are given what such a plan keeps.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from upskill.sweep.files import SweepFolder, archive_digest, input_name, result_name, value_text
from upskill.sweep.skills import archive_bytes
from upskill.sweep.values import JobSpending, PlannedJob, Row, SweepResult

MANIFEST = """format = "upskill.sweep/1"
skills = ["registry/*/"]
students = ["openai/gpt-5-mini"]
max_cost = 10000.0
"""


class Seconds(NamedTuple):
    """Of one or more commands."""

    clock: float
    processor: float


class FinishedSweep(NamedTuple):
    """What was measured."""

    evaluations: int
    planned: int
    """So many in the first plan."""
    first_plan: Seconds
    """They are read, checked and kept."""
    plan: Seconds
    run: Seconds
    status: Seconds

    @property
    def again(self) -> Seconds:
        """Planned and run again."""
        return Seconds(self.plan.clock + self.run.clock, self.plan.processor + self.run.processor)


def finished_sweep(evaluations: int, folder: Path, *, planned: int | None = None) -> FinishedSweep:
    """Make a sweep, give every evaluation a result, then plan and run it again. Without a key no call succeeds."""
    planned = planned or evaluations
    write_skills(folder / "registry", range(planned))
    (folder / "sweep.toml").write_text(MANIFEST)
    plan = ["sweep", "plan", str(folder / "sweep.toml"), "--at", str(folder / "at"), "--json"]
    first = _timed(plan)
    sweep = SweepFolder(str(folder / "at"))
    write_skills(folder / "registry", range(planned, evaluations))
    _plan_others(sweep, folder, range(planned, evaluations))
    for job in sweep.jobs():
        _write_result(folder / "at" / result_name(job.id), job)
    _timed(["sweep", "status", str(folder / "at"), "--json"])  # reads every result once
    again = _timed(plan)
    run = _timed(["sweep", "run", str(folder / "at"), "--json"])
    status = _timed(["sweep", "status", str(folder / "at"), "--json"])
    left = json.loads(_output(plan))["left"]
    assert left == 0, f"{left} evaluations are left"
    return FinishedSweep(evaluations, planned, first, again, run, status)


def _plan_others(sweep: SweepFolder, folder: Path, numbers: Iterable[int]) -> None:
    """Lines of a plan as a first plan of these skills writes them; their ids are made up, their archives empty."""
    plan, jobs = sweep.plan(), sweep.jobs()
    for number in numbers:
        name = f"skill-{number:05d}"
        made_up = hashlib.sha256(name.encode()).hexdigest()
        skill = f"registry/{name}"
        input = archive_digest(archive_bytes(folder / skill))
        jobs.append(replace(jobs[0], id=made_up[:32], skill=skill, name=name, version=made_up, input=input))
        (folder / "at" / input_name(input)).write_bytes(b"")
    sweep.write_plan(plan, jobs, [])


def write_skills(registry: Path, numbers: Iterable[int]) -> None:
    """Small skills, each with ten cases of its own."""
    for one in numbers:
        skill = registry / f"skill-{one:05d}"
        skill.mkdir(parents=True)
        about = f"name: skill-{one:05d}\ndescription: How to answer question {one} about widgets."
        (skill / "SKILL.md").write_text(f"---\n{about}\n---\nThe answer to question {one} begins with w{one}-.\n")
        cases = [
            {
                "id": f"c{case}",
                "input": f"What is the answer to question {one}, part {case}?",
                "expected": {"contains": f"w{one}-{case}"},
                "reference": f"It is w{one}-{case}.",
                "wrong": ["I do not know", f"w{one + 1}-x"],
            }
            for case in range(10)
        ]
        (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))


def _write_result(path: Path, job: PlannedJob) -> None:
    """A result as large as a real one. Without the care of `create`: nobody else writes here."""
    students = [{"model": student, "verdict": "undecided", "sentence": "x" * 5_000} for student in job.students]
    rows = [Row(job.students[0], f"c{n % 10}", "baseline", n // 20 + 1, n % 3 == 0, 1, 0.0001, None) for n in range(53)]
    spending = JobSpending(calls=53, tokens=20_000, cost=0.01)
    result = SweepResult(
        id=job.id,
        skill=job.skill,
        name=job.name,
        version=job.version,
        students=job.students,
        attempt="20261116T220000Z-0123456789abcdef",
        evaluation={"schema": "upskill.eval/1", "students": students},
        rows=tuple(rows),
        spending=spending,
        charged=spending,
        finished_at="2026-11-16T22:00:00+00:00",
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(value_text(result))


def _output(words: list[str]) -> str:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "upskill", *words]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=environment).stdout


def _timed(words: list[str]) -> Seconds:
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    _output(words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seconds(time.monotonic() - began, processor)


def main() -> None:
    number, planned = (*map(int, sys.argv[1:3]), *[None] * 2)[:2]
    with tempfile.TemporaryDirectory(prefix="upskill-sweep-") as folder:
        found = finished_sweep(number or 10_000, Path(folder), planned=planned)
    print(f"{found.evaluations:,} evaluations, {found.planned:,} in the first plan")
    for what in ("first_plan", "plan", "run", "again", "status"):
        seconds = getattr(found, what)
        print(f"{what.replace('_', ' '):12} {seconds.clock:7.2f} s, processor {seconds.processor:7.2f} s")


if __name__ == "__main__":
    main()
