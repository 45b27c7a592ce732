"""Tables of what people do around an evaluation, of coverage and of power, with the very code that measures skills.

    python -m benchmarks.attacks            every table, 3,000 persons a cell; writes benchmarks/results/attacks.md;
                                            benchmarks.attacks_end_to_end writes its last section
    python -m benchmarks.attacks --fast     a share of them, with limits for so few; writes nothing

The exit code is 1 if a figure is beyond its limit. Needs nothing but the standard library and this repository.
"""

import argparse
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import TypeVar

from tools.simulation import drift
from tools.simulation.attacks import ATTACKS, BREAKAGE, Attack, Person, Row, count_false
from tools.simulation.coverage import cover, cover_responders
from tools.simulation.populations import generator

from benchmarks.page_sections import last_section
from benchmarks.statistics_tables import Walk, walk
from upskill.core.statistics import FEWEST_CASES

HERE = Path(__file__).parent
REPORT = HERE / "results" / "attacks.md"
BEFORE = HERE / "attacks_before.json"
"""What the same attacks gave at commit 434b918, before looks, lost answers and copies were counted."""
LIMIT = 5.0
"""False `helps`, in percent, that no attack may exceed."""
LEAST_COVERAGE = 94.0
CHUNK = 250
"""Persons in one task of a process."""
SIZES = (6, 7, 12, 16, 20, 50, 100)
RUNS = (1, 5, 20)
USUAL = ("B55", "half", "sat", "het", "skew", "gain20", "gain35", "respond20")

Result = TypeVar("Result")


