"""Reproduce the tables that validate the statistics, with the very code that measures skills.

    python -m benchmarks.statistics_tables            every table, 50 minutes; writes benchmarks/results/
    python -m benchmarks.statistics_tables --fast     fewer experiments and wider tolerances, under a minute

Every figure is compared with the one the design was chosen by. A figure outside its tolerance is simulated once more,
with five times the experiments and other random numbers, and that second figure stands. The exit code is 1 if any
figure is outside. Needs nothing but the standard library and `upskill.core.statistics`.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from functools import cache, partial
from itertools import islice, product
from operator import add
from pathlib import Path
from statistics import fmean

from tools.simulation.populations import Rates, generator

from upskill.core.nouns import Interval
from upskill.core.statistics import (
    DroppedPair,
    Judgement,
    Pair,
    Pairing,
    Sequential,
    default_cap,
    detectable_lift,
    judge,
)
from upskill.core.statistics.intervals import FEWEST_CASES, FIRST_LEVEL, cases_like_these, these_cases
from upskill.core.statistics.looks import level_after
from upskill.core.statistics.pairs import CaseTally, Claim

REPORT = Path(__file__).parent / "results" / "statistics.md"

# ---------------------------------------------------------------- one simulated evaluation


@cache
def _pair(case: int, repeat: int, passed: bool, passed_against: bool) -> Pair:
    return Pair(case_id=f"case{case:03}", repeat=repeat, passed=passed, passed_against=passed_against)


def planned_pairs(rng: random.Random, cases: Sequence[Rates], rounds: int) -> Iterator[Pair]:
    """Rounds of pairs, each round in a fresh order."""
    order = list(range(len(cases)))
    for repeat in range(rounds):
        rng.shuffle(order)
        for case in order:
            baseline, skilled = cases[case]
            yield _pair(case, repeat, rng.random() < skilled, rng.random() < baseline)


def feed(design: Sequential, pairs: Iterator[Pair | DroppedPair], seen: list[Pair | DroppedPair]) -> Sequential:
    """Feed pairs until the design stops, looking after every one, and remember what it was fed."""
    for pair in pairs:
        seen.append(pair)
        if design.add(pair).stop:
            break
    return design


@dataclass(slots=True)
class Count:
    """What came of many simulated evaluations."""

    runs: int = 0
    helps: int = 0
    hurts: int = 0
    calls: int = 0

    def add(self, design: Sequential, claim: Claim) -> None:
        decision = design.decision
        self.runs += 1
        self.helps += decision.verdict == "helps" and decision.claim == claim
        self.hurts += decision.verdict == "hurts" and decision.claim == claim
        self.calls += 2 * len(design.pairing.pairs)

    def rate(self, side: str) -> float:
        return 100 * {"helps": self.helps, "hurts": self.hurts, "either": self.helps + self.hurts}[side] / self.runs

    @property
    def mean_calls(self) -> float:
        return self.calls / self.runs


def count_both(name: str, *, cases: int, claim: Claim, experiments: int, seed: str) -> tuple[Count, Count]:
    """The same simulated evaluations without futility and with it.

    No margin: the stated tables are of designs that do not stop for "no difference".
    """
    rng = random.Random(seed)
    source = generator(name)
    without, with_futility = Count(), Count()
    cap = 5 * cases if claim == "these cases" else default_cap(cases)
    for _ in range(experiments):
        pairs = islice(planned_pairs(rng, source.cases(rng, cases), 5), cap)
        seen: list[Pair | DroppedPair] = []
        design = feed(Sequential(cases=cases, cap=cap, claim=claim, margin=0), pairs, seen)
        with_futility.add(design, claim)
        if design.decision.reason == "futile":
            longer = Sequential(cases=cases, cap=cap, claim=claim, margin=0, futility=False)
            for pair in seen:
                longer.add(pair)
            design = feed(longer, pairs, seen) if not longer.decision.stop else longer
        without.add(design, claim)
    return without, with_futility


# ---------------------------------------------------------------- comparing


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One measured figure beside the stated one."""

    what: str
    measured: float
    stated: float
    tolerance: float
    digits: int = 1
    at_most: bool = False
    """The stated figure is a limit, not a target."""

    @property
    def inside(self) -> bool:
        if self.at_most:
            return self.measured <= self.stated + self.tolerance
        return abs(self.measured - self.stated) <= self.tolerance + 1e-9

    def __str__(self) -> str:
        sign = "≤ " if self.at_most else ""
        mark = "" if self.inside else " **outside**"
        return f"{self.measured:.{self.digits}f} ({sign}{self.stated:g}){mark}"


