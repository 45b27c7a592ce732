"""A run of 100,000 stored trials: how long its report and its resumption take. Prints seconds, seconds and megabytes.

`python -m benchmarks.large_run FOLDER`: the first call writes the run, the report and the resumption are then timed.
"""

import os
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.big_skill import write_big_skill
from upskill.core.nouns import CheckResult, Grade, Scored, Trial, Usage
from upskill.core.runs.own_runs import trust_run
from upskill.core.runs.run_folders import RunFolder, create_run
from upskill.core.settings import resolve_settings
from upskill.core.trials.harness import Requests
from upskill.evaluation import resume
from upskill.evaluation.evaluate import first_record
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import PreparedEvaluation, prepare
from upskill.evaluation.regrade import regrade

CASES, REPEATS = 10_000, 5


def main() -> None:
    """Write a whole run without an engine, then report and resume it."""
    folder = Path(sys.argv[1])
    os.chdir(folder)
    script = folder / "student.yaml"
    script.write_text("rules:\n- replies: [never]\n")
    skill = write_big_skill(folder / "large", cases=CASES)
    settings = resolve_settings({"models": (f"scripted/{script}",), "report": False}, folder=folder, environment={})
    prepared = prepare(EvaluationOrder(skill=skill, repeats=REPEATS), settings.values)
    run = create_run(folder / "runs", skill_name="large")
    run.write_record(first_record(prepared, settings, run))
    trust_run(run.path)
    _write_trials(prepared, run)
    started = time.perf_counter()
    regrade(run.path)
    reported = time.perf_counter() - started
    started = time.perf_counter()
    evaluation = resume.resume(run.path)
    resumed = time.perf_counter() - started
    assert evaluation.bought.calls == 0
    assert evaluation.students[0].lifts[0].pairs == CASES * REPEATS
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{reported:.1f} {resumed:.1f} {megabytes:.0f}")


def _write_trials(prepared: PreparedEvaluation, run: RunFolder) -> None:
    (student,) = prepared.experiment.plan.students
    requests = Requests(prepared.experiment.skill)
    grade = Grade(results=(CheckResult(kind="contains", passed=False, saw="not found: 'never'"),))
    blank = Trial(
        id="",
        student=student.name,
        case_id="",
        arm="baseline",
        repeat=1,
        outcome=Scored(end="answered", grade=grade),
        answer="I do not know, and I say so at some length, as models do. " * 4,
        usage=Usage(input_tokens=100, output_tokens=60, cost=0.0),
        seconds=1.0,
        calls=1,
    )
    with run.trials.open() as log:
        for planned in prepared.experiment.plan.trials():
            identity = requests.trial_id(planned, student)
            log.append(replace(blank, id=identity, case_id=planned.case.id, arm=planned.arm, repeat=planned.repeat))


if __name__ == "__main__":
    main()
