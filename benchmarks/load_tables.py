"""Simulate evaluations of an offered skill, and write how well the figures on loads keep their promise.

    python -m benchmarks.load_tables            1,000 evaluations a row, a minute; writes benchmarks/results/
    python -m benchmarks.load_tables --fast     100 a row; prints only

The product's own code measures the simulated answers. The exit code is 1 if an interval holds the truth too rarely.
"""

import argparse
import math
import sys
from pathlib import Path

from tools.simulation.loads import FIGURES, POPULATIONS, simulate

PAGE = Path(__file__).parent / "results" / "loads.md"
SIZES = ((5, 3), (6, 1), (12, 1), (12, 3), (20, 3), (100, 2))
"""Cases, and how often each is asked: what an evaluation asks at its first look, or in all."""
FULL, FAST = 1_000, 100
LEAST = 0.94
"""What each interval must cover, but for chance."""
HEAD = """# The tables behind the load rate

Written by `python -m benchmarks.load_tables`; do not edit. The product's own code measures simulated answers:
{evaluations:,} evaluations of each row, of a fixed size, seed 0.
[How loads are counted](../../docs/explanation/requests-and-answers.md) explains the figures.

**{right} of {checked} coverages are at least 94%, within four standard errors.** The lowest is {lowest}.

## Populations

| name | each case |
|---|---|
{populations}

## Coverage

In percent: how often the 95% CI holds the truth. With 5 cases the CI is about these cases, with more about new cases.

| population | cases | repeats | {figures} |
|---|--:|--:|{columns}
"""
Coverage = dict[str, float]
"""By figure, the share of intervals that hold the truth."""
Rows = dict[tuple[str, int, int], Coverage]
"""By population, cases and repeats."""


def main() -> int:
    """Simulate, print or write, and compare with what is promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="fewer evaluations; print only")
    fast = parser.parse_args().fast
    size = FAST if fast else FULL
    found = {
        (name, cases, repeats): simulate(population, cases=cases, repeats=repeats, evaluations=size, seed="0")
        for name, population in POPULATIONS.items()
        for cases, repeats in SIZES
    }
    text = page(found, size)
    if fast:
        sys.stdout.write(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if all(_is_right(share, size) for share in _shares(found)) else 1


def page(found: Rows, size: int) -> str:
    """The whole page."""
    shares = _shares(found)
    head = HEAD.format(
        evaluations=size,
        right=sum(_is_right(share, size) for share in shares),
        checked=len(shares),
        lowest=_percent(min(shares)),
        populations="\n".join(f"| {one.name} | {one.meaning} |" for one in POPULATIONS.values()),
        figures=" | ".join(FIGURES),
        columns="--:|" * len(FIGURES),
    )
    rows = (
        f"| {name} | {cases} | {repeats} | {' | '.join(_percent(coverage[figure]) for figure in FIGURES)} |\n"
        for (name, cases, repeats), coverage in found.items()
    )
    return head + "".join(rows)


def _shares(found: Rows) -> list[float]:
    return [share for coverage in found.values() for share in coverage.values()]


def _is_right(share: float, size: int) -> bool:
    """Whether a coverage is as promised but for chance."""
    return share >= LEAST - 4 * math.sqrt(LEAST * (1 - LEAST) / size)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


if __name__ == "__main__":
    sys.exit(main())