@dataclass(kw_only=True)
class Run:
    """One reproduction of all tables."""

    fast: bool
    times: int = 1
    seed: int
    lines: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    repeated: int = 0
    started: float = field(default_factory=time.monotonic)

    def experiments(self, full: int, fast: int) -> int:
        return fast * self.times if self.fast else full

    def settle(self, simulate: Callable[[int, str], list[Figure]], *, experiments: int, name: str) -> list[Figure]:
        """Simulate; where a figure is outside, once more and larger. In fast mode the tolerance allows for chance."""
        figures = simulate(experiments, f"{self.seed}/{name}")
        if not self.fast and not all(figure.inside for figure in figures):
            self.repeated += 1
            self.say(f"{name}: outside, once more with {5 * experiments}")
            figures = simulate(5 * experiments, f"{self.seed}/{name}/again")
        self.figures += figures
        self.say(f"{name}: {'; '.join(f'{figure.what} {figure}' for figure in figures)}")
        return figures

    def allow(self, tolerance: float, percent: float, experiments: int) -> float:
        """A tolerance in points; a fast run adds what its few experiments may miss by chance."""
        if not self.fast:
            return tolerance
        share = min(max(percent / 100, 0.02), 0.98)
        return tolerance + 400 * math.sqrt(share * (1 - share) / experiments)

    def write(self, *lines: str) -> None:
        self.lines += lines

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.started:6.0f}s  {text}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- table 1: intervals of a fixed design

Cells = tuple[float, float, float | None, float | None]
# Coverage in percent / mean width: for each number of repeats, the interval for these cases and for cases like these.
# The latter come from another implementation, in numpy, with 40,000 experiments a cell.
TABLE_1: dict[tuple[str, int], dict[int, Cells]] = {
    ("B55", 5): {1: (98.7, 0.912, None, None), 3: (96.8, 0.515, None, None), 5: (96.1, 0.397, None, None)},
    ("B55", 10): {1: (99.4, 0.725, 99.6, 0.794), 3: (96.2, 0.367, 99.8, 0.484), 5: (95.7, 0.280, 99.8, 0.413)},
    ("B55", 20): {1: (99.5, 0.557, 97.5, 0.502), 3: (95.7, 0.258, 96.5, 0.282), 5: (95.6, 0.197, 97.8, 0.233)},
    ("B55", 40): {1: (99.3, 0.414, 96.9, 0.336), 3: (95.2, 0.181, 95, 0.185), 5: (95.1, 0.139, 96.1, 0.149)},
    ("sat", 5): {1: (99.7, 0.879, None, None), 3: (99.3, 0.453, None, None), 5: (99.2, 0.322, None, None)},
    ("sat", 20): {1: (99.7, 0.385, 99.8, 0.469), 3: (97.4, 0.181, 99.8, 0.230), 5: (96, 0.134, 99.9, 0.198)},
    ("gain20", 5): {1: (97.9, 0.899, None, None), 3: (96, 0.531, None, None), 5: (96.2, 0.417, None, None)},
    ("gain20", 10): {1: (98.2, 0.709, 98.3, 0.837), 3: (95.6, 0.383, 97.8, 0.557), 5: (95.2, 0.297, 98.9, 0.493)},
    ("gain20", 20): {1: (98.4, 0.540, 96.2, 0.533), 3: (95.5, 0.273, 96.8, 0.332), 5: (95.2, 0.211, 97.5, 0.283)},
    ("gain20", 40): {1: (98.5, 0.400, 95.7, 0.358), 3: (95, 0.193, 95.5, 0.219), 5: (95.1, 0.149, 95.8, 0.182)},
    ("respond20", 5): {1: (98.9, 0.899, None, None), 3: (97.1, 0.493, None, None), 5: (96.6, 0.376, None, None)},
    ("respond20", 10): {1: (99.3, 0.709, 98.2, 0.843), 3: (96.2, 0.344, 96.7, 0.636), 5: (96, 0.262, 96.3, 0.584)},
    ("respond20", 20): {1: (99.5, 0.540, 96.3, 0.538), 3: (95.8, 0.240, 96, 0.397), 5: (95.4, 0.184, 95.9, 0.365)},
    ("het", 5): {1: (97.2, 0.897, None, None), 3: (95.2, 0.568, None, None), 5: (95.2, 0.457, None, None)},
    ("het", 20): {1: (97.7, 0.556, 94.3, 0.737), 3: (95, 0.305, 94.8, 0.569), 5: (95, 0.238, 94.8, 0.531)},
}


