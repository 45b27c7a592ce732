"""Simulate watched skills night by night, and models that are replaced, through the functions of `upskill drift`.

    python -m benchmarks.drift_nights            200 watches a row, about half an hour; writes benchmarks/results/
    python -m benchmarks.drift_nights --fast     20 a row, some minutes; prints only

The exit code is 1 if a required figure is missed. The requirements are `FOUND`, `FALSE` and `FALSE_NEED` below; they
were written down before anything was simulated.
"""

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median

from tools.simulation.evaluation import by_rates, evaluate

from upskill.drift.chart import (
    HISTORY_NIGHTS,
    NIGHT_NOISE,
    YEAR,
    CaseCount,
    Expected,
    alarm_limit,
    contrasts_of,
    expect,
    night_noise,
    raised,
    rotation,
)
from upskill.drift.replaced import ANSWERS, Need, need_of

PAGE = Path(__file__).parent / "results" / "drift.md"
CASES = 40
WITHIN = 14
FALL = 0.20
NOISY = 0.08
FULL, FAST = 200, 20
FOUND = 0.90
"""At least this share of falls of 20 points is noticed within 14 nights, in each population, with a history of 10."""
FALSE = 0.05
"""At most this share of years without a change has an alarm, in each population, with either history."""
FALSE_NEED = 0.05
"""At most this share of new models gets a false `no longer needed` (lift of 10 points or more) or `still helps` (0)."""

Rates = list[float]


