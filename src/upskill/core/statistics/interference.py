"""What skills do to each other: which sets of them are asked together, and what each costs the others.

Each skill is asked on its own cases, with sets of the other skills beside it. The sets are those of a two-level
fractional design of resolution IV: every other skill is there in half of them, every two of them in a quarter, and each
set has its complement. So no skill's effect hides behind another's, nor behind what two of them do together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from upskill.core.nouns import Interval
from upskill.core.statistics.intervals import (
    FEWEST_CASES,
    FIRST_LEVEL,
    MOST_WORTH,
    NO_DIFFERENCE,
    Level,
    difference_on_new_cases,
)

MOST_SKILLS = 6
_FACTORS = (0, 1, 2, 3, 3, 4)
"""By the number of other skills: the logarithm of the number of sets."""

EffectVerdict = Literal["costs", "helps", "no difference", "undecided"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """The change in a rate that other skills make, on new cases."""

    mean: float
    interval: Interval | None
    """`None` with too few cases."""
    cases: int
    """Cases, or families of cases."""

    @property
    def verdict(self) -> EffectVerdict:
        """What the interval shows."""
        if self.interval is None:
            return "undecided"
        if self.interval.below_zero:
            return "costs"
        if self.interval.above_zero:
            return "helps"
        narrow = self.interval.low > -NO_DIFFERENCE and self.interval.high < NO_DIFFERENCE
        return "no difference" if narrow else "undecided"


def balanced_sets(others: int) -> tuple[frozenset[int], ...]:
    """The sets of so many other skills, by their numbers: first none, last all of them."""
    factors = _FACTORS[others]
    # Sums of an odd number of factors: so all of them are there where all factors are, and every set has a complement.
    odd = sorted(
        (mask for mask in range(2**factors) if mask.bit_count() % 2), key=lambda mask: (mask.bit_count(), mask)
    )
    return tuple(
        frozenset(number for number, mask in enumerate(odd[:others]) if (mask & run).bit_count() % 2)
        for run in range(2**factors)
    )


def shared_level(skills: int, *, students: int, questions: int = 1) -> Level:
    """The level of one comparison, so that all pairs and all skills together keep the error of one evaluation.

    `questions` is two where the lift and the loads are both asked about: either may decide.
    """
    return Level(error=FIRST_LEVEL / (skills**2 * students * questions))


def measure_effect(
    answers: Mapping[str, Sequence[Sequence[bool]]], *, present: Sequence[bool | None], level: Level
) -> Effect | None:
    """What a skill changes; `None` without answers.

    `answers` are, for each unit, rows with what came of one case and repeat in each set. `present` says of each set
    whether the skill is in it; sets with `None` are left out.
    """
    there = [number for number, one in enumerate(present) if one]
    away = [number for number, one in enumerate(present) if one is False]
    units = [rows for rows in answers.values() if rows]
    if not units:
        return None
    values = [
        sum(
            sum(row[number] for number in there) / len(there) - sum(row[number] for number in away) / len(away)
            for row in rows
        )
        / len(rows)
        for rows in units
    ]
    mean = sum(values) / len(values)
    if len(values) < FEWEST_CASES:
        return Effect(mean=mean, interval=None, cases=len(values))
    pairs = sum(map(len, units)) * len(there)
    mean, interval = difference_on_new_cases(values, answers=pairs, level=level, unseen=MOST_WORTH)
    return Effect(mean=mean, interval=interval, cases=len(values))