def table_1(run: Run) -> None:
    """Coverage and width of both intervals, at z = 1.96."""
    experiments = run.experiments(20_000, 400)
    run.write(
        "## 1. Intervals of a fixed design",
        "",
        f"{experiments:,} experiments a cell. Coverage in percent within 0.6 points, mean width within 0.005. "
        'Each cell: measured (stated). "These" is the interval for these cases against their own lift, "new" the '
        "interval for new cases against the lift of all cases.",
        "",
        "| cases | n | repeats | these: coverage | these: width | new: coverage | new: width |",
        "|---|---|---|---|---|---|---|",
    )
    for (name, count), by_repeats in TABLE_1.items():
        for repeats, stated in by_repeats.items():
            figures = run.settle(
                partial(_cover, run, name, count, repeats, stated),
                experiments=experiments,
                name=f"table 1 {name} {count}x{repeats}",
            )
            cells = [*map(str, figures), "", ""][:4]
            run.write(f"| {name} | {count} | {repeats} | {' | '.join(cells)} |")
    run.write("")


def measure_intervals(
    name: str, count: int, repeats: int, *, size: int, seed: str
) -> tuple[float, float, float | None, float | None]:
    """Coverage in percent and mean width of the interval for these cases, then of that for cases like these."""
    rng = random.Random(seed)
    source = generator(name)
    these_covered = like_covered = 0
    these_width = like_width = 0.0
    for _ in range(size):
        cases = source.cases(rng, count)
        tallies = [_tally(rng, nth, case, repeats) for nth, case in enumerate(cases)]
        these, like = these_cases(tallies), cases_like_these(tallies)
        these_covered += _covers(these, math.fsum(skilled - base for base, skilled in cases) / count)
        these_width += these.high - these.low
        if like is not None:
            like_covered += _covers(like, source.lift)
            like_width += like.high - like.low
    found = 100 * these_covered / size, these_width / size
    return (*found, None, None) if count < FEWEST_CASES else (*found, 100 * like_covered / size, like_width / size)


def _cover(run: Run, name: str, count: int, repeats: int, stated: Cells, size: int, seed: str) -> list[Figure]:
    found = measure_intervals(name, count, repeats, size=size, seed=seed)
    figures = []
    for what, measured, target in zip(("these", "width", "like", "width"), found, stated, strict=True):
        if measured is None or target is None:
            continue
        width = what == "width"
        tolerance = (0.05 if run.fast else 0.005) if width else run.allow(0.6, target, size)
        figures.append(
            Figure(what=what, measured=measured, stated=target, tolerance=tolerance, digits=3 if width else 1)
        )
    return figures


def _tally(rng: random.Random, nth: int, case: Rates, repeats: int) -> CaseTally:
    baseline, skilled = case
    return CaseTally(
        case_id=str(nth),
        pairs=repeats,
        passed=sum([rng.random() < skilled for _ in range(repeats)]),
        passed_against=sum([rng.random() < baseline for _ in range(repeats)]),
    )


def _covers(interval: Interval, truth: float) -> bool:
    return interval.low - 1e-12 <= truth <= interval.high + 1e-12


# ---------------------------------------------------------------- table 2: the sequential design for these cases

# helps / hurts / calls without futility, then with it.
TABLE_2: dict[str, tuple[float, float, float, float, float, float]] = {
    "B55": (2.3, 2.4, 196.2, 2.1, 2.0, 97.4),
    "half": (2.3, 2.5, 195.6, 2.3, 2.0, 97.6),
    "sat": (1.6, 1.6, 198.2, 1.3, 1.3, 87.6),
    "gain10": (37.1, 0, 172.3, 32.9, 0, 114.2),
    "gain20": (88.5, 0, 112.7, 84.7, 0, 101.4),
    "gain35": (100, 0, 55.3, 99.9, 0, 55.3),
    "gain45": (100, 0, 38.9, 100, 0, 39.0),
    "flat10": (23.4, 0.2, 182.0, 20.3, 0.1, 109.9),
    "flat20": (72.6, 0, 137.1, 67.2, 0, 111.8),
    "flat35": (99.7, 0, 69.4, 99.0, 0, 68.4),
    "flat45": (100, 0, 48.1, 100, 0, 48.1),
}


