"""What people do around an evaluation, simulated: how often a skill without any effect is said to help.

    python -m benchmarks.attacks            every table, about half an hour; writes docs/explanation/attacks.md
    python -m benchmarks.attacks --fast     a share of every row, with tolerances for so few evaluations

Each attack is a person at the command line: cases, a store of answers, and commands typed until one says `helps`.
Answers are drawn at random; what follows from them is decided by `upskill.measuring`. The exit code is 1 if a figure
is above its limit. Needs nothing but the standard library and this package.
"""

import argparse
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from benchmarks.statistics_tables import Rates, _pair, generator
from upskill.measuring import Judgement, Pair, Pairing, Sequential, judge

REPORT = Path(__file__).parent.parent / "docs" / "explanation" / "attacks.md"
LIMIT = 5.0
"""False `helps` about cases like these, in percent, that no attack may exceed."""
POPULATIONS = ("B55", "half", "het", "skew")
CHUNK = 250


# ---------------------------------------------------------------- a person at the command line


class Person:
    """One person with one set of cases: what was answered is stored, and each command returns its judgement."""

    def __init__(
        self,
        rng: random.Random,
        cases: Sequence[Rates],
        *,
        families: Sequence[int] | None = None,
        copies: bool = False,
        lost: float = 0.0,
        flattery: float = 0.0,
    ) -> None:
        """`families`: one number per case. `copies`: every repeat of an answer is the first one again. `lost`: the
        share of failing answers with the skill that is lost and asked for again. `flattery`: the share of those that
        a judge passes."""
        self.rng = rng
        self.cases = list(cases)
        self.families = families
        self.copies = copies
        self.lost = lost
        self.flattery = flattery
        self._stored: dict[tuple[int, int, int], bool] = {}
        self._orders: dict[tuple[int, int], list[int]] = {}

    def own_lift(self, keep: Sequence[int] | None = None) -> float:
        """The true lift of the cases in use."""
        chosen = range(len(self.cases)) if keep is None else keep
        return math.fsum(self.cases[nth][1] - self.cases[nth][0] for nth in chosen)

    def evaluate(
        self, *, runs: int | None = None, version: int = 1, fresh: bool = False, keep: Sequence[int] | None = None
    ) -> Judgement:
        """`upskill eval`, with the default design or `--runs N`, on all cases or on those that were kept."""
        if fresh:
            self._stored.clear()
        chosen = tuple(range(len(self.cases)) if keep is None else keep)
        if runs is not None:
            pairs = self._pairs(chosen, runs, version)
            return judge(Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs)))
        design = Sequential(cases=len(chosen))
        for pair in self._pairs(chosen, design.rounds, version):
            if design.add(pair).stop:
                break
        return judge(design.pairing, decision=design.decision)

    def differences(self, version: int = 1) -> list[float]:
        """What each case won in the mean over its stored pairs."""
        won: dict[int, list[int]] = {nth: [] for nth in range(len(self.cases))}
        for (arm, nth, repeat), passed in self._stored.items():
            if arm == version and (0, nth, repeat) in self._stored:
                won[nth].append(passed - self._stored[0, nth, repeat])
        return [math.fsum(each) / max(1, len(each)) for each in won.values()]

    def _pairs(self, chosen: tuple[int, ...], rounds: int, version: int) -> Iterator[Pair]:
        for repeat in range(rounds):
            for nth in self._order(chosen, repeat):
                yield _pair(nth, repeat, self._answer(version, nth, repeat), self._answer(0, nth, repeat))

    def _order(self, chosen: tuple[int, ...], repeat: int) -> list[int]:
        """The order of a round is drawn once for each list of cases, as by a fixed seed."""
        key = (len(chosen), repeat)
        if key not in self._orders:
            self._orders[key] = self.rng.sample(chosen, len(chosen))
        return self._orders[key]

    def _answer(self, arm: int, nth: int, repeat: int) -> bool:
        key = (arm, nth, 0 if self.copies else repeat)
        passed = self._stored.get(key)
        if passed is None:
            passed = self._stored[key] = self._ask(self.cases[nth][arm > 0], skilled=arm > 0)
        return passed

    def _ask(self, rate: float, *, skilled: bool) -> bool:
        rng = self.rng
        passed = rng.random() < rate
        while skilled and not passed and self.lost and rng.random() < self.lost:
            passed = rng.random() < rate
        return passed or (skilled and self.flattery > 0 and rng.random() < self.flattery)


# ---------------------------------------------------------------- the attacks

