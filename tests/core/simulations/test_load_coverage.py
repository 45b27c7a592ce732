"""Known loads and lifts of an offered skill lie inside their intervals; the full tables are in benchmarks/."""

from collections.abc import Mapping

import pytest
from tools.simulation.loads import FIGURES, POPULATIONS, simulate


def covers(found: Mapping[str, float], *, evaluations: int) -> None:
    """At least 94%, but for four standard errors of so few evaluations."""
    assert set(found) == set(FIGURES)
    for figure, share in found.items():
        assert share >= 0.94 - 4 * (0.94 * 0.06 / evaluations) ** 0.5, (figure, share)


@pytest.mark.parametrize("population", ["as asked", "easy loads", "loads where it helps"])
@pytest.mark.parametrize(("cases", "repeats"), [(5, 3), (20, 1), (20, 3)])
def test_known_loads_and_lifts_lie_inside_their_intervals(population: str, cases: int, repeats: int) -> None:
    found = simulate(POPULATIONS[population], cases=cases, repeats=repeats, evaluations=100, seed="unit")
    covers(found, evaluations=100)


@pytest.mark.full
@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize(("cases", "repeats"), [(5, 3), (20, 3), (100, 3)])
def test_every_population_is_covered(population: str, cases: int, repeats: int) -> None:
    found = simulate(POPULATIONS[population], cases=cases, repeats=repeats, evaluations=1_000, seed="full")
    covers(found, evaluations=1_000)