def table_2(run: Run) -> None:
    """The sign test with futility, 20 cases, cap 100 pairs, a look after every pair."""
    experiments = run.experiments(20_000, 300)
    run.write(
        "## 2. The sequential design for these cases",
        "",
        f"20 cases, at most 100 pairs, a look after every pair; {experiments:,} experiments a row. Rates in percent "
        "within 1.2 points, mean calls within 2. Each cell: measured (stated).",
        "",
        "| truth | helps | hurts | calls | with futility: helps | hurts | calls |",
        "|---|---|---|---|---|---|---|",
    )
    for name, stated in TABLE_2.items():

        def simulate(
            size: int, seed: str, name: str = name, stated: tuple[float, float, float, float, float, float] = stated
        ) -> list[Figure]:
            counts = count_both(name, cases=20, claim="these cases", experiments=size, seed=seed)
            figures = []
            for count, (helps, hurts, calls) in zip(counts, (stated[:3], stated[3:]), strict=True):
                figures += [
                    _rate(run, "helps", count.rate("helps"), helps, 1.2, size),
                    _rate(run, "hurts", count.rate("hurts"), hurts, 1.2, size),
                    _calls(run, count.mean_calls, calls, 2, 200, size),
                ]
            return figures

        figures = run.settle(simulate, experiments=experiments, name=f"table 2 {name}")
        run.write(f"| {name} | {' | '.join(map(str, figures))} |")
    run.write("")


def _rate(run: Run, what: str, measured: float, stated: float, tolerance: float, size: int) -> Figure:
    return Figure(what=what, measured=measured, stated=stated, tolerance=run.allow(tolerance, stated, size))


def _calls(run: Run, measured: float, stated: float, tolerance: float, cap: float, size: int) -> Figure:
    chance = 4 * 0.3 * cap / math.sqrt(size) if run.fast else 0.0
    return Figure(what="calls", measured=measured, stated=stated, tolerance=tolerance + chance)


# ---------------------------------------------------------------- table 3: the sequential design for cases like these

COLUMNS_3 = ("B55", "half", "sat", "het", "skew", "gain10", "gain20", "gain35", "gain45", "respond20", "respond35")
# Per number of cases, without futility and with it: percent decided, and mean calls. From another implementation, in
# numpy, with 8,000 experiments a cell.
TABLE_3: dict[int, tuple[dict[str, tuple[float, float | None]], dict[str, tuple[float, float | None]]]] = {
    10: (
        {
            "B55": (0.2, 99.9), "half": (2.3, 98.8), "sat": (0, 100), "het": (4.1, 97.7),
            "skew": (3.4, 98.2), "gain10": (2.4, 98.9), "gain20": (13.1, 93.8), "gain35": (49.5, 73.8),
            "gain45": (72.6, 56.1), "respond20": (7.5, 95.8), "respond35": (37.6, 78.7),
        },
        {
            "B55": (0.1, 39.2), "half": (2.3, 38.2), "sat": (0, 36.3), "het": (4, 39.1),
            "skew": (2.9, 38.5), "gain10": (2.1, 46.1), "gain20": (11.9, 58.5), "gain35": (48.4, 63.6),
            "gain45": (73, 53.8), "respond20": (8.3, 54.7), "respond35": (37.7, 63.5),
        },
    ),
    20: (
        {
            "B55": (2, 198.2), "half": (5.2, 194.7), "sat": (0.1, 200), "het": (4, 195.1),
            "skew": (4.5, 194.9), "gain10": (26.1, 180.5), "gain20": (73.5, 130.5), "gain35": (99, 61.4),
            "gain45": (100, 39.2), "respond20": (41.5, 154), "respond35": (90.6, 76.5),
        },
        {
            "B55": (1.8, 82.8), "half": (4.3, 81.5), "sat": (0, 73.9), "het": (4, 85.5),
            "skew": (4.6, 83.2), "gain10": (20.9, 101.5), "gain20": (67.4, 106.8), "gain35": (98.4, 60.5),
            "gain45": (99.9, 39.1), "respond20": (40.8, 117.5), "respond35": (90.7, 73.2),
        },
    ),
    40: (
        {
            "B55": (3.5, 197.5), "half": (4.6, 195.8), "sat": (0.9, 199.6), "het": (4, 196),
            "skew": (4.4, 196.1), "gain10": (31.6, 178.4), "gain20": (84.4, 125.7), "gain35": (99.9, 57.2),
            "gain45": (100, 38.7), "respond20": (71.8, 131.8), "respond35": (99.5, 60.1),
        },
        {
            "B55": (3.6, 98.4), "half": (3.6, 94.6), "sat": (0.4, 80.8), "het": (3.8, 93),
            "skew": (4, 94.4), "gain10": (26.8, 119.5), "gain20": (80, 111.2), "gain35": (99.6, 57.4),
            "gain45": (100, 38.8), "respond20": (69.2, 116.7), "respond35": (99.3, 60.3),
        },
    ),
    50: (
        {
            "B55": (3.3, 197.6), "half": (3.8, 197), "sat": (0.9, 199.5), "het": (3.7, 196.8),
            "skew": (3.7, 196.8), "gain10": (31.5, 181.9), "gain20": (85.9, 129.5), "gain35": (99.9, 58.2),
            "gain45": (100, 40), "respond20": (76.4, 132.8), "respond35": (99.8, 61),
        },
        {
            "B55": (3.1, 93.8), "half": (3.7, 103.3), "sat": (0.6, 72), "het": (3.8, 105.7),
            "skew": (3.8, 103.8), "gain10": (27.4, 119.2), "gain20": (79.6, 111.7), "gain35": (99.5, 57.6),
            "gain45": (100, 40.3), "respond20": (73.1, 114.2), "respond35": (99.2, 60.2),
        },
    ),
}  # fmt: skip


