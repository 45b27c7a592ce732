"""How often aptitude stops students whose true gain is known; prints a table.

`python -m benchmarks.aptitude_rounds`, half a minute.
"""

import random
from collections.abc import Callable

from upskill.core.nouns import Lift
from upskill.core.statistics import CaseTally
from upskill.core.statistics.intervals import these_cases
from upskill.generation.aptitude import most_rounds, prospect

STUDENTS = 1_500
CASES = (8, 10, 20)
BASELINES: dict[str, Callable[[random.Random], float]] = {
    "0%": lambda _: 0.0,
    "20%": lambda _: 0.2,
    "50%": lambda _: 0.5,
    "80%": lambda _: 0.8,
    "mixed": lambda draw: draw.choice((0.0, 0.0, 0.5, 0.9)),
}


def one_student(
    cases: int, baseline: Callable[[random.Random], float], gain: float, draw: random.Random
) -> tuple[bool, int]:
    """Whether a student is stopped, and after how many rounds it was decided."""
    rates = [(rate := baseline(draw), min(1.0, rate + gain)) for _ in range(cases)]
    passed = [[0, 0] for _ in rates]
    rounds = 0
    while rounds < most_rounds(cases):
        rounds += 1
        for counts, chances in zip(passed, rates, strict=True):
            for arm, chance in enumerate(chances):
                counts[arm] += draw.random() < chance
        tallies = [
            CaseTally(case_id=str(case), pairs=rounds, passed=ceiling, passed_against=without)
            for case, (without, ceiling) in enumerate(passed)
        ]
        mean = sum(tally.difference for tally in tallies) / cases
        lift = Lift(
            arm="ceiling", against="baseline", mean=mean, interval=these_cases(tallies), about="these cases",
            rate=sum(tally.passed for tally in tallies) / (cases * rounds),
            rate_against=sum(tally.passed_against for tally in tallies) / (cases * rounds),
            pairs=cases * rounds, dropped=0, cases=cases, units=cases,
            better=sum(tally.difference > 0 for tally in tallies), worse=sum(tally.difference < 0 for tally in tallies),
        )  # fmt: skip
        if (found := prospect(lift)) != "open":
            return found == "cannot profit", rounds
    return False, rounds


def main() -> None:
    draw = random.Random(1)
    print("| cases | baseline | gain | stopped | rounds |\n|---|---|---|---|---|")
    for cases in CASES:
        for name, baseline in BASELINES.items():
            for gain in (0.0, 0.1, 0.2):
                ends = [one_student(cases, baseline, gain, draw) for _ in range(STUDENTS)]
                stopped, rounds = sum(stop for stop, _ in ends) / STUDENTS, sum(used for _, used in ends) / STUDENTS
                print(f"| {cases} | {name} | {gain:+.0%} | {stopped:.1%} | {rounds:.1f} |")


if __name__ == "__main__":
    main()