def _evenly(rates: Rates, rng: random.Random) -> Rates:  # noqa: ARG001 - the signature of a fall
    """Every case falls by the same, as far as it can."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        enough = fmean(max(0.0, rate - middle) for rate in rates) <= fmean(rates) - FALL
        low, high = (low, middle) if enough else (middle, high)
    return [max(0.0, rate - high) for rate in rates]


def _some_fail(rates: Rates, rng: random.Random) -> Rates:
    """One case after the other fails always, until the mean has fallen enough."""
    now, left = list(rates), FALL * len(rates)
    for place in rng.sample(range(len(rates)), len(rates)):
        fall = min(now[place], left)
        now[place], left = now[place] - fall, left - fall
    return now


@dataclass(frozen=True, kw_only=True)
class Population:
    """Cases by the true rate with the skill, and how they fall."""

    name: str
    draw: Callable[[random.Random], float]
    fall: Callable[[Rates, random.Random], Rates]


POPULATIONS = (
    Population(name="all cases at 50%", draw=lambda _: 0.5, fall=_evenly),
    Population(name="all cases at 75%", draw=lambda _: 0.75, fall=_some_fail),
    Population(name="all cases at 90%", draw=lambda _: 0.9, fall=_evenly),
    Population(name="all cases at 98%", draw=lambda _: 0.98, fall=_some_fail),
    Population(name="Beta(2, 1)", draw=lambda rng: rng.betavariate(2, 1), fall=_evenly),
    Population(name="Beta(½, ½), from 30% up", draw=lambda rng: 0.3 + 0.7 * rng.betavariate(0.5, 0.5), fall=_some_fail),
    Population(name="70% at 97%, 30% at 3%", draw=lambda rng: 0.97 if rng.random() < 0.7 else 0.03, fall=_some_fail),
    Population(name="20% to 100%, uniform", draw=lambda rng: rng.uniform(0.2, 1), fall=_evenly),
)


def history_of(rates: Rates, rng: random.Random, *, answers: int, nights: int, noise: float) -> Expected:
    """A history as `drift --start` buys it: the same number of answers of each case on each night."""
    passed = [0] * len(rates)
    counts = []
    for _ in range(nights):
        shared = rng.gauss(0, noise)
        mine = [sum(rng.random() < rate + shared for _ in range(answers // nights)) for rate in rates]
        passed = [one + other for one, other in zip(passed, mine, strict=True)]
        counts.append(CaseCount(passed=sum(mine), answers=answers // nights * len(rates)))
    return expect([CaseCount(passed=one, answers=answers) for one in passed], nights=counts)


def alarm_night(
    rates: Rates, expected: Expected, limit: float, rng: random.Random, *, nights: int, noise: float, seed: str
) -> int | None:
    """The night of the first alarm, counted from 1; `None` without one."""
    level, wanted, seen, quiet = 0.0, expected.rates, [], 0
    for night in range(nights):
        shared = rng.gauss(0, noise)
        asked = rotation(len(rates), first=night * 20)
        seen.append([(wanted[place], rng.random() < rates[place] + shared) for place, _ in asked])
        level = raised(level, seen[-1])
        quiet = len(seen) if level == 0 else quiet
        if level > limit:
            found = night_noise([*expected.contrasts, *contrasts_of(seen[:quiet])])
            limit = max(limit, alarm_limit(expected, seed=seed, noise=found)) if found > NIGHT_NOISE else limit
        if level > limit:
            return night + 1
    return None


def watch_once(nth: int, population: int, answers: int, nights: int, noise: float) -> tuple[int | None, bool]:
    """One watch: the night on which a fall is noticed, and whether a year without one has an alarm."""
    drawn = POPULATIONS[population]
    rng = random.Random(f"{drawn.name}/{answers}/{nights}/{noise}/{nth}")
    rates = [drawn.draw(rng) for _ in range(CASES)]
    expected = history_of(rates, rng, answers=answers, nights=nights, noise=noise)
    seed = str(nth)
    limit = alarm_limit(expected, seed=seed, noise=night_noise(expected.contrasts))
    found = alarm_night(drawn.fall(rates, rng), expected, limit, rng, nights=WITHIN, noise=noise, seed=seed)
    return found, alarm_night(rates, expected, limit, rng, nights=YEAR, noise=noise, seed=seed) is not None


@dataclass(frozen=True, kw_only=True)
class Row:
    """What came of the watches of one population."""

    population: str
    answers: int
    nights: int
    noise: float
    found: float
    median: float | None
    """Nights until a fall was noticed; `None` where most were not within 14."""
    false: float

    @property
    def holds(self) -> bool | None:
        """Whether it is as required; `None` where nothing is: a history of one night, or noisier nights."""
        if self.nights == 1 or self.noise > NIGHT_NOISE:
            return None
        return self.false <= FALSE and (self.answers < 10 or self.found >= FOUND)

    @property
    def line(self) -> str:
        nights = "more than 14" if self.median is None else f"{self.median:g}"
        said = {True: "yes", False: "**no**", None: ""}[self.holds]
        noise = f"{100 * self.noise:.0f}"
        found, false = f"{self.found:.1%}", f"{self.false:.1%}"
        cells = (self.population, self.answers, self.nights, noise, found, nights, false, said)
        return f"| {' | '.join(map(str, cells))} |"


def simulate(
    pool: ProcessPoolExecutor, population: int, *, answers: int, nights: int, noise: float, watches: int
) -> Row:
    """So many watches of one population."""
    once = partial(watch_once, population=population, answers=answers, nights=nights, noise=noise)
    done = list(pool.map(once, range(watches), chunksize=5))
    middle = median(WITHIN + 1 if found is None else found for found, _ in done)
    return Row(
        population=POPULATIONS[population].name,
        answers=answers,
        nights=nights,
        noise=noise,
        found=fmean(found is not None for found, _ in done),
        median=None if middle > WITHIN else middle,
        false=fmean(alarm for _, alarm in done),
    )


LIFTS = (0.0, 0.10, 0.20)
BASES: dict[str, Callable[[random.Random, float], float]] = {
    "50% without the skill": lambda _, lift: 0.5 - lift / 2,
    "as high as the lift allows": lambda _, lift: 0.97 - lift,
    "Beta(½, ½) without it": lambda rng, lift: (1 - lift) * rng.betavariate(0.5, 0.5),
}


def replace_once(base: str, lift: float, rng: random.Random) -> Need:
    """One model that replaces another, whose lift is the same in every case."""
    without = [BASES[base](rng, lift) for _ in range(CASES)]
    answers = by_rates(rng, [(rate, rate + lift) for rate in without])
    report = evaluate(answers, cases=range(CASES), design="fixed", repeats=ANSWERS).report
    return need_of(report.verdict, report.lifts[0])


def needs(watches: int) -> tuple[list[str], bool]:
    """The table of models that are replaced, and whether it is as required."""
    lines, right = [], True
    for base in BASES:
        for lift in LIFTS:
            rng = random.Random(f"{base}/{lift}")
            said = [replace_once(base, lift, rng) for _ in range(watches)]
            needless, helps = (said.count(one) / watches for one in ("no longer needed", "still helps"))
            wrong = max(needless if lift >= 0.1 else 0.0, helps if lift == 0 else 0.0)
            right &= wrong <= FALSE_NEED
            cells = (
                base,
                f"{100 * lift:+.0f}",
                f"{needless:.1%}",
                f"{helps:.1%}",
                "yes" if wrong <= 0.05 else "**no**",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return lines, right


HEAD = """# Watched skills, simulated