def table_3(run: Run) -> None:
    """The design the product follows with six cases or more; only verdicts about cases like these are counted."""
    experiments = run.experiments(12_000, 150)
    run.write(
        "## 3. The sequential design for new cases",
        "",
        f"The default cap; {experiments:,} experiments a cell. Verdicts on new cases, in percent: false down to skew, "
        "right after it. Stated figures are from another implementation, in numpy; within three standard errors of "
        "both and 0.3 points. Mean calls within 2 calls or 2%, whichever is more.",
        "",
        "| cases | n | helps or hurts | calls | with futility: helps or hurts | calls |",
        "|---|---|---|---|---|---|",
    )
    for cases, rows in TABLE_3.items():
        for name in COLUMNS_3:
            figures = run.settle(
                partial(_decide, run, cases, name, rows[0][name], rows[1][name]),
                experiments=experiments,
                name=f"table 3 {name} {cases}",
            )
            cells = {figure.what: str(figure) for figure in figures}
            shown = [cells.get(what, "") for what in ("either", "calls", "either, futility", "calls, futility")]
            run.write(f"| {name} | {cases} | {' | '.join(shown)} |")
    run.write("")


def _decide(
    run: Run,
    cases: int,
    name: str,
    stated: tuple[float, float | None],
    stated_futility: tuple[float, float | None],
    size: int,
    seed: str,
) -> list[Figure]:
    counts = count_both(name, cases=cases, claim="cases like these", experiments=size, seed=seed)
    figures: list[Figure] = []
    for count, (percent, calls), suffix in zip(counts, (stated, stated_futility), ("", ", futility"), strict=True):
        # Three standard errors of both simulations.
        share = percent / 100
        whole = 300 * math.sqrt(share * (1 - share) * (1 / 8_000 + 1 / 12_000))
        figures.append(_rate(run, f"either{suffix}", count.rate("either"), percent, 0.3 + whole, size))
        if calls is not None:
            figure = _calls(run, count.mean_calls, calls, max(2, 0.02 * calls) + 0.5, 10 * cases, size)
            figures.append(
                Figure(
                    what=f"calls{suffix}", measured=figure.measured, stated=figure.stated, tolerance=figure.tolerance
                )
            )
    return figures


# ---------------------------------------------------------------- the whole path, as a person meets it


@dataclass(slots=True)
class Walk:
    """What was said in many whole evaluations, claim by claim."""

    runs: int = 0
    like: int = 0
    like_false: int = 0
    these: int = 0
    these_false: int = 0
    covered: int = 0
    calls: int = 0

    def __add__(self, other: "Walk") -> "Walk":
        return Walk(*map(add, astuple(self), astuple(other)))

    def add(self, judgement: Judgement, *, lift: float, own_lift: float) -> None:
        self.runs += 1
        assert judgement.lift is not None
        self.calls += 2 * judgement.lift.pairs
        wide = judgement.lift.cases_like_these
        self.covered += wide is not None and _covers(wide, lift)
        if judgement.verdict not in ("helps", "hurts"):
            return
        sign = 1 if judgement.verdict == "helps" else -1
        if judgement.claim == "cases like these":
            self.like += 1
            self.like_false += sign * lift <= 0
        else:
            self.these += 1
            self.these_false += sign * own_lift <= 0

    def percent(self, hits: int) -> float:
        return 100 * hits / self.runs


