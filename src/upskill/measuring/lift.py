"""Lift: the mean over cases of what one arm passed more than the other."""

from statistics import fmean

from upskill.domain import Lift
from upskill.measuring.intervals import Z_FIXED, cases_like_these, these_cases
from upskill.measuring.pairs import Pair, Pairing, tally_pairs


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
