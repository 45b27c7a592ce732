"""The tables behind the statistics, with the schedule and the conclusion of the product over simulated answers.

    python -m benchmarks.statistics_tables            every table, 15 minutes on two cores; writes benchmarks/results/
    python -m benchmarks.statistics_tables --fast     a tenth of the evaluations, with wider limits; writes nothing

The exit code is 1 if more figures are beyond their limits than chance explains.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

from tools.simulation.evaluation import Answer, Answers, by_rates, evaluate, nearly_the_same, remembered
from tools.simulation.populations import Rates, generator

from upskill.core.nouns import Arm
from upskill.core.nouns.plan import Design
from upskill.core.statistics.intervals import new_cases
from upskill.core.statistics.pairs import CaseTally
from upskill.core.statistics.planning import DETECTABLE

PAGE = Path(__file__).parent / "results" / "statistics.md"
SIZES = (6, 8, 12, 20, 40)
MOST_FALSE = 2.7
"""False `helps`, or false `hurts`, in percent."""
EXACT = 3.3
"""The limit of 2.7 and two standard errors of 3,000 evaluations, where nothing is drawn."""
EXTREME = 4.3
"""The same where nine cases in ten change, half of them each way, eight cases are asked and answers are copies."""
LEAST_COVERAGE = 94.5
CHUNK = 100
HEAD = """# The tables behind the statistics

Written by `python -m benchmarks.statistics_tables`; do not edit. Answers are drawn at random; the product's own
schedule asks for them and its own conclusion judges them. Seed {seed}. **{inside} of {figures} figures are within their
limits**, two standard errors of the simulation included; by chance alone about one in forty is not.

