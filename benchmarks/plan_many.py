"""Plans many trials and prints seconds, megabytes and their number: `python -m benchmarks.plan_many SKILL REPEATS`."""

import resource
import sys
import time
from pathlib import Path


def main() -> None:
    """From the files to the identity of every trial, as an evaluation does it."""
    from upskill.core import checks
    from upskill.core.cases.files import read_skill_cases
    from upskill.core.nouns import Student, TrialPlan
    from upskill.core.skills.skills import read_skill
    from upskill.core.trials.harness import Requests

    folder, repeats = Path(sys.argv[1]), int(sys.argv[2])
    started = time.perf_counter()
    skill = read_skill(folder)
    cases = read_skill_cases(folder, check_problems=checks.check_problems)
    assert cases is not None
    student = Student(name="any", model="openai-api/endpoint/any", max_output_tokens=40)
    plan = TrialPlan(cases=cases.cases, students=(student,), arms=("baseline", "with_skill"), repeats=repeats)
    requests = Requests(skill)
    count = sum(1 for planned in plan.trials() if requests.trial_id(planned, student))
    seconds = time.perf_counter() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{seconds:.2f} {megabytes:.0f} {count}")


if __name__ == "__main__":
    main()
