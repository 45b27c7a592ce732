"""The table of a sweep: skills by models, with a state for each. Knows neither files nor engines."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from upskill.domain.job import JobSpending

RowState = Literal[
    "confirmed",
    "found once",
    "hurts",
    "cheaper",
    "no difference",
    "undecided",
    "not compared",
    "invalid",
    "not reached",
]
"""`confirmed`: helps in the first evaluation and in a second one with fresh answers. `found once`: helps in the first
only. `not reached`: no result. The others are verdicts of the first evaluation; `not compared` is that of one without
a baseline."""
STATES: tuple[RowState, ...] = get_args(RowState)


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """One skill on one model. Figures are `None` where nothing was measured."""

    skill: str
    """As the manifest names it."""
    name: str
    """The skill's own name."""
    version: str
    model: str
    """Empty for a skill that no evaluation can measure."""
    state: RowState
    why: str | None = None
    """Why the state is no better: of `found once`, `invalid` and `not reached`."""
    lift: float | None = None
    """Share of one. Of a confirmed row that of the confirmation, which did not choose the skill."""
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    interval_for: str | None = None
    """`cases like these` (new cases of this kind) or `these cases`."""
    pairs: int | None = None
    rate_without: float | None = None
    rate_with: float | None = None
    first_lift: float | None = None
    """Of the first evaluation, where the lift is that of the confirmation."""
    rank: int | None = None
    """Among all skills on this model; `None` where its interval overlaps another one."""
    cheapest: "Cheapest | None" = None
    """Of the skill; the same in all its rows."""
    evaluation: str = ""
    """The id of the first evaluation."""
    confirmation: str | None = None
    """The id of the second one, where it has a result."""
    level: float | None = None
    """The one-sided level at which the first evaluation was tested; `None` where nothing was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cheapest:
    """The cheapest model that does a skill's cases well enough, with the skill or without it."""

    model: str
    with_skill: bool
    pass_rate: float
    use: float
    """Per answer."""
    unit: Literal["dollars", "tokens"]
    surely: bool
    """Whether the pass rate is high enough at the low end of its interval, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepTable:
    """What a sweep found so far."""

    rows: tuple[TableRow, ...]
    skills: int
    models: tuple[str, ...]
    evaluations: int
    """In the plan, without confirmations."""
    evaluations_done: int
    charged: JobSpending
    """For all evaluations of the plan, each killed attempt with all that was reserved for it."""
    charged_for_confirmations: JobSpending
    """What of this was charged for confirmations."""
    unpriced: tuple[str, ...] = ()
    """Models whose price is unknown: their dollars are missing in what was charged."""
    confirms: bool
    """Whether winners are evaluated a second time."""

    @property
    def states(self) -> dict[RowState, int]:
        """How many rows are in each state, without states that none is in."""
        counted = Counter(row.state for row in self.rows)
        return {state: counted[state] for state in STATES if counted[state]}

    @property
    def tested(self) -> int:
        """Skills times models of which a lift was measured."""
        return sum(row.level is not None for row in self.rows)

    @property
    def found(self) -> int:
        """Those of them that the first evaluation said help."""
        return sum(row.state in ("confirmed", "found once") for row in self.rows)

    @property
    def false_by_chance(self) -> float:
        """How many of the tested would be said to help on average if none did: the sum of the levels of the tests."""
        return sum(row.level for row in self.rows if row.level is not None)

    @property
    def false_by_chance_twice(self) -> float:
        """How many of them a confirmation, tested at the level of a first look, would say help again."""
        return sum(row.level**2 for row in self.rows if row.level is not None)


def ranked(rows: Iterable[TableRow]) -> tuple[TableRow, ...]:
    """The rows with a rank wherever the interval overlaps no other interval of the same model."""
    listed = list(rows)
    by_model: defaultdict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for number, row in enumerate(listed):
        if row.low is not None and row.high is not None:
            by_model[row.model][number] = (row.low, row.high)
    for intervals in by_model.values():
        for number, rank in zip(intervals, _ranks(list(intervals.values())), strict=True):
            if rank is not None:
                listed[number] = replace(listed[number], rank=rank)
    return tuple(listed)


def _ranks(intervals: Sequence[tuple[float, float]]) -> list[int | None]:
    """1 for the highest; `None` where an interval overlaps or touches another, or where there is only one."""
    lows, highs = sorted(low for low, _ in intervals), sorted(high for _, high in intervals)
    ranks: list[int | None] = []
    for low, high in intervals:
        above = len(lows) - bisect_right(lows, high)
        below = bisect_left(highs, low)
        alone = above + below == len(intervals) - 1
        ranks.append(above + 1 if alone and len(intervals) > 1 else None)
    return ranks
