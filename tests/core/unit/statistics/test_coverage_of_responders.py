"""The interval for new cases where a case responds wholly or not at all: the exact chance that it holds the truth."""

import math

import pytest

from upskill.core.statistics.intervals import new_cases
from upskill.core.statistics.pairs import CaseTally

SHARES = tuple(nth / 20 for nth in range(1, 20))
"""Of all cases, those that respond."""


@pytest.mark.parametrize("repeats", [1, 5, 20])
@pytest.mark.parametrize("cases", [6, 7, 12, 16, 20, 50, 100])
def test_the_interval_holds_the_truth_where_cases_respond_all_or_nothing(cases: int, repeats: int) -> None:
    intervals = []
    for responding in range(cases + 1):
        tallies = [
            CaseTally(case_id=str(nth), pairs=repeats, passed=repeats if nth < responding else 0, passed_against=0)
            for nth in range(cases)
        ]
        interval = new_cases(tallies)
        assert interval is not None
        intervals.append(interval)
    for share in SHARES:
        held = math.fsum(
            math.comb(cases, nth) * share**nth * (1 - share) ** (cases - nth)
            for nth, interval in enumerate(intervals)
            if interval.low - 1e-12 <= share <= interval.high + 1e-12
        )
        assert held >= 0.94, share