def walk(name: str, *, cases: int, experiments: int, seed: str, errors: float = 0.0) -> Walk:
    """Whole evaluations: pairs in planned order, a look after every one, a judgement at the end."""
    rng = random.Random(seed)
    source = generator(name)
    walk = Walk()
    for _ in range(experiments):
        drawn = source.cases(rng, cases)
        design = Sequential(cases=cases)
        pairs = islice(planned_pairs(rng, drawn, -(-design.cap // cases)), design.cap)
        feed(design, with_errors(rng, pairs, errors) if errors else pairs, [])
        own = math.fsum(skilled - base for base, skilled in drawn) / cases
        walk.add(judge(design.pairing, decision=design.decision, level=design.level), lift=source.lift, own_lift=own)
    return walk


def with_errors(rng: random.Random, pairs: Iterator[Pair], share: float) -> Iterator[Pair | DroppedPair]:
    """Drop a share of the pairs, in both arms alike, and run them again at the end of the queue."""
    again: list[Pair] = []
    for pair in pairs:
        if rng.random() < share:
            again.append(pair)
            yield DroppedPair(case_id=pair.case_id, repeat=pair.repeat, passed=None, passed_against=None)
        else:
            yield pair
    yield from again


def walk_fixed(name: str, *, cases: int, repeats: int, experiments: int, seed: str) -> Walk:
    """Whole evaluations of fixed size."""
    rng = random.Random(seed)
    source = generator(name)
    walk = Walk()
    for _ in range(experiments):
        drawn = source.cases(rng, cases)
        pairing = Pairing(arm="with_skill", against="baseline", pairs=tuple(planned_pairs(rng, drawn, repeats)))
        own = math.fsum(skilled - base for base, skilled in drawn) / cases
        walk.add(judge(pairing), lift=source.lift, own_lift=own)
    return walk


def count_shown(name: str, *, min_lift: float, experiments: int, seed: str) -> tuple[float, float]:
    """How often, in percent, a lift that was asked for is said to be shown, and to be excluded."""
    rng = random.Random(seed)
    source = generator(name)
    shown = excluded = 0
    for _ in range(experiments):
        design = Sequential(cases=20, min_lift=min_lift)
        clears = feed(design, planned_pairs(rng, source.cases(rng, 20), 5), []).decision.clears
        shown += clears is True
        excluded += clears is False
    return 100 * shown / experiments, 100 * excluded / experiments


def table_4(run: Run) -> None:
    """False verdicts of every kind, and calls to a verdict."""
    experiments = run.experiments(10_000, 1_000)
    run.write(
        "## 4. False verdicts through the whole path",
        "",
        f"20 cases, true lift 0, at most 5 repeats, the verdict as it is printed; {experiments:,} evaluations a row, "
        "in percent. Every verdict on new cases is false, since their lift is 0. A verdict on these 20 cases is false "
        "if their own lift is 0 or has the other sign: in `het` and `skew` the drawn cases do have a lift. False "
        'verdicts together: at most 5. "Covered": how often the printed interval for new cases contains the true lift.',
        "",
        "| truth | new cases, false | these cases: claimed | of which false | false together | covered |",
        "|---|---|---|---|---|---|",
    )
    for name in ("B55", "half", "het", "skew"):
        path = Walk()

        def simulate(size: int, seed: str, name: str = name) -> list[Figure]:
            nonlocal path
            path = walk(name, cases=20, experiments=size, seed=seed)
            together = path.percent(path.like_false + path.these_false)
            return [Figure(what="false", measured=together, stated=5, tolerance=run.allow(0, 5, size), at_most=True)]

        (figure,) = run.settle(simulate, experiments=experiments, name=f"whole path {name}")
        run.write(
            f"| {name} | {path.percent(path.like_false):.1f} | {path.percent(path.these):.1f} "
            f"| {path.percent(path.these_false):.1f} | {figure} | {path.percent(path.covered):.1f} |"
        )
    run.write(
        "",
        "## 5. Calls to a verdict",
        "",
        f"20 cases, at most 200 calls, {experiments:,} evaluations a row. Mean calls within 5%.",
        "",
        "| true lift | calls | verdict on new cases, % | on these cases only, % | false, % | covered, % |",
        "|---|---|---|---|---|---|",
    )
    for name, calls in (("B55", 83), ("gain20", 107), ("gain35", 61), ("gain45", 39)):
        path = Walk()

        def simulate_calls(size: int, seed: str, name: str = name, calls: int = calls) -> list[Figure]:
            nonlocal path
            path = walk(name, cases=20, experiments=size, seed=seed)
            return [_calls(run, path.calls / path.runs, calls, 0.05 * calls, 200, size)]

        (figure,) = run.settle(simulate_calls, experiments=experiments, name=f"calls {name}")
        run.write(
            f"| {'0' if name == 'B55' else '+' + name[-2:]} | {figure} | {path.percent(path.like):.1f} "
            f"| {path.percent(path.these):.1f} | {path.percent(path.like_false + path.these_false):.1f} "
            f"| {path.percent(path.covered):.1f} |"
        )
    run.write("")


# ---------------------------------------------------------------- the corners of the path


def table_corners(run: Run) -> None:
    """The same limit where cases are few or many, where trials err, and where a lift is asked for."""
    experiments = run.experiments(5_000, 300)
    run.write(
        "## 6. Edge cases",
        "",
        f"{experiments:,} evaluations a row, in percent, at most 5. Every case passes half the time, with and without "
        "the skill: the most noise possible.",
        "",
        "| what | false verdicts |",
        "|---|---|",
    )

    def limit(what: str, measure: Callable[[int, str], float]) -> None:
        def simulate(size: int, seed: str) -> list[Figure]:
            allowed = run.allow(0, 5, size)
            return [Figure(what=what, measured=measure(size, seed), stated=5, tolerance=allowed, at_most=True)]

        (figure,) = run.settle(simulate, experiments=experiments, name=f"corner {what}")
        run.write(f"| {what} | {figure} |")

    def false_verdicts(size: int, seed: str, *, cases: int, errors: float = 0.0) -> float:
        found = walk("half", cases=cases, experiments=size, seed=seed, errors=errors)
        return found.percent(found.like_false + found.these_false)

    for cases in (4, 6, 10, 40):
        limit(f"{cases} cases", partial(false_verdicts, cases=cases))
    limit("20 cases, 10% of pairs errored and run again", partial(false_verdicts, cases=20, errors=0.1))
    limit(
        "true lift +10 on 20 cases (flat), at least +10 asked: said to be shown, or excluded",
        lambda size, seed: sum(count_shown("flat10", min_lift=0.1, experiments=size, seed=seed)),
    )
    run.write(
        "",
        "How often `--min-lift 0.1` is met, in percent, 20 cases, for information: "
        + "; ".join(
            f"true +{name[-2:]}: {count_shown(name, min_lift=0.1, experiments=experiments // 4, seed=name)[0]:.0f}"
            for name in ("gain20", "gain35", "gain45")
        )
        + ".",
        "",
        "Fixed designs make both claims from one look, for information:",
        "",
        "| truth | n | repeats | new cases, false | these cases only, false | covered |",
        "|---|---|---|---|---|---|",
    )
    for name, cases, repeats in (("B55", 20, 5), ("half", 20, 5), ("half", 20, 3), ("half", 10, 5), ("half", 5, 5)):
        found = walk_fixed(name, cases=cases, repeats=repeats, experiments=experiments, seed=f"{run.seed}/fixed/{name}")
        shown = [f"{found.percent(hits):.1f}" for hits in (found.like_false, found.these_false, found.covered)]
        shown[2] = shown[2] if cases >= FEWEST_CASES else "none printed"
        run.write(f"| {name} | {cases} | {repeats} | {' | '.join(shown)} |")
        run.say(f"fixed {name} {cases}x{repeats}: {shown}")
    run.write("")


# ---------------------------------------------------------------- what a plan can find


def table_plans(run: Run) -> None:
    """How often the lift the planning line names is found. For information: the line is a rule of thumb."""
    experiments = run.experiments(2_000, 50)
    run.write(
        "## 7. The planning line",
        "",
        f"The sequential design; {experiments:,} evaluations a row. The plan names the lift with about 80% power: a "
        "rule of thumb without a tolerance.",
        "",
        "| n | planned for new cases | detected (gain), % | detected (flat), % |",
        "|---|---|---|---|",
    )
    for cases in (10, 20, 40):
        lift = detectable_lift(cases=cases, pairs=default_cap(cases), sequential=True, claim="cases like these")
        assert lift is not None
        named = round(100 * lift)
        cells = []
        for kind in ("gain", "flat"):
            path = walk(f"{kind}{named}", cases=cases, experiments=experiments, seed=f"{run.seed}/plan/{kind}/{cases}")
            cells.append(f"{path.percent(path.like):.0f}")
        run.write(f"| {cases} | +{named} | {' | '.join(cells)} |")
        run.say(f"plan {cases}: +{named}: {cells}")
    run.write("")


# ---------------------------------------------------------------- the corrected lift, and harm in later looks


def judged(name: str, *, cases: int, experiments: int, seed: str, level: float = FIRST_LEVEL) -> Iterator[Judgement]:
    """Whole evaluations of a population, tested at this level; `-flat20` is its mirror image, a loss."""
    rng, mirrored = random.Random(seed), name.startswith("-")
    source = generator(name.removeprefix("-"))
    for _ in range(experiments):
        drawn = source.cases(rng, cases)
        design = Sequential(cases=cases, level=level)
        rates = [(after, before) for before, after in drawn] if mirrored else drawn
        feed(design, islice(planned_pairs(rng, rates, -(-design.cap // cases)), design.cap), [])
        yield judge(design.pairing, decision=design.decision, level=design.level)


def table_corrected(run: Run) -> None:
    """What a lift that was called `helps` says about its size. For information."""
    experiments = run.experiments(3_000, 100)
    run.write(
        "## 8. The corrected lift",
        "",
        f"{experiments:,} evaluations a row; those that were called `helps`. In points: the mean as measured and as "
        "corrected, and the root of the mean squared error of both. Below about +10 the correction is too small.",
        "",
        "| truth | n | helps, % | measured | corrected | error, measured | error, corrected |",
        "|---|---|---|---|---|---|---|",
    )
    for name, cases in product(("gain10", "gain20", "gain35", "gain45"), (20, 50)):
        truth = generator(name).lift
        told = judged(name, cases=cases, experiments=experiments, seed=f"{run.seed}/corrected/{name}/{cases}")
        lifts = [one.lift for one in told if one.verdict == "helps" and one.lift is not None]
        columns = [[one.mean for one in lifts], [one.corrected or 0.0 for one in lifts]]
        means = [f"{100 * fmean(values):.0f}" for values in columns]
        errors = [f"{100 * math.sqrt(fmean((value - truth) ** 2 for value in values)):.0f}" for values in columns]
        share = f"{100 * len(lifts) / experiments:.0f}"
        run.write(f"| +{name[-2:]} | {cases} | {' | '.join([share, *means, *errors])} |")
        run.say(f"corrected {name} {cases}: {share} {means} {errors}")
    run.write("")


def table_harm(run: Run) -> None:
    """How often a true loss is called `hurts`, at the first look and later ones."""
    experiments = run.experiments(3_000, 100)
    run.write(
        "## 9. Harm in later looks",
        "",
        f"A true loss of 20 points; {experiments:,} evaluations a cell; called `hurts`, in percent. Earlier looks "
        "found nothing that helps.",
        "",
        "| population | n | 1st look | 2nd | 10th |",
        "|---|---|---|---|---|",
    )
    for name, cases in product(("-flat20", "-gain20"), (20, 50)):
        shares = []
        for look in (1, 2, 10):
            level = level_after([False] * (look - 1))
            told = judged(
                name, cases=cases, experiments=experiments, seed=f"{run.seed}/harm/{name}/{cases}", level=level
            )
            shares.append(100 * sum(one.verdict == "hurts" for one in told) / experiments)
        run.write(
            f"| {name.removeprefix('-')}, mirrored | {cases} | {' | '.join(f'{share:.0f}' for share in shares)} |"
        )
        stated = Figure(
            what=f"harm {name} {cases}", measured=shares[2], stated=shares[0], tolerance=run.allow(2, 50, experiments)
        )
        run.figures.append(stated)
        run.say(f"harm {name} {cases}: {shares}")
    run.write("")


def main() -> int:
    """Run the tables and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="fewer experiments, tolerances widened by chance")
    parser.add_argument("--times", type=int, default=1, help="with --fast: so many times its few experiments")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="where to write the report; in fast mode nowhere by default")
    options = parser.parse_args()
    run = Run(fast=options.fast, times=options.times, seed=options.seed)
    for table in (table_1, table_2, table_3, table_4, table_corners, table_plans, table_corrected, table_harm):
        table(run)
    outside = [figure for figure in run.figures if not figure.inside]
    head = [
        "# The tables behind the statistics",
        "",
        "Written by `python -m benchmarks.statistics_tables`; do not edit. The product's own code judges simulated "
        "pairs. Stated figures for these cases are those by which the design was chosen; those for new cases come from "
        "another implementation, in numpy.",
        "",
        f"**{len(run.figures) - len(outside)} of {len(run.figures)} figures are inside their tolerance.** Seed "
        f"{run.seed}. "
        + (
            "Made with `--fast`: the tolerances are widened by four standard errors of so few experiments."
            if run.fast
            else "A row with a figure outside is simulated again with five times the experiments, and the second "
            f"result counts: {run.repeated} rows."
        ),
        "",
        "Populations of cases (pass rate without → with the skill): B55: both the same, from Beta(.5, .5). half: "
        "both .5. sat: both the same, from Beta(8, .5). het: .25 → .75 or .75 → .25, by a fair coin. skew: in 80% "
        ".40 → .55, in 20% .80 → .20. gain L: b from Beta(.5, .5) → b + (1 - b) * 2L. flat L: .5 - L/2 → .5 + L/2. "
        "respond L: b from Beta(.5, .5) → max(b, .95) in as many cases as give a mean of L.",
        "",
    ]
    text = "\n".join([*head, *run.lines]).rstrip() + "\n"
    target = options.output or (None if options.fast else REPORT)
    if target is not None:
        target.write_text(text, encoding="utf-8")
    print(f"{len(run.figures) - len(outside)} of {len(run.figures)} figures inside their tolerance")
    for figure in outside:
        print(f"outside: {figure.what} {figure}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
