"""How often the interval for cases like these holds the true lift, in designs of fixed size."""

import math
import random

from tools.simulation.populations import generator
from upskill.core.statistics.intervals import cases_like_these
from upskill.core.statistics.pairs import CaseTally

RESPONDERS = tuple(nth / 20 for nth in range(1, 20))
"""Shares of cases that respond."""


def cover_responders(cases: int, runs: int) -> dict[float, float]:
    """Coverage in percent, exactly, where a share of cases goes from 0 to 100% and the rest stays at 0."""
    intervals = []
    for responding in range(cases + 1):
        interval = cases_like_these(
            [
                CaseTally(case_id=str(nth), pairs=runs, passed=runs if nth < responding else 0, passed_against=0)
                for nth in range(cases)
            ]
        )
        assert interval is not None
        intervals.append(interval)
    return {
        share: 100
        * math.fsum(
            math.comb(cases, nth) * share**nth * (1 - share) ** (cases - nth)
            for nth, interval in enumerate(intervals)
            if interval.low - 1e-12 <= share <= interval.high + 1e-12
        )
        for share in RESPONDERS
    }


def cover(population: str, cases: int, runs: int, *, size: int, seed: str) -> float:
    """Coverage in percent of the interval for cases like these, in a design of fixed size."""
    rng = random.Random(seed)
    source = generator(population)
    covered = 0
    for _ in range(size):
        tallies = [
            CaseTally(
                case_id=str(nth),
                pairs=runs,
                passed=sum([rng.random() < skilled for _ in range(runs)]),
                passed_against=sum([rng.random() < base for _ in range(runs)]),
            )
            for nth, (base, skilled) in enumerate(source.cases(rng, cases))
        ]
        interval = cases_like_these(tallies)
        assert interval is not None
        covered += interval.low - 1e-12 <= source.lift <= interval.high + 1e-12
    return 100 * covered / size
