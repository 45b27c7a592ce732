"""Simulate evaluations of an offered skill, and write how well the figures on loads keep their promise.

    python -m benchmarks.load_tables            1,000 evaluations a row, some minutes; writes benchmarks/results/
    python -m benchmarks.load_tables --fast     100 a row, under a minute; prints only

The product's own code measures the simulated answers. The exit code is 1 if an interval holds the truth too rarely.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.simulation.loads import FIGURES, POPULATIONS, Coverage, LoadPopulation, simulate

PAGE = Path(__file__).parent / "results" / "loads.md"
SIZES = ((5, 3), (10, 3), (20, 3), (20, 5), (100, 3))
FULL, FAST = 1_000, 100
LEAST = 0.94
"""What the intervals on new cases and the lift if loaded must cover, but for chance."""
HEAD = """# The tables behind the load rate

Written by `python -m benchmarks.load_tables`; do not edit. The product's own code measures simulated answers:
{evaluations:,} evaluations of each row, of a fixed size, seed 0.
[How loads are counted](../../docs/explanation/requests-and-answers.md) explains the figures.

**{right} of {checked} coverages are at least 94%, within four standard errors.** The lowest is {lowest}.

## Populations

| name | each case |
|---|---|
{populations}

## Coverage on new cases, and how often the lift if loaded is shown

Coverage in percent: how often the 95% CI holds the truth. A dash: never shown. "Shown" is the share of evaluations that
show the lift if loaded, "width" the mean width of its CI in points; its coverage is among the evaluations that show it.
"""
HERE = """
## Coverage on these cases

The narrower claim, about these cases only. It is what is shown with fewer than 6 cases.
"""


def main() -> int:
    """Simulate, print or write, and compare with what is promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="fewer evaluations; print only")
    fast = parser.parse_args().fast
    size = FAST if fast else FULL
    found = {
        (population, cases, repeats): simulate(population, cases=cases, repeats=repeats, evaluations=size, seed="0")
        for population in POPULATIONS.values()
        for cases, repeats in SIZES
    }
    text = page(found, size)
    if fast:
        sys.stdout.write(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if all(ok for _, ok in _checked(found)) else 1


Found = dict[tuple[LoadPopulation, int, int], Coverage]


def page(found: Found, size: int) -> str:
    """The whole page."""
    checked = list(_checked(found))
    lines = [
        HEAD.format(
            evaluations=size,
            right=sum(ok for _, ok in checked),
            checked=len(checked),
            lowest=_percent(min(share for share, _ in checked)),
            populations="\n".join(f"| {one.name} | {one.meaning} |" for one in POPULATIONS.values()),
        ),
        "| cases | n | repeats | load rate | offered lift | forced lift | lift if loaded | shown | width | "
        "most frequent reason to withhold it |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
        *(_row(population, cases, repeats, one) for (population, cases, repeats), one in found.items()),
        HERE,
        "| cases | n | repeats | load rate | offered lift | forced lift |",
        "|---|--:|--:|--:|--:|--:|",
        *(
            f"| {population.name} | {cases} | {repeats} | "
            + " | ".join(_percent(one.here[figure] / one.evaluations) for figure in FIGURES[:3])
            + " |"
            for (population, cases, repeats), one in found.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _row(population: LoadPopulation, cases: int, repeats: int, one: Coverage) -> str:
    shown = one.had["lift if loaded"]
    reason = one.withheld.most_common(1)
    cells = [
        population.name,
        str(cases),
        str(repeats),
        *(_percent(one.share(figure)) for figure in FIGURES),
        _percent(one.shown),
        f"{100 * one.width / shown:.0f}" if shown else "–",
        f"{reason[0][0]} ({_percent(reason[0][1] / one.evaluations)})" if reason else "–",
    ]
    return f"| {' | '.join(cells)} |"


def _checked(found: Found) -> Iterator[tuple[float, bool]]:
    """Every coverage, and whether it is as promised but for chance. Few evaluations that show a figure say little."""
    for one in found.values():
        for figure in FIGURES:
            share, number = one.share(figure), one.had[figure]
            if share is not None and number >= 50:
                yield share, share >= LEAST - 4 * math.sqrt(LEAST * (1 - LEAST) / number)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


if __name__ == "__main__":
    sys.exit(main())
