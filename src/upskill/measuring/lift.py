"""Lift: the mean over cases of what one arm passed more than the other; at the end, and while pairs still come in."""

from statistics import fmean

from upskill.domain import Interval, Lift
from upskill.measuring.intervals import FEWEST_CASES, Z_FIXED, Z_SEQUENTIAL, cases_like_these, floored_t, these_cases
from upskill.measuring.pairs import CaseTally, Dropped, Pair, Pairing, tally_pairs


def measure_lift(pairing: Pairing, *, z: float = Z_FIXED) -> Lift | None:
    """The lift with both intervals; `None` where no pair is left to measure."""
    tallies = pairing.tallies
    if not tallies:
        return None
    return Lift(
        arm=pairing.arm,
        against=pairing.against,
        mean=fmean(tally.difference for tally in tallies),
        these_cases=these_cases(tallies, z=z),
        cases_like_these=cases_like_these(tallies, z=z),
        pairs=len(pairing.pairs),
        dropped=pairing.dropped,
    )


def worst_case_lift(pairing: Pairing) -> float | None:
    """The mean over cases if every error in the measured arm had been a failure, and every other error a pass.

    Every drop counts, also of a pair that was scored when it was run again: an error that comes with failing answers
    biases what replaces it as well. `None` where nothing was run.
    """
    feared = [
        Pair(
            case_id=drop.case_id,
            repeat=drop.repeat,
            passed=drop.passed is True,
            passed_against=drop.passed_against is not False,
        )
        for drop in pairing.drops
    ]
    tallies = tally_pairs((*pairing.pairs, *feared))
    return fmean(tally.difference for tally in tallies) if tallies else None


class RunningLift:
    """Pairs counted per case as they come, so that a look costs as much as there are cases, not pairs.

    Whoever watches looks at any moment, so the interval is the wide one of a design that may stop at any moment,
    whatever the design is.
    """

    def __init__(self, *, cases: int) -> None:
        """`cases` are those of the plan: with six or more, the interval is to speak of cases like these."""
        self._wide = cases >= FEWEST_CASES
        self._counts: dict[str, list[int]] = {}
        self.pairs = 0
        self.passed = 0
        self.passed_against = 0
        self.dropped = 0

    def add(self, pair: Pair | Dropped) -> None:
        """One more pair, in whatever order."""
        if isinstance(pair, Dropped):
            self.dropped += 1
            return
        count = self._counts.setdefault(pair.case_id, [0, 0, 0])
        count[0] += 1
        count[1] += pair.passed
        count[2] += pair.passed_against
        self.passed += pair.passed
        self.passed_against += pair.passed_against
        self.pairs += 1

    def look(self) -> tuple[float, Interval | None] | None:
        """The mean and its interval, which is `None` while there are too few cases; `None` before the first pair.

        May be called while another thread adds: a pair that comes meanwhile is in the next look.
        """
        tallies = [
            CaseTally(case_id=case_id, pairs=count[0], passed=count[1], passed_against=count[2])
            for case_id, count in list(self._counts.items())
            if count[0]
        ]
        if not tallies:
            return None
        mean = fmean([tally.difference for tally in tallies])
        if not self._wide:
            return mean, these_cases(tallies, z=Z_SEQUENTIAL)
        return mean, floored_t(tallies, z=Z_SEQUENTIAL) if len(tallies) >= FEWEST_CASES else None
