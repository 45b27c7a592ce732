"""The table of a sweep: a rank only where intervals are apart, and what chance would find."""

import random

from hypothesis import given
from hypothesis import strategies as st

from upskill.sweep.table import RowState, SweepTable, TableRow, ranked
from upskill.sweep.values import JobSpending


def row(
    low: float | None = None, high: float | None = None, *, model: str = "m", state: RowState = "confirmed"
) -> TableRow:
    lift = None if low is None or high is None else (low + high) / 2
    return TableRow(skill="s", name="s", version="v", model=model, state=state, low=low, high=high, lift=lift)


def ranks(*rows: TableRow) -> list[int | None]:
    return [one.rank for one in ranked(rows)]


def test_intervals_that_are_apart_have_ranks() -> None:
    assert ranks(row(0.1, 0.2), row(0.5, 0.6), row(-0.3, 0.0)) == [2, 1, 3]


def test_intervals_that_overlap_or_touch_have_none() -> None:
    assert ranks(row(0.1, 0.3), row(0.3, 0.6), row(-0.3, 0.0)) == [None, None, 3]


def test_each_model_has_its_own_ranks() -> None:
    assert ranks(row(0.1, 0.2), row(0.15, 0.6, model="n"), row(-0.3, 0.0), row(0.7, 0.8, model="n")) == [1, 2, 2, 1]


def test_a_row_alone_or_without_an_interval_has_none() -> None:
    assert ranks(row(0.1, 0.2), row()) == [None, None]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=8))
def test_a_rank_is_what_comparing_all_with_all_gives(drawn: list[tuple[int, int]]) -> None:
    intervals = [(low / 10, (low + width) / 10) for low, width in drawn]
    expected: list[int | None] = []
    for number, (low, high) in enumerate(intervals):
        others = [one for other, one in enumerate(intervals) if other != number]
        apart = bool(others) and all(end < low or start > high for start, end in others)
        expected.append(1 + sum(start > high for start, _ in others) if apart else None)
    assert ranks(*(row(low, high) for low, high in intervals)) == expected


def test_chance_adds_up_the_levels_of_all_tests() -> None:
    rng = random.Random(0)
    levels = [rng.choice([0.025, 0.0025, None]) for _ in range(50)]
    rows = tuple(TableRow(skill="s", name="s", version="v", model="m", state="undecided", level=one) for one in levels)
    table = SweepTable(
        rows=rows,
        skills=1,
        models=("m",),
        evaluations=1,
        evaluations_done=1,
        charged=JobSpending(),
        charged_for_confirmations=JobSpending(),
        confirms=True,
    )
    known = [one for one in levels if one is not None]
    assert table.tested == len(known)
    assert abs(table.false_by_chance - sum(known)) < 1e-12
    assert table.found == 0