Written by `python -m benchmarks.drift_nights`; do not edit. {watches} watches a row, {cases} cases, 20 answers a night,
through the functions of `upskill drift`. `noise` is what all answers of a night share, in points: a standard deviation,
which the watch does not know and estimates from its history. A fall is 20 points in the mean of all cases: every case
by the same, or some cases entirely.

Required with a history of {history} nights: a fall is noticed within 14 nights in at least 90% (10 answers per case),
and at most 5% of years without a change have an alarm. **{right} of {checked} rows hold.** A history of one night
(`--at-once`) and noisier nights are shown beside it; nothing is required of these.

| rates with the skill | answers | nights of history | noise | noticed in 14 nights | median | false a year | holds |
|---|--:|--:|--:|--:|--:|--:|---|
"""
NEED = """
## A model that replaces another

{answers} answers per case and arm, {times:,} models a row. Required: `no longer needed` at a lift of 10 points or more,
and `still helps` at none, in at most 5%.

| rates | lift in points | `no longer needed` | `still helps` | holds |
|---|--:|--:|--:|---|
"""


def main() -> int:
    """Simulate, print or write, and compare with what is required."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="fewer watches; print only")
    fast = parser.parse_args().fast
    watches = FAST if fast else FULL
    rows: list[Row] = []
    with ProcessPoolExecutor(2) as pool:
        for answers, nights, noise in (
            (10, HISTORY_NIGHTS, NIGHT_NOISE),
            (10, HISTORY_NIGHTS, 0.0),
            (10, HISTORY_NIGHTS, NOISY),
            (5, HISTORY_NIGHTS, NIGHT_NOISE),
            (10, 1, NIGHT_NOISE),
        ):
            for population in range(len(POPULATIONS)):
                rows.append(simulate(pool, population, answers=answers, nights=nights, noise=noise, watches=watches))
                print(rows[-1].line, file=sys.stderr, flush=True)
    table, right = needs(5 * watches)
    text = page(rows, table, watches=watches)
    if fast:
        sys.stdout.write(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if right and all(row.holds is not False for row in rows) else 1


def page(rows: Sequence[Row], table: Sequence[str], *, watches: int) -> str:
    """The whole page."""
    checked = [row.holds for row in rows if row.holds is not None]
    head = HEAD.format(watches=watches, cases=CASES, history=HISTORY_NIGHTS, right=sum(checked), checked=len(checked))
    need = NEED.format(answers=ANSWERS, times=5 * watches)
    return head + "\n".join(row.line for row in rows) + "\n" + need + "\n".join(table) + "\n"


if __name__ == "__main__":
    sys.exit(main())
