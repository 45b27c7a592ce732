"""The exact sign test that may be looked at after every pair.

Under no lift a pair that only one arm passed is a fair coin. The test follows the law of the number of wins among
such pairs, given that it has not stopped, and spends its error in proportion to the pairs seen. It knows nothing of
cases: only of pairs, in the order in which they were planned.

Futility says when more pairs within the cap will not decide. It is not binding: ignoring it costs calls, not validity.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from upskill.core.statistics.distributions import t_quantile
from upskill.core.statistics.intervals import (
    FEWEST_CASES,
    FIRST_LEVEL,
    NO_DIFFERENCE,
    Level,
    floored_spread,
    merge_families,
    these_cases,
)
from upskill.core.statistics.pairs import CaseTally, Pair, Side


class SignTest:
    """Say after every pair whether the wins are too many, or too few, for chance.

    The cap is part of the test: it fixes how the error is spent, and cannot be raised afterwards.
    """

    def __init__(self, *, cap: int, error: float = FIRST_LEVEL, of_harm: float = FIRST_LEVEL) -> None:
        """`error` is that of saying `helps`, `of_harm` that of saying `hurts`, each over the whole test."""
        if cap < 1:
            raise ValueError("a test needs at least one pair")
        self.cap = cap
        self.wins = 0
        """Pairs that only the measured arm passed."""
        self.losses = 0
        """Pairs that only the other arm passed."""
        self.pairs = 0
        self.side: Side | None = None
        """What was decided; once set it stays."""
        self._errors = error, of_harm
        self._spent = [0.0, 0.0]
        # The null law of the wins given the discordant pairs and "not stopped": wins `least` to `most`.
        self._law = [1.0]
        self.least = 0
        """The fewest wins with which the test goes on."""

    @property
    def discordant(self) -> int:
        """Pairs that exactly one arm passed."""
        return self.wins + self.losses

    @property
    def most(self) -> int:
        """The most wins with which the test goes on."""
        return self.least + len(self._law) - 1

    def add(self, pair: Pair) -> Side | None:
        """Look once more, with this pair."""
        return self.look(pair.passed - pair.passed_against)

    def look(self, difference: int) -> Side | None:
        """Look once more: +1 for a win, -1 for a loss, 0 where both arms did alike."""
        if self.side is not None:
            return self.side
        if self.pairs == self.cap:
            raise ValueError(f"the test was planned for {self.cap} pairs, and its cap cannot be raised")
        self.pairs += 1
        if difference:
            self.wins += difference > 0
            self.losses += difference < 0
            self._flip()
        self._spend()
        if self.wins > self.most:
            self.side = "helps"
        elif self.wins < self.least:
            self.side = "hurts"
        return self.side

    def least_pairs_to_stop(self) -> int | None:
        """How many further pairs it takes at least to cross a boundary; `None` if the cap comes first."""
        if self.side is not None:
            return 0
        # Nothing leads to a boundary faster than going straight towards it.
        reached = [count for step in (+1, -1) if (count := self._straight(step)) is not None]
        return min(reached, default=None)

    def _straight(self, difference: int) -> int | None:
        ahead = self._copy()
        while ahead.pairs < ahead.cap:
            if ahead.look(difference) is not None:
                return ahead.pairs - self.pairs
        return None

    def _copy(self) -> "SignTest":
        twin = SignTest.__new__(SignTest)
        twin.__dict__.update(self.__dict__)
        twin._law, twin._spent = self._law.copy(), self._spent.copy()
        return twin

    def _flip(self) -> None:
        """One more fair coin."""
        law = self._law
        self._law = [law[0] * 0.5, *[(a + b) * 0.5 for a, b in pairwise(law)], law[-1] * 0.5]

    def _spend(self) -> None:
        """Give away, from the outside in, what may be spent by now on each side."""
        law = self._law
        above = self._cut(0, reversed(law), self.discordant - self.most)
        below = self._cut(1, law, self.least)
        self._law = law[below : len(law) - above]
        self.least += below

    def _cut(self, side: int, outside_in: Iterable[float], against: int) -> int:
        """How many numbers of wins lead to a decision now; `against` are the fewer pairs of the outermost one."""
        available, cut, spent = self._errors[side] * self.pairs / self.cap - self._spent[side], 0, 0.0
        for chance in outside_in:
            if 2 * (against + cut) >= self.discordant or spent + chance > available:
                break
            spent += chance
            cut += 1
        self._spent[side] += spent
        return cut


FUTILITY = 0.85
"""By how many standard errors the mean may still move: larger finds more lifts, and costs more calls where none is."""
LOOK_EVERY = 5
"""The sign test is asked whether it is futile after every so many pairs."""


def sign_test_is_futile(test: SignTest, *, cases: int) -> bool:
    """Whether the test is asked now, and neither of its boundaries is in reach even if the rest goes rather well."""
    return _is_look(test.pairs, cases) and _is_out_of_reach(test.wins, test.losses, test.pairs, test.cap)


def least_pairs_to_futility(test: SignTest, *, cases: int) -> int | None:
    """How many further pairs it takes at least until the test could be futile; `None` if the cap comes first."""
    for pairs in range(test.pairs + 1, test.cap):
        if not _is_look(pairs, cases):
            continue
        more = pairs - test.pairs
        for won in range(more + 1):
            for lost in range(more + 1 - won):
                if _is_out_of_reach(test.wins + won, test.losses + lost, pairs, test.cap):
                    return more
    return None


def _is_look(pairs: int, cases: int) -> bool:
    """Not before every case could be seen once, and not after every pair: the rule was validated so."""
    return pairs >= cases and pairs % LOOK_EVERY == 0


def _is_out_of_reach(wins: int, losses: int, pairs: int, cap: int) -> bool:
    lead, discordant, left = wins - losses, wins + losses, cap - pairs
    difference = lead / pairs
    share = (discordant + 1) / (pairs + 2)
    error = math.sqrt(max(share - difference * difference, 0.01) / pairs)
    needed = 2.1 * math.sqrt(discordant + left * share + 1)
    return all(sign * lead + left * min(sign * difference + 1.5 * error, share) < needed for sign in (1, -1))


def is_futile(tallies: Sequence[CaseTally], level: Level, *, share: float) -> bool:
    """Whether the interval for cases like these will not exclude zero at the end; `share` of the plan is done."""
    units = merge_families(tallies)
    if len(units) < FEWEST_CASES:
        return False
    mean, spread = floored_spread(units)
    error = spread / math.sqrt(len(units))
    side = level if mean >= 0 else level.of_harm
    quantile = t_quantile(1 - side.of_a_look, len(units) - 1)
    return abs(mean) + FUTILITY * error < quantile * error * math.sqrt(share)


def may_be_no_worse(tallies: Sequence[CaseTally], level: Level, *, share: float) -> bool:
    """Whether the end of the plan would show on these cases that nothing is lost, at the rates so far."""
    ends = [
        replace(
            tally,
            pairs=round(tally.pairs / share),
            passed=round(tally.passed / share),
            passed_against=round(tally.passed_against / share),
        )
        for tally in tallies
    ]
    return these_cases(ends, level).low > -NO_DIFFERENCE