Said = tuple[Judgement, float]
"""What a command said, and the true lift of the cases it was about."""
Play = Callable[[random.Random, str], Iterator[Said]]


def _said(person: Person, judgement: Judgement, keep: Sequence[int] | None = None) -> Said:
    return judgement, person.own_lift(keep)


def _person(rng: random.Random, name: str, cases: int = 20) -> Person:
    return Person(rng, generator(name).cases(rng, cases))


def one_run(rng: random.Random, name: str, *, cases: int = 20, runs: int | None = None) -> Iterator[Said]:
    person = _person(rng, name, cases)
    yield _said(person, person.evaluate(runs=runs))


def fresh(rng: random.Random, name: str, *, times: int) -> Iterator[Said]:
    person = _person(rng, name)
    for nth in range(times):
        yield _said(person, person.evaluate(fresh=nth > 0))


def more_runs(rng: random.Random, name: str, *, runs: tuple[int | None, ...]) -> Iterator[Said]:
    person = _person(rng, name)
    for count in runs:
        yield _said(person, person.evaluate(runs=count))


def more_cases(rng: random.Random, name: str) -> Iterator[Said]:
    person = _person(rng, name, 80)
    for count in (20, 40, 80):
        yield _said(person, person.evaluate(keep=range(count)), range(count))


def delete_worst(rng: random.Random, name: str, *, deleted: int, runs: int | None = None) -> Iterator[Said]:
    person = _person(rng, name)
    yield _said(person, person.evaluate(runs=runs))
    won = person.differences()
    keep = sorted(sorted(range(20), key=lambda nth: (won[nth], rng.random()))[deleted:])
    yield _said(person, person.evaluate(runs=runs, keep=keep), keep)


def edits(rng: random.Random, name: str, *, times: int, cases: int = 20) -> Iterator[Said]:
    person = _person(rng, name, cases)
    for version in range(1, times + 1):
        yield _said(person, person.evaluate(version=version))


def best_of(rng: random.Random, name: str, *, students: int) -> Iterator[Said]:
    for _ in range(students):
        person = _person(rng, name)
        yield _said(person, person.evaluate())


def in_families(rng: random.Random, name: str, *, families: int) -> Iterator[Said]:
    effects = generator(name).cases(rng, families)
    family = [nth % families for nth in range(20)]
    person = Person(rng, [effects[nth] for nth in family], families=family)
    yield _said(person, person.evaluate())


def copied(rng: random.Random, name: str, *, runs: int | None) -> Iterator[Said]:
    person = Person(rng, generator(name).cases(rng, 20), copies=True)
    yield _said(person, person.evaluate(runs=runs))


def losing(rng: random.Random, name: str, *, share: float) -> Iterator[Said]:
    person = Person(rng, generator(name).cases(rng, 20), lost=share)
    yield _said(person, person.evaluate())


def flattered(rng: random.Random, name: str, *, share: float) -> Iterator[Said]:
    person = Person(rng, generator(name).cases(rng, 20), flattery=share)
    yield _said(person, person.evaluate())


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the table: what is said up to the `step`-th command of an attack."""

    what: str
    step: int
    claimed: bool = True
    """Whether the limit is claimed here; else the figure is only reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """One way to use the commands, and the lines it fills."""

    play: Play
    rows: tuple[Row, ...]
    populations: tuple[str, ...] = POPULATIONS
    share: float = 1.0
    """The share of evaluations that is enough, where one attack is many commands."""


def _one(what: str, play: Play, *, step: int = 1, claimed: bool = True, populations: tuple[str, ...] = POPULATIONS) -> Attack:
    return Attack(play=play, rows=(Row(what=what, step=step, claimed=claimed),), populations=populations)