@dataclass(kw_only=True)
class Tables:
    """One run of all tables."""

    persons: int
    seed: int
    processes: int
    lines: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    figures: int = 0
    started: float = field(default_factory=time.monotonic)

    def write(self, *lines: str) -> None:
        self.lines += lines

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.started:6.0f}s  {text}", file=sys.stderr, flush=True)

    def spread(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """The results of the tasks, in their order, from several processes."""
        with Pool(self.processes) as pool:
            return pool.map(_call, tasks, chunksize=1)

    def chance(self, percent: float) -> float:
        """Two standard errors of the simulation, in points; the few persons of a fast run are allowed four."""
        share = percent / 100
        return (2 if self.persons >= 3_000 else 4) * 100 * math.sqrt(share * (1 - share) / self.persons)

    def limit(self, what: str, percent: float, *, most: float | None = None, least: float | None = None) -> str:
        """The figure as it is printed, marked where it is beyond its limit."""
        self.figures += 1
        high = most is not None and percent > most + self.chance(most)
        low = least is not None and percent < least - self.chance(least)
        if high or low:
            self.beyond.append(f"{what}: {percent:.1f}")
        return f"{percent:.1f}{' **beyond**' if high or low else ''}"


def _call(task: Callable[[], Result]) -> Result:
    return task()


# ---------------------------------------------------------------- attacks


Shares = dict[str, dict[str, tuple[float | None, float | None]]]
"""By row and population: false `helps` in percent, about cases like these, and about these cases only; `None` where it
was not measured."""


def measure_attacks(run: Tables, attacks: Iterable[Attack] = ATTACKS) -> Shares:
    shares: Shares = {}
    for attack in attacks:
        persons = max(1, round(attack.share * run.persons))
        cells = [(population, start) for population in attack.populations for start in range(0, persons, CHUNK)]
        tasks = [
            partial(
                count_false,
                attack,
                population,
                persons=min(CHUNK, persons - start),
                seed=f"{run.seed}/{attack.rows[0].what}/{population}/{start}",
            )
            for population, start in cells
        ]
        totals: dict[str, Counter[tuple[int, str]]] = {}
        for (population, _), found in zip(cells, run.spread(tasks), strict=True):
            totals.setdefault(population, Counter()).update(found)
        for row in attack.rows:
            shares[row.what] = {
                population: (100 * found[row.step, "wide"] / persons, 100 * found[row.step, "here"] / persons)
                for population, found in totals.items()
            }
            run.say(f"{row.what}: {_range(shares[row.what], 0)}, on these cases {_range(shares[row.what], 1)}")
    return shares


def _range(cells: Mapping[str, Sequence[float | None]], nth: int) -> str:
    """From the lowest to the highest of the populations."""
    known = [value for cell in cells.values() if (value := cell[nth]) is not None]
    if not known:
        return "–"
    low, high = (f"{choose(known):.1f}" for choose in (min, max))
    return low if low == high else f"{low} to {high}"


def table_of_attacks(run: Tables, shares: Shares, before: Shares) -> None:
    run.write(
        "## 1. Attacks",
        "",
        f"True lift 0, 20 cases unless stated, {run.persons:,} persons for each of the populations B55, half, het and "
        "skew (rare breakage: break and break05). Percent of persons who ever saw `helps`, from the lowest to the "
        f"highest population. Limit: {LIMIT:g}, plus two standard errors of the simulation. "
        '"Before" is commit 434b918, "–" not measured. "On these cases" counts `helps on these N cases` where these '
        "have no lift either.",
        "",
        "| what a person does | `helps`, before | `helps` | on these cases, before | on these cases |",
        "|---|---|---|---|---|",
    )
    for row in (row for attack in ATTACKS for row in attack.rows):
        now, then = shares[row.what], before.get(row.what, {})
        worst = max(cell[0] or 0.0 for cell in now.values())
        mark = "" if row.claimed and "beyond" not in run.limit(row.what, worst, most=LIMIT) else _mark(row)
        what = row.what.replace("students", "models")  # the key of the figures before, and part of the seed
        run.write(f"| {what} | {_range(then, 0)} | {_range(now, 0)}{mark} | {_range(then, 1)} | {_range(now, 1)} |")
    run.write("")


def _mark(row: Row) -> str:
    return " **beyond**" if row.claimed else " (not claimed)"


# ---------------------------------------------------------------- honest edits


def count_tenth(population: str, *, cases: int, persons: int, seed: str) -> list[int]:
    """How many of ten honest versions are said to help: for each, the number of persons who are told so."""
    rng = random.Random(seed)
    told = [0] * 10
    for _ in range(persons):
        person = Person(rng=rng, cases=generator(population).cases(rng, cases))
        for nth in range(10):
            judgement = person.evaluate(version=nth + 1)
            told[nth] += judgement.verdict == "helps" and judgement.claim == "cases like these"
    return told


def table_of_edits(run: Tables) -> None:
    run.write(
        "## 2. Ten honest edits",
        "",
        f"A person edits a skill that truly helps ten times, on the same cases; {run.persons:,} persons. Percent that "
        "see `helps` (on new cases of this kind) at the first, second, fifth and tenth version.",
        "",
        "| true lift | cases | 1st | 2nd | 5th | 10th |",
        "|---|---|---|---|---|---|",
    )
    for population, cases, least in (("gain35", 30, 70.0), ("gain20", 30, None), ("gain35", 20, None)):
        starts = range(0, run.persons, CHUNK)
        tasks = [
            partial(
                count_tenth,
                population,
                cases=cases,
                persons=min(CHUNK, run.persons - start),
                seed=f"{run.seed}/edits/{population}/{cases}/{start}",
            )
            for start in starts
        ]
        told = [100 * sum(each) / run.persons for each in zip(*run.spread(tasks), strict=True)]
        tenth = run.limit(f"tenth edit, {population}, {cases} cases", told[9], least=least)
        run.write(f"| +{population[-2:]} | {cases} | {told[0]:.1f} | {told[1]:.1f} | {told[4]:.1f} | {tenth} |")
        run.say(f"edits {population} {cases}: {told}")
    run.write("")


def count_sets(population: str, *, persons: int, seed: str) -> list[tuple[int, float]]:
    """After one, two and three sets of 20 cases: how many persons are told `helps`, and the width of all intervals."""
    rng = random.Random(seed)
    told, widths = [0] * 3, [0.0] * 3
    for _ in range(persons):
        person = Person(rng=rng, cases=generator(population).cases(rng, 60))
        for nth in range(3):
            judgement = person.evaluate(keep=range(20 * nth, 20 * nth + 20))
            told[nth] += judgement.verdict == "helps" and judgement.claim == "cases like these"
            interval = None if judgement.lift is None else judgement.lift.cases_like_these
            widths[nth] += 2.0 if interval is None else interval.high - interval.low
    return list(zip(told, widths, strict=True))


def table_of_sets(run: Tables) -> None:
    run.write(
        "## 3. The same skill on other cases",
        "",
        f"A person measures one version on 20 cases, then on 20 others, then on 20 others; {run.persons:,} persons. "
        "Percent that see `helps` (on new cases of this kind) at each set, and the mean width of the interval in "
        "points. The sets count together; each look is tested at half of the level that is left.",
        "",
        "| true lift | 1st | 2nd | 3rd | width, 1st | 2nd | 3rd |",
        "|---|---|---|---|---|---|---|",
    )
    for population in ("gain20", "gain35", "B55"):
        tasks = [
            partial(
                count_sets,
                population,
                persons=min(CHUNK, run.persons - start),
                seed=f"{run.seed}/sets/{population}/{start}",
            )
            for start in range(0, run.persons, CHUNK)
        ]
        parts = run.spread(tasks)
        told = [100 * sum(part[nth][0] for part in parts) / run.persons for nth in range(3)]
        widths = [100 * math.fsum(part[nth][1] for part in parts) / run.persons for nth in range(3)]
        if generator(population).lift and not (told[0] < told[1] < told[2] and widths[0] > widths[1] > widths[2]):
            run.beyond.append(f"further sets, {population}: {told}, {widths}")
        shown = " | ".join([*(f"{share:.1f}" for share in told), *(f"{width:.0f}" for width in widths)])
        run.write(f"| +{100 * generator(population).lift:.0f} | {shown} |")
        run.say(f"sets {population}: {told} {widths}")
    run.write("")


# ---------------------------------------------------------------- coverage


def table_of_coverage(run: Tables) -> None:
    run.write(
        "## 4. Coverage of the interval for new cases",
        "",
        "Fixed designs, 95% promised, in percent. Responders: a share of the cases, .05 to .95 in steps of .05, goes "
        "from 0 to 100% and the others stay at 0; the lowest coverage and its share, computed exactly. "
        f"Usual: the lowest of {', '.join(USUAL)}. Rare breakage: the lower of break and break05, claimed from 20 "
        f"cases on. Both simulated, {run.persons:,} evaluations a cell. Required: at least {LEAST_COVERAGE:g}. With "
        f"fewer than {FEWEST_CASES} cases there is no such interval.",
        "",
        "| cases | repeats | responders | usual | rare breakage |",
        "|---|---|---|---|---|",
    )
    cells = [(cases, runs) for cases in SIZES for runs in RUNS]
    kinds = [(cases, runs, name) for cases, runs in cells for name in (*USUAL, *BREAKAGE)]
    tasks = [
        partial(cover, name, cases, runs, size=run.persons, seed=f"{run.seed}/cover/{name}/{cases}/{runs}")
        for cases, runs, name in kinds
    ]
    found = dict(zip(kinds, run.spread(tasks), strict=True))
    for cases, runs in cells:
        exact = cover_responders(cases, runs)
        share = min(exact, key=lambda share: exact[share])
        what = f"coverage, {cases} cases, {runs} runs"
        usual = min(USUAL, key=lambda name: found[cases, runs, name])
        broken = min(found[cases, runs, name] for name in BREAKAGE)
        claimed = LEAST_COVERAGE if cases >= 20 else None
        run.write(
            f"| {cases} | {runs} | {run.limit(what, exact[share], least=LEAST_COVERAGE)} at {share:.2f} "
            f"| {run.limit(f'{what}, {usual}', found[cases, runs, usual], least=LEAST_COVERAGE)} ({usual}) "
            f"| {run.limit(f'{what}, rare breakage', broken, least=claimed)}{'' if claimed else ' (not claimed)'} |"
        )
    run.write("")


# ---------------------------------------------------------------- power


MOST_CALLS = {("B55", 50): 101, ("gain20", 50): 120, ("gain35", 50): 67, ("gain45", 50): 42}
LEAST_POWER = {("gain20", 50): 80.0}


def table_of_power(run: Tables) -> None:
    run.write(
        "## 5. Power and calls",
        "",
        f"The default design, at most 100 pairs (200 calls); {run.persons:,} evaluations a row, in percent. Required "
        "at 50 cases: at most 101 / 120 / 67 / 42 calls at true lifts of 0 / +20 / +35 / +45, and at least 80% power "
        "to detect +20.",
        "",
        "| true lift | cases | calls | `helps` or `hurts`, new cases | on these cases only | covered |",
        "|---|---|---|---|---|---|",
    )
    for cases in (50, 20):
        for name in ("B55", "half", "gain20", "gain35", "gain45", "respond20"):
            starts = range(0, run.persons, CHUNK)
            tasks = [
                partial(
                    walk,
                    name,
                    cases=cases,
                    experiments=min(CHUNK, run.persons - start),
                    seed=f"{run.seed}/power/{name}/{cases}/{start}",
                )
                for start in starts
            ]
            path = sum(run.spread(tasks), start=Walk())
            calls = path.calls / path.runs
            most = MOST_CALLS.get((name, cases))
            chance = (2 if run.persons >= 3_000 else 4) * 60 / math.sqrt(run.persons)
            if most is not None and calls > most + chance:
                run.beyond.append(f"calls, {name}, {cases} cases: {calls:.1f}")
            power = run.limit(
                f"power, {name}, {cases} cases", path.percent(path.like), least=LEAST_POWER.get((name, cases))
            )
            limit = "" if most is None else f" (≤ {most})"
            run.write(
                f"| {name} | {cases} | {calls:.1f}{limit} | {power} | {path.percent(path.these):.1f} "
                f"| {path.percent(path.covered):.1f} |"
            )
            run.say(f"power {name} {cases}: {power}, {calls:.1f} calls")
    run.write("")


# ---------------------------------------------------------------- a model that changes


GUARDS = (0, 8, 16, 32, 50, None)


def table_of_drift(run: Tables) -> None:
    run.write(
        "## 6. A model that changes between two versions",
        "",
        f"A first version was measured on {drift.CASES} cases, {drift.STORED} answers each. Then the model changes, "
        "and a second version without any effect is measured against the stored answers without the skill. Abrupt: "
        "the model is better by so many points; slow: half of that came before the second stored answer; replaced: "
        "another model with other strengths, better by so many points. A guard asks so many baseline answers again, "
        "and all of them if these differ from the stored ones (at one in five by chance). Percent of "
        f"{run.persons // 3:,} persons who see `helps`, the higher of B55 and half. The last column is what upskill "
        "does where a server does not say which weights it serves: all answers are new.",
        "",
        "| change | points | no guard | 8 | 16 | 32 | 50 | all new |",
        "|---|---|---|---|---|---|---|---|",
    )
    persons = run.persons // 3
    cells = [
        (kind, points, guard, name)
        for kind in drift.KINDS
        for points in (0, 5, 10, 20)
        for guard in GUARDS
        for name in ("B55", "half")
        if points or kind == "abrupt"
    ]
    tasks = [
        partial(
            drift.count_false,
            kind,
            points / 100,
            name,
            guard=guard,
            persons=persons,
            seed=f"{run.seed}/drift/{kind}/{points}/{guard}/{name}",
        )
        for kind, points, guard, name in cells
    ]
    told = dict(zip(cells, run.spread(tasks), strict=True))
    for kind, points in dict.fromkeys((kind, points) for kind, points, _, _ in cells):
        shares = [100 * max(told[kind, points, guard, name] for name in ("B55", "half")) / persons for guard in GUARDS]
        last = run.limit(f"drift {kind} {points}", shares[-1], most=LIMIT)
        run.write(f"| {kind} | {points} | {' | '.join(f'{share:.1f}' for share in shares[:-1])} | {last} |")
        run.say(f"drift {kind} {points}: {shares}")
    run.write("")


# ---------------------------------------------------------------- the page


END_TO_END = "## 7. End to end"
HEAD = (
    "# Attacks, coverage and power",
    "",
    "Generated; do not edit. People can make a useless skill look helpful: by repeating the command, deleting cases, "
    "trying many versions, or losing answers that were going to fail. Sections 1 to 6 simulate this "
    "(`python -m benchmarks.attacks`): answers are random, and the product's own code judges them. The populations are "
    "defined in [the tables behind the statistics](statistics.md). In addition, break: nine cases in ten "
    "0 → .106, one in ten .97 → .02; break05: 19 in 20 0 → .05, one in 20 .97 → .02.",
    "",
)


def main() -> int:
    """Run the tables and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="fewer persons, limits widened by chance")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--persons", type=int, help="persons a cell; 3,000 by default, 100 in fast mode")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, help="where to write the page; in fast mode nowhere by default")
    options = parser.parse_args()
    persons = options.persons or (100 if options.fast else 3_000)
    run = Tables(persons=persons, seed=options.seed, processes=options.processes)
    table_of_attacks(run, measure_attacks(run), json.loads(BEFORE.read_text(encoding="utf-8")))
    table_of_edits(run)
    table_of_sets(run)
    table_of_coverage(run)
    table_of_power(run)
    table_of_drift(run)
    verdict = f"**{run.figures - len(run.beyond)} of {run.figures} figures are within their limits.** Seed {run.seed}."
    target = options.output or (None if options.fast else REPORT)
    if target is not None:
        kept = last_section(REPORT, END_TO_END)
        text = "\n".join([*HEAD, verdict, "", *run.lines]).rstrip() + "\n"
        target.write_text(f"{text}\n{kept}" if kept else text, encoding="utf-8")
    print(f"{run.figures - len(run.beyond)} of {run.figures} figures are within their limits")
    for text in run.beyond:
        print(f"beyond: {text}")
    return 1 if run.beyond else 0


if __name__ == "__main__":
    sys.exit(main())
