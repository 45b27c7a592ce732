"""A day of an author: twelve edits of a skill, kept by what practice shows, then one proof; and twelve looks instead.

    python -m benchmarks.author_day            1,000 of each kind, ten minutes; writes benchmarks/results/
    python -m benchmarks.author_day --fast     200 of each; prints only

The product's own statistics judge simulated answers. The exit code is 1 if a figure is beyond its limit.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

from tools.simulation.attacks import Person
from tools.simulation.populations import Rates

PAGE = Path(__file__).parent / "results" / "author-day.md"
CASES, PRACTICE, EDITS = 48, 16, 12
SPECIFIC = 1 / 3
"""The share of what an edit gains on practice cases that holds for them alone."""
SPREAD = 0.06
"""How much the gains of edits differ, one standard deviation."""
LEAST_PROVEN, MOST_FALSE = 90.0, 5.0
FULL, FAST, CHUNK = 1_000, 200, 50
HEAD = """# A day of an author

Written by `python -m benchmarks.author_day`; do not edit. The product's statistics judge the answers of {authors:,}
simulated authors of each of five kinds, seed 0. Each has {cases} cases and edits a skill {edits} times. An edit moves
the true pass rates by a random amount; a third of what it gains on the cases that it is chosen by is specific to them.
The author keeps an edit that passes more of these.

- "Practice": edits are chosen by {practice} practice cases, asked once, with the skill. The proof is one look at the
  other {held}.
- "Looks": each edit is an `eval` on all {cases} cases; what counts is the verdict of the last one that was kept.

Authors are grouped by the true lift on new cases that they end with.

| final true lift on new cases | practice: % `helps` | answers | looks: % `helps` | answers |
|---|---|---|---|---|
"""


NULL, GAINS = (0.05, True), ((0.0, False), (0.03, False), (0.06, False), (0.09, False))
"""What an edit moves the true lift by, in the mean, and whether on the cases alone that it is chosen by."""
FINAL = (20, 35, 45)
"""True lifts at the end of the day, in points, within five."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """What one author ends with."""

    lift: float
    """True, on new cases."""
    helps: bool
    answers: int


class Author:
    """One author with one skill; the first cases are those to practise on."""

    def __init__(self, rng: random.Random, gain: float, is_null: bool) -> None:
        self._rng, self._gain, self._is_null = rng, gain, is_null
        self._base = [rng.betavariate(0.5, 0.5) for _ in range(CASES)]
        self._person = Person(rng=rng, rates=[(base, base) for base in self._base])

    def practising(self) -> Day:
        """Twelve edits on practice cases, then one proof."""
        kept = (0.0, 0.0)
        best = self._passes(kept)
        for _ in range(EDITS):
            edited = self._edited(kept)
            if (passed := self._passes(edited)) > best:
                kept, best = edited, passed
        self._person.rates = self._rates(kept, range(PRACTICE))
        found = self._person.evaluate(version=1, cases=range(PRACTICE, CASES))
        return Day(lift=kept[0], helps=found.helps, answers=PRACTICE * (EDITS + 1) + self._person.bought)

    def looking(self) -> Day:
        """Twelve edits, each an evaluation on all cases."""
        kept, best, said = (0.0, 0.0), -1.0, False
        for version in range(1, EDITS + 1):
            edited = self._edited(kept)
            self._person.rates = self._rates(edited, range(CASES))
            found = self._person.evaluate(version=version)
            lift = found.report.lifts[0].mean
            if lift > best:
                kept, best, said = edited, lift, found.helps
        return Day(lift=kept[0], helps=said, answers=self._person.bought)

    def _edited(self, kept: tuple[float, float]) -> tuple[float, float]:
        """The gain everywhere, and the one on the cases that edits are chosen by."""
        moved = self._rng.gauss(self._gain, SPREAD)
        general, own = kept
        if self._is_null:
            return general, own + moved
        return general + moved, own + moved / (1 - SPECIFIC) * SPECIFIC

    def _passes(self, effect: tuple[float, float]) -> int:
        rates = self._rates(effect, range(PRACTICE))
        return sum(self._rng.random() < rates[nth][1] for nth in range(PRACTICE))

    def _rates(self, effect: tuple[float, float], chosen_by: Sequence[int]) -> list[Rates]:
        general, own = effect
        return [
            (base, _moved(base, general + (own if nth in chosen_by else 0.0))) for nth, base in enumerate(self._base)
        ]


def _moved(base: float, lift: float) -> float:
    """A rate that gives this lift in the mean over all cases."""
    return base + (1 - base) * min(1.0, 2 * lift) if lift >= 0 else base * max(0.0, 1 + 2 * lift)


def _authors(kind: tuple[float, bool], way: str, seed: str) -> list[Day]:
    """The days of some authors, in one process."""
    rng = random.Random(seed)
    return [getattr(Author(rng, *kind), way)() for _ in range(CHUNK)]


def main() -> int:
    """Simulate, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.author_day")
    parser.add_argument("--fast", action="store_true")
    fast = parser.parse_args().fast
    number = FAST if fast else FULL
    ways = ("practising", "looking")
    tasks = [
        (kind, way, f"0/{kind}/{way}/{start}")
        for kind in (NULL, *GAINS)
        for way in ways
        for start in range(0, number, CHUNK)
    ]
    with Pool() as pool:
        parts = pool.starmap(_authors, tasks, chunksize=1)
    days: dict[tuple[str, bool], list[Day]] = {}
    for ((_, is_null), way, _), part in zip(tasks, parts, strict=True):
        days.setdefault((way, is_null), []).extend(part)
    rows = [("0: edits gain on the cases alone that they are chosen by", [days[way, True] for way in ways])]
    for final in FINAL:
        near = [[day for day in days[way, False] if abs(100 * day.lift - final) <= 5] for way in ways]
        rows.append((f"+{final} (within 5)", near))
    lines = [f"| {name} | {' | '.join(map(_cells, both))} |" for name, both in rows]
    print("\n".join(lines))
    false, proven = _percent(rows[0][1][0]), _percent(rows[2][1][0])
    if not fast:
        head = HEAD.format(authors=number, cases=CASES, edits=EDITS, practice=PRACTICE, held=CASES - PRACTICE)
        PAGE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return 1 if false > MOST_FALSE or proven < LEAST_PROVEN else 0


def _cells(days: Sequence[Day]) -> str:
    answers = sum(day.answers for day in days) / max(1, len(days))
    return f"{_percent(days):.1f} of {len(days):,} | {answers:.0f}"


def _percent(days: Sequence[Day]) -> float:
    return 100 * sum(day.helps for day in days) / max(1, len(days))


if __name__ == "__main__":
    sys.exit(main())
