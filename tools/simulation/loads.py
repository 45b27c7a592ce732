"""Simulated evaluations of a skill that is offered: how often the intervals of load rate and lifts hold the truth."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from upskill.core.nouns import Interval
from upskill.core.nouns.lift import Loads
from upskill.core.statistics.intervals import cases_like_these, these_cases
from upskill.core.statistics.loads import LoadTally, load_rate, with_lift_if_loaded
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
            name="mixed",
            meaning="the same means; half of the cases pass .38 without the skill, half .02; loads .3 in both",
            kinds=_halves(Chances(load=0.3, base=0.38, loaded=0.9), Chances(load=0.3, base=0.02, loaded=0.9)),
        ),
        LoadPopulation(
            name="responders",
            meaning="half of the cases pass .9 if loaded, half stay at .2; loads .3 in both",
            kinds=_halves(Chances(load=0.3, base=0.2, loaded=0.9), Chances(load=0.3, base=0.2, loaded=0.2)),
        ),
        LoadPopulation(name="half", meaning="loads .5; passes .6 if loaded, .5 if not", kinds=_same(0.5, 0.5, 0.6)),
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
            name="easy loads more",
            meaning="easy half: loads .5, passes .4 without; hard half: loads .1, passes 0; .9 if loaded",
            kinds=_halves(Chances(load=0.5, base=0.4, loaded=0.9), Chances(load=0.1, base=0.0, loaded=0.9)),
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
FIGURES = ("load rate", "offered lift", "forced lift", "lift if loaded")


@dataclass(slots=True)
class Coverage:
    """How often the intervals held the truth, over simulated evaluations."""

    evaluations: int = 0
    had: Counter[str] = field(default_factory=Counter)
    """Evaluations with an interval on new cases, by figure."""
    held: Counter[str] = field(default_factory=Counter)
    here: Counter[str] = field(default_factory=Counter)
    """Intervals on these cases that held the rates of these cases, by figure."""
    withheld: Counter[str] = field(default_factory=Counter)
    """Reasons why the lift if loaded was withheld."""
    width: float = 0.0
    """Of the lift if loaded, summed."""

    def share(self, figure: str) -> float | None:
        """Coverage on new cases; `None` where there was no interval."""
        return self.held[figure] / self.had[figure] if self.had[figure] else None

    @property
    def shown(self) -> float:
        """The share of evaluations that show the lift if loaded."""
        return 1 - self.withheld.total() / self.evaluations


def simulate(population: LoadPopulation, *, cases: int, repeats: int, evaluations: int, seed: str) -> Coverage:
    """So many evaluations of fixed size, through the product's own code."""
    rng = random.Random(f"{seed} {population.name} {cases} {repeats}")
    rate = population.mean(lambda one: one.load)
    offered = population.mean(lambda one: one.offered - one.base)
    forced = population.mean(lambda one: one.loaded - one.base)
    result = Coverage()
    for _ in range(evaluations):
        drawn = [population.draw(rng) for _ in range(cases)]
        tallies = [_tally(rng, one, repeats) for one in drawn]
        counts = [(tally.loaded, tally.pairs) for tally in tallies]
        loads = with_lift_if_loaded(load_rate(counts, counts), tallies)
        result.evaluations += 1
        _note(result, "load rate", loads.cases_like_these, rate)
        result.here["load rate"] += _holds(loads.these_cases, fmean(one.load for one in drawn))
        for figure, passed, truth, here in (
            ("offered lift", [tally.passed for tally in tallies], offered, [one.offered - one.base for one in drawn]),
            (
                "forced lift",
                [tally.passed_forced for tally in tallies],
                forced,
                [one.loaded - one.base for one in drawn],
            ),
        ):
            compared = [
                CaseTally(case_id=str(nth), pairs=repeats, passed=hits, passed_against=tally.passed_against)
                for nth, (hits, tally) in enumerate(zip(passed, tallies, strict=True))
            ]
            _note(result, figure, cases_like_these(compared), truth)
            result.here[figure] += _holds(these_cases(compared), fmean(here))
        _note_if_loaded(result, loads, offered / rate if rate else None)
    return result


def _note_if_loaded(result: Coverage, loads: Loads, truth: float | None) -> None:
    if loads.lift_if_loaded is None:
        result.withheld[loads.withheld or ""] += 1
        return
    assert truth is not None
    interval = loads.lift_if_loaded.interval
    _note(result, "lift if loaded", interval, truth)
    result.width += interval.high - interval.low


def _note(result: Coverage, figure: str, interval: Interval | None, truth: float) -> None:
    if interval is not None:
        result.had[figure] += 1
        result.held[figure] += _holds(interval, truth)


def _holds(interval: Interval, truth: float) -> bool:
    return interval.low - 1e-12 <= truth <= interval.high + 1e-12


def _tally(rng: random.Random, one: Chances, repeats: int) -> LoadTally:
    loads = [rng.random() < one.load for _ in range(repeats)]
    passes = [rng.random() < (one.loaded if loaded else one.base) for loaded in loads]
    return LoadTally(
        pairs=repeats,
        loaded=sum(loads),
        passed=sum(passes),
        passed_unloaded=sum(passed and not loaded for loaded, passed in zip(loads, passes, strict=True)),
        passed_against=sum(rng.random() < one.base for _ in range(repeats)),
        forced=repeats,
        passed_forced=sum(rng.random() < one.loaded for _ in range(repeats)),
    )