BREAKAGE = ("break", "break05")
ATTACKS: tuple[Attack, ...] = (
    Attack(
        play=partial(fresh, times=10),
        rows=(
            Row(what="one run", step=1),
            Row(what="`--fresh`, 5 times in all", step=5),
            Row(what="`--fresh`, 10 times in all", step=10),
        ),
    ),
    _one("one run, 8 cases", partial(one_run, cases=8)),
    _one("one run, 12 cases", partial(one_run, cases=12)),
    _one("one run, 50 cases", partial(one_run, cases=50)),
    _one("auto, then `--runs 5`, 10, 20", partial(more_runs, runs=(None, 5, 10, 20)), step=4),
    _one("`--runs 1`, 2, 3, 5, 10", partial(more_runs, runs=(1, 2, 3, 5, 10)), step=5),
    _one("20, then 40, then 80 cases", more_cases, step=3),
    _one("delete the worst case, type again", partial(delete_worst, deleted=1), step=2),
    _one("delete the 2 worst cases, type again", partial(delete_worst, deleted=2), step=2),
    _one("delete the 4 worst cases, type again", partial(delete_worst, deleted=4), step=2),
    _one("10 edits of the skill, same cases", partial(edits, times=10), step=10),
    _one("best of 5 students", partial(best_of, students=5), step=5),
    _one("rare breakage, 20 cases, auto", one_run, populations=BREAKAGE),
    _one("rare breakage, 20 cases, `--runs 5`", partial(one_run, runs=5), populations=BREAKAGE),
    _one("rare breakage, 50 cases, auto", partial(one_run, cases=50), populations=BREAKAGE),
    _one("rare breakage, 50 cases, `--runs 5`", partial(one_run, cases=50, runs=5), populations=BREAKAGE),
    _one("rare breakage, 8 cases, auto", partial(one_run, cases=8), populations=BREAKAGE, claimed=False),
    _one("rare breakage, 8 cases, `--runs 5`", partial(one_run, cases=8, runs=5), populations=BREAKAGE, claimed=False),
    *(
        _one(f"20 cases in {count} families with one effect each", partial(in_families, families=count))
        for count in (4, 5, 8, 12)
    ),
    _one("every repeat a copy, `--runs 5`", partial(copied, runs=5)),
    _one("every repeat a copy, auto", partial(copied, runs=None)),
    _one("30% of failing answers with the skill lost and asked again", partial(losing, share=0.3)),
    _one("50% of failing answers with the skill lost and asked again", partial(losing, share=0.5)),
    _one("a judge that passes 10% of failing answers with the skill", partial(flattered, share=0.1)),
    _one("a judge that passes 20% of failing answers with the skill", partial(flattered, share=0.2)),
    _one("a CI gate, 50 builds of an unchanged skill", partial(fresh, times=50), step=50),
    _one("a CI gate, 50 edits that change nothing", partial(edits, times=50), step=50),
)


# ---------------------------------------------------------------- counting


def count(attack: Attack, name: str, size: int, seed: str) -> Counter[tuple[int, str]]:
    """Per line, how many persons were told a false `helps`: for cases like these, or for these cases only."""
    found: Counter[tuple[int, str]] = Counter()
    rng = random.Random(seed)
    for _ in range(size):
        first: dict[str, int] = {}
        for nth, (judgement, own) in enumerate(attack.play(rng, name), start=1):
            if judgement.verdict != "helps":
                continue
            if judgement.claim == "cases like these":
                first["wide"] = nth
                break  # the person has what they wanted
            if own <= 1e-9:
                first.setdefault("here", nth)
        for row in attack.rows:
            for claim, nth in first.items():
                found[row.step, claim] += nth <= row.step
    return found


def _task(task: tuple[int, str, int, str]) -> tuple[int, str, Counter[tuple[int, str]]]:
    nth, name, size, seed = task
    return nth, name, count(ATTACKS[nth], name, size, seed)


def measure(size: int, *, seed: int, processes: int, only: str = "") -> dict[tuple[str, str], tuple[float, float]]:
    """For each line and population: false `helps` in percent, about cases like these and about these cases."""
    tasks = [
        (nth, name, min(CHUNK, size - start), f"{seed}/{attack.rows[0].what}/{name}/{start}")
        for nth, attack in enumerate(ATTACKS)
        for name in attack.populations
        for start in range(0, size, CHUNK)
        if only in attack.rows[-1].what
    ]
    totals: dict[tuple[int, str], Counter[tuple[int, str]]] = {}
    begun = time.monotonic()
    with Pool(processes) as pool:
        for done, (nth, name, found) in enumerate(pool.imap(_task, tasks), start=1):
            totals.setdefault((nth, name), Counter()).update(found)
            if done == len(tasks) or tasks[done][:2] != (nth, name):
                last = ATTACKS[nth].rows[-1]
                hits = totals[nth, name][last.step, "wide"]
                _say(f"{time.monotonic() - begun:6.0f}s  {last.what}, {name}: {100 * hits / size:.1f}")
    return {
        (row.what, name): (100 * found[row.step, "wide"] / size, 100 * found[row.step, "here"] / size)
        for (nth, name), found in totals.items()
        for row in ATTACKS[nth].rows
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Run the tables and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="a share of the evaluations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    figures = measure(options.size or (100 if options.fast else 3_000), seed=options.seed, processes=2, only=options.only)
    for (what, name), (wide, here) in figures.items():
        print(f"{what:60} {name:8} {wide:5.1f} {here:5.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
