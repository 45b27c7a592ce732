"""What `upskill eval` does, in Python. Run it in the root of the repository."""

from pathlib import Path

from upskill.settings import resolve_settings
from upskill.workflows.evaluate import evaluate
from upskill.workflows.evaluating.prepare import EvaluationOrder

settings = resolve_settings({"models": ["scripted/examples/scripted/student.yaml"]})
order = EvaluationOrder(skill=Path("examples/tarnctl"), repeats=2)
evaluation = evaluate(order, settings=settings)

for student in evaluation.students:
    print(student.sentence)
    for lift in student.lifts:
        low, high = lift.these_cases.low, lift.these_cases.high
        print(f"{lift.mean:+.2f}, between {low:+.2f} and {high:+.2f}, {lift.pairs} pairs")
