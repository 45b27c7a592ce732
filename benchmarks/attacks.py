"""Tables of what people do around an evaluation, with the looks, the schedule and the conclusion of the product.

    python -m benchmarks.attacks            every table, 10 minutes on two cores; writes benchmarks/results/attacks.md;
                                            benchmarks.attacks_end_to_end writes its last section
    python -m benchmarks.attacks --fast     a tenth of the persons, with wider limits; writes nothing

The exit code is 1 if a figure is beyond its limit.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tools.simulation.attacks import ATTACKS, Attack, Person
from tools.simulation.populations import generator

from benchmarks.attacks_end_to_end import HEADING
from benchmarks.page_sections import last_section
from benchmarks.statistics_tables import Cell, Outcome, Run, Tables, percent

PAGE = Path(__file__).parent / "results" / "attacks.md"
MOST_FALSE = 5.0
PERSONS = 1_500
HEAD = """# Attacks and honest edits

Generated; do not edit. People can make a useless skill look helpful: by repeating the command, deleting cases, trying
many versions. The first two sections simulate this (`python -m benchmarks.attacks`): answers are random, and the
product's own looks, schedule and conclusion do the rest. The populations are those of
[the tables behind the statistics](statistics.md).

**{inside} of {figures} figures are within their limits.** Seed {seed}.
"""


def _attacked(rng: random.Random, *, attack: Attack, population: str) -> Outcome:
    return Outcome(any(attack.play(rng, population)), False, 0)


def attacks(run: Tables) -> None:
    cells = [
        Cell(
            name=f"{attack.what} {population}",
            evaluations=round(PERSONS * attack.share),
            run=partial(_attacked, attack=attack, population=population),
        )
        for attack in ATTACKS
        for population in attack.populations
    ]
    found = iter(run.measure(cells))
    rows = []
    for attack in ATTACKS:
        outcomes = {population: next(found) for population in attack.populations}
        figures = []
        for population, some in outcomes.items():
            what = f"{attack.what} {population}"
            figures.append(f"{population} {run.limited(what, percent(some, 'helps'), len(some), most=MOST_FALSE)}")
        rows.append(f"| {attack.what} | {', '.join(figures)} |")
    words = (
        f"True lift 0, 20 cases unless stated, {PERSONS:,} persons a population, fewer where each types many commands. "
        f"Percent of persons who ever saw `helps` on new cases; limit {MOST_FALSE:g}, two standard errors included."
    )
    run.table("1. Attacks", words, "| what a person does | `helps` |", rows)


EDITED = (("gain35", 30), ("gain20", 50), ("respond35", 30))
SEEN = (1, 2, 5, 10)


def _tenth(rng: random.Random, *, population: str, cases: int) -> tuple[bool, ...]:
    person = Person(rng=rng, rates=generator(population).cases(rng, cases))
    return tuple(person.evaluate(version=version).helps for version in range(1, 11))


def _at(rng: random.Random, *, population: str, cases: int, version: int) -> Outcome:
    return Outcome(_tenth(rng, population=population, cases=cases)[version - 1], False, 0)


def honest_edits(run: Tables) -> None:
    def of(population: str, cases: int, version: int) -> Run:
        return partial(_at, population=population, cases=cases, version=version)

    cells = [
        Cell(name=f"honest {population} {cases} {version}", evaluations=200, run=of(population, cases, version))
        for population, cases in EDITED
        for version in SEEN
    ]
    found = iter(run.measure(cells))
    rows = []
    for population, cases in EDITED:
        figures = [f"{percent(next(found), 'helps'):.0f}" for _ in SEEN]
        rows.append(f"| {population}, {cases} cases | {' | '.join(figures)} |")
    words = (
        "A person edits a skill that truly helps ten times, on the same cases, by bare `upskill eval`. Percent that "
        "see `helps` on new cases at each version: a version that helps pays for those after it."
    )
    run.table("2. Ten honest edits", words, "| cases | 1st | 2nd | 5th | 10th |", rows)


TABLES: tuple[Callable[[Tables], None], ...] = (attacks, honest_edits)


def _page(run: Tables) -> Iterator[str]:
    yield HEAD.format(inside=run.figures - len(run.beyond), figures=run.figures, seed=run.seed).rstrip()
    yield from run.lines
    yield ""
    yield last_section(PAGE, HEADING)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    typed = parser.parse_args()
    run = Tables(seed=typed.seed, share=0.1 if typed.fast else 1.0, processes=typed.processes)
    for table in TABLES:
        table(run)
    page = "\n".join(_page(run))
    if typed.fast:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
    for line in run.beyond:
        print(f"beyond: {line}", file=sys.stderr)
    return 1 if run.beyond else 0


if __name__ == "__main__":
    sys.exit(main())
