"""What `upskill eval` does, in Python. Run it in the root of the repository."""

import upskill

result = upskill.evaluate("examples/tarnctl", models="scripted/examples/scripted/student.yaml", runs=2)

for report in result.students:
    print(report.sentence)
    for lift in report.lifts:
        print(f"{lift.rate_against:.0%} without the skill, {lift.rate:.0%} with it, {lift.pairs} pairs")

for trial in result.trials():
    if trial.case_id == "port":
        print(trial.arm, trial.answer)
