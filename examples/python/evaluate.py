"""What `upskill eval` does, in Python. Run it in the root of the repository."""

import upskill

result = upskill.evaluate("examples/tarnctl", models="scripted/examples/scripted/student.yaml", runs=2)

for report in result.students:
    print(report.sentence)
    for lift in report.lifts:
        low, high = lift.these_cases.low, lift.these_cases.high
        print(f"{lift.mean:+.2f}, {lift.confidence:.0%} CI {low:+.2f} to {high:+.2f}, {lift.pairs} pairs")

for trial in result.trials():
    if trial.case_id == "port":
        print(trial.arm, trial.answer)
