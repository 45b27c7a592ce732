"""Simulated evaluations of a skill that is offered: how often the intervals of load rate and lifts hold the truth."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from upskill.core.nouns import Interval
from upskill.core.statistics import FEWEST_CASES
from upskill.core.statistics.intervals import new_cases, these_cases
from upskill.core.statistics.loads import load_rate
from upskill.core.statistics.pairs import CaseTally


@dataclass(frozen=True, kw_only=True, slots=True)
class Chances:
    """One case: how likely the skill is loaded, and how likely an answer passes without it and with it loaded."""

    load: float
    base: float
    loaded: float

    @property
    def offered(self) -> float:
        """The pass rate with the skill offered."""
        return self.load * self.loaded + (1 - self.load) * self.base


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadPopulation:
    """Where cases come from: kinds with their shares, which makes the truth exact."""

    name: str
    meaning: str
    kinds: tuple[tuple[float, Chances], ...]

    def mean(self, of: Callable[[Chances], float]) -> float:
        """The mean over all the cases that it could draw."""
        return sum(share * of(chances) for share, chances in self.kinds)

    def draw(self, rng: random.Random) -> Chances:
        return rng.choices([one for _, one in self.kinds], [share for share, _ in self.kinds])[0]


def _same(load: float, base: float, loaded: float) -> tuple[tuple[float, Chances], ...]:
    return ((1.0, Chances(load=load, base=base, loaded=loaded)),)


def _halves(easy: Chances, hard: Chances) -> tuple[tuple[float, Chances], ...]:
    return ((0.5, easy), (0.5, hard))


POPULATIONS = {
    one.name: one
    for one in (
        LoadPopulation(name="as asked", meaning="loads .3; passes .9 if loaded, .2 if not", kinds=_same(0.3, 0.2, 0.9)),
        LoadPopulation(
            name="responders",
            meaning="half of the cases pass .9 if loaded, half stay at .2; loads .3 in both",
            kinds=_halves(Chances(load=0.3, base=0.2, loaded=0.9), Chances(load=0.3, base=0.2, loaded=0.2)),
        ),
        LoadPopulation(
            name="no effect", meaning="loads .3; passes .5 whether loaded or not", kinds=_same(0.3, 0.5, 0.5)
        ),
        LoadPopulation(name="never", meaning="loads 0; passes .2", kinds=_same(0.0, 0.2, 0.9)),
        LoadPopulation(name="always", meaning="loads 1; passes .9, without the skill .2", kinds=_same(1.0, 0.2, 0.9)),
        LoadPopulation(name="all pass", meaning="loads .3; everything passes", kinds=_same(0.3, 1.0, 1.0)),
        LoadPopulation(name="all fail", meaning="loads .3; everything fails", kinds=_same(0.3, 0.0, 0.0)),
        LoadPopulation(
            name="easy loads",
            meaning="easy half: loads .6, passes .4 without; hard half: loads 0, passes 0; .9 if loaded",
            kinds=_halves(Chances(load=0.6, base=0.4, loaded=0.9), Chances(load=0.0, base=0.0, loaded=0.9)),
        ),
        LoadPopulation(
            name="hard loads",
            meaning="easy half: loads 0, passes .4 without; hard half: loads .6, passes 0; .9 if loaded",
            kinds=_halves(Chances(load=0.0, base=0.4, loaded=0.9), Chances(load=0.6, base=0.0, loaded=0.9)),
        ),
        LoadPopulation(
            name="loads where it helps",
            meaning="nothing passes without; half: loads .6, passes .9 if loaded; half: loads 0, stays at 0",
            kinds=_halves(Chances(load=0.6, base=0.0, loaded=0.9), Chances(load=0.0, base=0.0, loaded=0.0)),
        ),
    )
}
FIGURES: dict[str, Callable[[Chances], float]] = {
    "load rate": lambda one: one.load,
    "offered lift": lambda one: one.offered - one.base,
    "forced lift": lambda one: one.loaded - one.base,
}
"""What is measured of a skill that is offered, with the truth of one case."""


def simulate(population: LoadPopulation, *, cases: int, repeats: int, evaluations: int, seed: str) -> dict[str, float]:
    """The share of evaluations of a fixed size whose interval holds the truth, by figure, by the product's own code.

    The truth is the mean of all cases of the population; of the drawn ones where they are too few to speak of others.
    """
    rng = random.Random(f"{seed} {population.name} {cases} {repeats}")
    held: Counter[str] = Counter()
    for _ in range(evaluations):
        drawn = [population.draw(rng) for _ in range(cases)]
        for (figure, truth), interval in zip(FIGURES.items(), _evaluate(rng, drawn, repeats), strict=True):
            mean = sum(map(truth, drawn)) / cases if cases < FEWEST_CASES else population.mean(truth)
            held[figure] += interval.low - 1e-12 <= mean <= interval.high + 1e-12
    return {figure: held[figure] / evaluations for figure in FIGURES}


def _evaluate(rng: random.Random, drawn: Sequence[Chances], repeats: int) -> tuple[Interval, Interval, Interval]:
    """The intervals of the figures, in their order."""
    counts: list[tuple[int, int]] = []
    offered: list[CaseTally] = []
    forced: list[CaseTally] = []
    for nth, one in enumerate(drawn):
        loads = [rng.random() < one.load for _ in range(repeats)]
        passed = sum(rng.random() < (one.loaded if loaded else one.base) for loaded in loads)
        passed_forced, passed_against = (_passed(rng, rate, repeats) for rate in (one.loaded, one.base))
        counts.append((sum(loads), repeats))
        for tallies, number in ((offered, passed), (forced, passed_forced)):
            tallies.append(CaseTally(case_id=str(nth), pairs=repeats, passed=number, passed_against=passed_against))
    return load_rate(counts, counts).interval, _lift(offered), _lift(forced)


def _passed(rng: random.Random, rate: float, answers: int) -> int:
    return sum(rng.random() < rate for _ in range(answers))


def _lift(tallies: Sequence[CaseTally]) -> Interval:
    wide = new_cases(tallies)
    return these_cases(tallies) if wide is None else wide