Students: `copies` gives the same answer each time. `near` does, but 2.5% of its grades flip and its words differ.
`gain` samples: its baseline is Beta(.5, 4.5), and all cases improve alike. `all or nothing` samples: a case improves to
.95 or not at all.
"""


class Outcome(NamedTuple):
    """What came of one evaluation."""

    helps: bool
    hurts: bool
    calls: int
    covers: bool = True
    width: float = 0.0
    broken: int = 0


Run = Callable[[random.Random], Outcome]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """Many evaluations alike."""

    name: str
    run: Run
    evaluations: int


@dataclass(kw_only=True)
class Tables:
    """One making of all tables."""

    seed: int
    share: float
    processes: int
    lines: list[str] = field(default_factory=list)
    figures: int = 0
    beyond: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def measure(self, cells: Sequence[Cell]) -> list[list[Outcome]]:
        """The outcomes of each cell, from several processes."""
        tasks = [
            (cell.run, f"{self.seed}/{cell.name}/{start}", min(CHUNK, self._count(cell) - start))
            for cell in cells
            for start in range(0, self._count(cell), CHUNK)
        ]
        with Pool(self.processes) as pool:
            parts = iter(pool.starmap(_outcomes, tasks, chunksize=1))
        found = [[one for _ in range(0, self._count(cell), CHUNK) for one in next(parts)] for cell in cells]
        print(f"{time.monotonic() - self.began:5.0f}s  {cells[0].name} and {len(cells) - 1} more", file=sys.stderr)
        return found

    def _count(self, cell: Cell) -> int:
        return max(CHUNK, round(cell.evaluations * self.share))

    def limited(
        self, what: str, percent: float, of: int, *, most: float | None = None, least: float | None = None
    ) -> str:
        """The figure as it is printed, marked where it is beyond its limit."""
        self.figures += 1
        errors = 2 if self.share >= 1 else 4
        wanted = most if most is not None else least or 0.0
        chance = errors * 100 * math.sqrt(wanted / 100 * (1 - wanted / 100) / of)
        bad = (most is not None and percent > most + chance) or (least is not None and percent < least - chance)
        if bad:
            self.beyond.append(f"{what}: {percent:.1f}")
        return f"{percent:.1f}{' **beyond**' if bad else ''}"

    def table(self, title: str, words: str, head: str, rows: Iterable[str]) -> None:
        columns = head.count("|") - 1
        self.lines += ["", f"## {title}", "", words, "", head, "|" + "---|" * columns, *rows]


def _outcomes(run: Run, seed: str, evaluations: int) -> list[Outcome]:
    rng = random.Random(seed)
    return [run(rng) for _ in range(evaluations)]


def percent(outcomes: Sequence[Outcome], side: str) -> float:
    return 100 * sum(bool(getattr(one, side)) for one in outcomes) / len(outcomes)


def mean_calls(outcomes: Sequence[Outcome]) -> float:
    return sum(one.calls for one in outcomes) / len(outcomes)


# ---------------------------------------------------------------- students


def grades_of(rng: random.Random, wins: float, losses: float, passing: float) -> tuple[bool, bool]:
    """The grades of one case without the skill and with it."""
    draw = rng.random()
    if draw < wins:
        return False, True
    if draw < wins + losses:
        return True, False
    passes = rng.random() < passing
    return passes, passes


def student(rng: random.Random, kind: str, cases: int, lift: float) -> Answers:
    """A student whose skill gains this much, in the mean."""
    if kind in ("copies", "near"):
        grades = [grades_of(rng, lift + 0.05, 0.05, 0.1) for _ in range(cases)]
        return nearly_the_same(rng, grades, flips=0.025 if kind == "near" else 0.0)
    rates: list[Rates] = []
    for _ in range(cases):
        base = rng.betavariate(0.5, 4.5)
        if kind == "gain":
            rates.append((base, base + (1 - base) * lift / 0.9))
        else:
            rates.append((base, 0.95 if rng.random() < lift / 0.85 else base))
    return by_rates(rng, rates)


def useless(rng: random.Random, kind: str, cases: int) -> Answers:
    """A student whom the skill does not help in the mean over all cases."""
    if kind.startswith(("copies", "near", "half near")):
        share = int(kind.rsplit(" ", 1)[1]) / 100
        grades = [grades_of(rng, share, share, 0.5) for _ in range(cases)]
        steady = nearly_the_same(rng, grades, flips=0.0 if kind.startswith("copies") else 0.025)
        if not kind.startswith("half"):
            return steady
        # On half of the cases the student samples, each answer a coin.
        coins = by_rates(rng, [(0.5, 0.5)] * cases)
        tossed = [rng.random() < 0.5 for _ in range(cases)]
        return lambda case, arm, repeat: (coins if tossed[case] else steady)(case, arm, repeat)
    return by_rates(rng, generator(kind).cases(rng, cases))


def lossy(rng: random.Random, answers: Answers, share: float) -> Answers:
    """Of its failing answers with the skill, so many are lost on the way and asked for once more."""

    def draw(case: int, arm: Arm, repeat: int) -> Answer:
        answer = answers(case, arm, repeat)
        if answer.passed or arm != "with_skill" or rng.random() >= share:
            return answer
        again = answers(case, arm, 1000 + repeat)
        return Answer(passed=again.passed, text=again.text, lost=1)

    return remembered(draw)


# ---------------------------------------------------------------- one evaluation of each kind


def of_student(rng: random.Random, *, kind: str, cases: int, lift: float, once: bool = False) -> Outcome:
    found = evaluate(student(rng, kind, cases, lift), cases=range(cases), design="fixed" if once else "two looks")
    return Outcome(found.helps, found.hurts, found.calls)


def of_useless(
    rng: random.Random, *, kind: str, cases: int, design: Design = "two looks", lost: float = 0.0
) -> Outcome:
    answers = useless(rng, kind, cases)
    found = evaluate(lossy(rng, answers, lost) if lost else answers, cases=range(cases), design=design)
    return Outcome(found.helps, found.hurts, found.calls)


def of_families(rng: random.Random, *, kind: str, families: int, members: int, named: bool) -> Outcome:
    """Cases of one family share one draw; where nobody names the families, each case is taken for a draw of its own."""
    drawn = generator(kind).cases(rng, families)
    answers = by_rates(rng, [rates for rates in drawn for _ in range(members)])
    place = [number // members if named else None for number in range(families * members)]
    found = evaluate(answers, cases=range(families * members), families=place)
    return Outcome(found.helps, found.hurts, found.calls)


def of_coverage(
    rng: random.Random, *, kind: str, cases: int, lift: float, design: Design, repeats: int | None
) -> Outcome:
    """Whether the interval holds the true lift over all cases of the kind."""
    if kind in ("copies", "near", "gain", "all or nothing"):
        answers = student(rng, kind, cases, lift)
    else:
        answers = useless(rng, kind, cases)
    found = evaluate(answers, cases=range(cases), design=design, repeats=repeats)
    interval = found.report.lifts[0].interval
    return Outcome(
        found.helps, found.hurts, found.calls, interval.low <= lift <= interval.high, interval.high - interval.low
    )


def of_gate(rng: random.Random, *, cases: int, rate: float, broken: int, copies: bool) -> Outcome:
    """A version that breaks so many cases; `copies`: an answer that passes has always the same text."""

    def draw(case: int, arm: Arm, repeat: int) -> Answer:  # noqa: ARG001 - the signature of answers
        passed = rng.random() < rate and not (arm == "with_skill" and case < broken)
        return Answer(passed=passed, text=f"{passed}" if copies else f"{rng.random()}")

    found = evaluate(remembered(draw), cases=range(cases), design="gate")
    report = found.report
    return Outcome(False, report.verdict == "hurts", found.calls, broken=len(report.broken) + len(report.suspected))


# ---------------------------------------------------------------- tables

POWER = {
    (8, 0.50): {"copies": (40, 20), "near": (39, 35), "gain": (65, 35), "all or nothing": (48, 35)},
    (12, 0.35): {"copies": (38, 28), "near": (36, 52), "gain": (67, 51), "all or nothing": (50, 51)},
    (20, 0.20): {"copies": (30, 44), "near": (28, 87), "gain": (57, 87), "all or nothing": (40, 88)},
    (40, 0.20): {"copies": (67, 82), "near": (56, 117), "gain": (86, 114), "all or nothing": (71, 115)},
}
"""`helps` in percent and calls, as reviewed; `gain` with 12 and 20 cases with the mended hull, which costs 5 to 7."""


def power(run: Tables) -> None:
    cells = [
        Cell(
            name=f"{kind} {cases} {lift} {once}",
            evaluations=1_000 if not once else 500,
            run=partial(of_student, kind=kind, cases=cases, lift=lift, once=once),
        )
        for (cases, lift), kinds in POWER.items()
        for kind in kinds
        for once in (False, True)
    ]
    found = iter(run.measure(cells))
    rows = []
    for (cases, lift), kinds in POWER.items():
        for kind, (reviewed, calls) in kinds.items():
            both, once = next(found), next(found)
            shown = run.limited(f"power {kind} {cases}", percent(both, "helps"), len(both), least=reviewed - 3)
            rows.append(
                f"| {cases}, +{100 * lift:.0f} | {kind} | {shown} | {reviewed} | {mean_calls(both):.0f} | {calls} "
                f"| {percent(once, 'helps'):.0f} | {2 * cases} |"
            )
    words = (
        "How often a skill that truly helps is said to help on new cases, and the mean number of answers. `Reviewed` "
        "is what a review of the design found with another program; the limit is 3 points below it. `Once` is the "
        "design of temperature 0 and of `--runs 1`."
    )
    head = "| cases, lift | student | `helps`, % | reviewed | calls | reviewed | once: `helps`, % | calls |"
    run.table("1. A skill that helps", words, head, rows)


NULLS = (
    *("half", "het", "skew", "break", "break05", "B55", "sat"),
    *("copies 5", "copies 15", "copies 30", "copies 45", "near 15", "near 45", "half near 15", "half near 45"),
)


def nulls(run: Tables) -> None:
    cells = [
        Cell(name=f"null {kind} {cases}", evaluations=3_000, run=partial(of_useless, kind=kind, cases=cases))
        for kind in NULLS
        for cases in SIZES
    ]
    found = iter(run.measure(cells))
    rows = []
    for kind in NULLS:
        figures = []
        for cases in SIZES:
            outcomes = next(found)
            most = EXTREME if cases == 8 and kind.endswith(" 45") else MOST_FALSE
            sides = [
                run.limited(f"{side} {kind} {cases}", percent(outcomes, side), len(outcomes), most=most)
                for side in ("helps", "hurts")
            ]
            figures.append(f"{' / '.join(sides)}; {mean_calls(outcomes):.0f}")
        rows.append(f"| {kind} | {' | '.join(figures)} |")
    words = (
        f"False `helps` / false `hurts` in percent, and calls, 3,000 evaluations a cell; limit {MOST_FALSE} a side. "
        "half: every answer is a coin. het: .25 to .75 or back, by a coin. skew: four in five .40 to .55, one .80 to "
        ".20. break, break05: most cases gain a little, one in ten or in twenty breaks. B55, sat: nothing changes. "
        "copies N, near N: N% win and N% lose. half near: half of the cases do, the other half are coins (missed "
        f"copies). The extreme cell has 8 cases of which nine in ten change, half of them each way: limit {EXTREME}."
    )
    head = "| cases | " + " | ".join(f"n = {cases}" for cases in SIZES) + " |"
    run.table("2. A skill that does nothing", words, head, rows)


def exact_nulls(run: Tables) -> None:
    """One answer a case and arm: the chance of each outcome is known, so nothing is drawn."""
    rows = []
    for cases in sorted({*SIZES, 30, 50}):
        false = {share / 100: _false_helps(cases, share / 100) for share in range(1, 50)}
        worst = max(false, key=lambda share: false[share])
        shown = run.limited(f"exact {cases}", 100 * false[worst], 10**9, most=EXTREME if cases == 8 else EXACT)
        rows.append(f"| {cases} | {shown} | {100 * worst:.0f}% win, {100 * worst:.0f}% lose |")
    words = (
        "The same where answers are copies or every case is asked once, by counting: false `helps` in percent at the "
        f"worst share of cases that change, half of them each way. Limit {EXACT}; with 8 cases {EXTREME}."
    )
    run.table("2a. A skill that does nothing, exactly", words, "| cases | worst | where |", rows)


def _false_helps(cases: int, share: float) -> float:
    return math.fsum(
        math.comb(cases, wins)
        * math.comb(cases - wins, losses)
        * share ** (wins + losses)
        * (1 - 2 * share) ** (cases - wins - losses)
        for wins, losses in _claims(cases)
    )


@cache
def _claims(cases: int) -> tuple[tuple[int, int], ...]:
    """The numbers of wins and losses from which new cases are said to be helped."""
    found = []
    for wins in range(cases + 1):
        for losses in range(cases - wins + 1):
            tallies = [
                CaseTally(case_id=f"{n}", pairs=1, passed=int(n < wins), passed_against=int(wins <= n < wins + losses))
                for n in range(cases)
            ]
            interval = new_cases(tallies)
            if interval is not None and interval.above_zero:
                found.append((wins, losses))
    return tuple(found)


def nulls_beside(run: Tables) -> None:
    kinds = ("half", "het", "skew")
    made: list[tuple[str, Callable[[str], Run]]] = [
        *(
            (f"{families} families of {members}, named", partial(_families, families, members, True))
            for families, members in ((6, 4), (8, 3), (12, 3), (20, 2))
        ),
        *(
            (f"{cases} cases, {share:.0%} of failing answers lost and asked again", partial(_lossy, cases, share))
            for cases in (12, 20, 40)
            for share in (0.1, 0.3)
        ),
    ]
    cells = [Cell(name=f"{name} {kind}", evaluations=3_000, run=of(kind)) for name, of in made for kind in kinds]
    found = iter(run.measure(cells))
    rows = []
    for name, _ in made:
        figures = [
            run.limited(f"{name} {kind}", percent(outcomes, "helps"), len(outcomes), most=MOST_FALSE)
            for kind in kinds
            for outcomes in [next(found)]
        ]
        rows.append(f"| {name} | {' | '.join(figures)} |")
    words = f"False `helps` in percent, 3,000 evaluations a cell; limit {MOST_FALSE}."
    run.table("3. Families and lost answers", words, "| what | half | het | skew |", rows)


def _families(families: int, members: int, named: bool, kind: str) -> Run:
    return partial(of_families, kind=kind, families=families, members=members, named=named)


def _lossy(cases: int, share: float, kind: str) -> Run:
    return partial(of_useless, kind=kind, cases=cases, lost=share)


def coverage(run: Tables) -> None:
    kinds = (("het", 0.0), ("skew", 0.0), ("break", 0.0), ("copies", 0.35), ("gain", 0.35), ("all or nothing", 0.35))
    designs: tuple[tuple[str, Design, int | None], ...] = (
        ("once", "fixed", 1), ("`--runs 5`", "fixed", 5), ("two looks", "two looks", None)
    )  # fmt: skip
    cells = [
        Cell(
            name=f"coverage {kind} {cases} {name}",
            evaluations=2_000,
            run=partial(of_coverage, kind=kind, cases=cases, lift=lift, design=design, repeats=repeats),
        )
        for kind, lift in kinds
        for name, design, repeats in designs
        for cases in (6, 12, 20, 40)
    ]
    found = iter(run.measure(cells))
    rows = []
    for kind, lift in kinds:
        for name, _, _ in designs:
            figures = []
            for cases in (6, 12, 20, 40):
                outcomes = next(found)
                shown = run.limited(
                    f"coverage {kind} {name} {cases}", percent(outcomes, "covers"), len(outcomes), least=LEAST_COVERAGE
                )
                figures.append(f"{shown} / {100 * sum(one.width for one in outcomes) / len(outcomes):.0f}")
            rows.append(f"| {kind}, {100 * lift:+.0f} | {name} | {' | '.join(figures)} |")
    words = (
        "How often the printed interval holds the true lift, in percent, and its mean width in points; "
        f"least {LEAST_COVERAGE}."
    )
    run.table("4. The interval", words, "| cases, lift | design | n = 6 | n = 12 | n = 20 | n = 40 |", rows)


def detectable(run: Tables) -> None:
    cells = [
        Cell(
            name=f"detectable {cases}",
            evaluations=1_000 if cases <= 40 else 400,
            run=partial(of_student, kind="copies", cases=cases, lift=lift, once=True),
        )
        for cases, lift in DETECTABLE.items()
    ]
    rows = []
    for (number, lift), outcomes in zip(DETECTABLE.items(), run.measure(cells), strict=True):
        shown = run.limited(f"detectable {number}", percent(outcomes, "helps"), len(outcomes), least=77)
        rows.append(f"| {number} | {100 * lift:.0f} | {shown} |")
    words = (
        "The table of `core/statistics/planning.py`: the smallest lift, in steps of 2 points, that is said to help in "
        "four of five evaluations of `copies`. Least 77%."
    )
    run.table("5. What a plan can find", words, "| cases | lift | `helps`, % |", rows)


GATES = ((0.8, False), (0.8, True), (0.9, False), (1.0, False), (0.5, False))


def gate(run: Tables) -> None:
    counts = (0, 1, 2, 3, 5)
    cells = [
        Cell(
            name=f"gate {rate} {copies} {broken}",
            evaluations=2_000,
            run=partial(of_gate, cases=12, rate=rate, broken=broken, copies=copies),
        )
        for rate, copies in GATES
        for broken in counts
    ]
    found = iter(run.measure(cells))
    rows = []
    for rate, copies in GATES:
        figures = []
        for broken in counts:
            outcomes = next(found)
            passed = 100 * sum(not one.broken and not one.hurts for one in outcomes) / len(outcomes)
            what = f"gate {rate} {copies} {broken}"
            if rate < 0.8 or broken == 1:
                shown = f"{passed:.1f}"
            elif broken:
                shown = run.limited(what, passed, len(outcomes), most=5.0)
            else:
                shown = run.limited(what, passed, len(outcomes), least=98.0)
            figures.append(f"{shown}; {mean_calls(outcomes):.0f}")
        rows.append(f"| {rate}{', the same words each time' if copies else ''} | {' | '.join(figures)} |")
    words = (
        "How often `--compare … --require no-harm` is met, in percent, and calls: 12 cases that both versions pass "
        "with this probability, of which the new one breaks so many. At most 5% where two or more are broken, at "
        "least 98% where none is. Of cases that pass every other time the gate misses most, and says that it cannot "
        "guard them."
    )
    run.table("6. The gate", words, "| passes with | 0 broken | 1 | 2 | 3 | 5 |", rows)


def few(run: Tables) -> None:
    designs: tuple[tuple[Design, int | None], ...] = (("two looks", None), ("fixed", 1), ("fixed", 10))
    cells = [
        Cell(
            name=f"few {cases} {design}",
            evaluations=5_000,
            run=partial(_few, cases=cases, design=design, repeats=repeats),
        )
        for cases in range(1, 6)
        for design, repeats in designs
    ]
    found = iter(run.measure(cells))
    rows = [
        f"| {cases} | "
        + " | ".join(
            run.limited(f"few {cases}", percent(outcomes, "helps"), len(outcomes), most=MOST_FALSE)
            for outcomes in [next(found) for _ in range(3)]
        )
        + " |"
        for cases in range(1, 6)
    ]
    words = (
        "False `helps on these cases` in percent with fewer than six cases, where every answer is a coin; "
        f"limit {MOST_FALSE}."
    )
    run.table("7. Few cases", words, "| cases | two looks | `--runs 1` | `--runs 10` |", rows)


def _few(rng: random.Random, *, cases: int, design: Design, repeats: int | None) -> Outcome:
    found = evaluate(by_rates(rng, [(0.5, 0.5)] * cases), cases=range(cases), design=design, repeats=repeats)
    return Outcome(found.report.verdict == "helps", found.report.verdict == "hurts", found.calls)


TABLES = (power, nulls, exact_nulls, nulls_beside, coverage, detectable, gate, few)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    typed = parser.parse_args()
    run = Tables(seed=typed.seed, share=0.1 if typed.fast else 1.0, processes=typed.processes)
    for table in TABLES:
        table(run)
    page = (
        HEAD.format(seed=run.seed, inside=run.figures - len(run.beyond), figures=run.figures)
        + "\n".join(run.lines)
        + "\n"
    )
    if typed.fast:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
    for line in run.beyond:
        print(f"beyond: {line}", file=sys.stderr)
    return 1 if len(run.beyond) > run.figures / 20 else 0


if __name__ == "__main__":
    sys.exit(main())
