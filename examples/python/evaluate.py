"""What `upskill eval` does, in Python. Run it in the root of the repository."""

from pathlib import Path

from upskill.settings import resolve_settings
from upskill.workflows.evaluate import evaluate
from upskill.workflows.prepare import EvaluationOrder

settings = resolve_settings({"models": ["scripted/examples/scripted/student.yaml"]})
evaluation = evaluate(EvaluationOrder(skill=Path("examples/tarnctl"), repeats=2), settings=settings)

for student in evaluation.students:
    print(student.sentence)
    for lift in student.lifts:
        print(
            f"{lift.mean:+.2f} between {lift.these_cases.low:+.2f} and {lift.these_cases.high:+.2f}, {lift.pairs} pairs"
        )
