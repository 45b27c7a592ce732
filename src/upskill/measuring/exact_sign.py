"""The exact sign test that may be looked at after every pair.

Under no lift a pair that only one arm passed is a fair coin. The test follows the law of the number of wins among
such pairs, given that it has not stopped, and spends its error in proportion to the pairs seen. It knows nothing of
cases: only of pairs, in the order in which they were planned.
"""

from itertools import pairwise

from upskill.measuring.decision import Side
from upskill.measuring.pairs import Pair


class SignTest:
    """Say after every pair whether the wins are too many, or too few, for chance.

    The cap is part of the test: it fixes how the error is spent, and cannot be raised afterwards.
    """

    def __init__(self, *, cap: int, alpha: float = 0.05) -> None:
        """`alpha` is the error of the whole test, half of it on each side."""
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
        self._error = alpha / 2
        self._spent = 0.0
        # The null law of the wins given the discordant pairs and "not stopped": wins `_least` to `_least + len - 1`.
        self._law = [1.0]
        self._least = 0

    @property
    def discordant(self) -> int:
        """Pairs that exactly one arm passed."""
        return self.wins + self.losses

    @property
    def boundary(self) -> int:
        """The most wins with which the test goes on."""
        return self._least + len(self._law) - 1

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
        if self.wins > self.boundary:
            self.side = "helps"
        elif self.wins < self._least:
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
        twin._law = self._law.copy()
        return twin

    def _flip(self) -> None:
        """One more fair coin."""
        law = self._law
        self._law = [law[0] * 0.5, *[(a + b) * 0.5 for a, b in pairwise(law)], law[-1] * 0.5]

    def _spend(self) -> None:
        """Give away, from the outside in, what may be spent by now."""
        law, discordant = self._law, self.discordant
        available = self._error * self.pairs / self.cap - self._spent
        spent = 0.0
        cut = 0
        most = self.boundary
        while most > discordant - most and spent + law[-1 - cut] <= available:
            spent += law[-1 - cut]
            cut += 1
            most -= 1
        if not cut:
            return
        self._spent += spent
        self._law = law[cut : len(law) - cut]
        self._least += cut
