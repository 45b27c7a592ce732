"""Lift: the mean over cases of what one arm passed more than the other."""

from statistics import fmean

from upskill.domain import Lift
from upskill.measuring.intervals import Z_FIXED, cases_like_these, these_cases
from upskill.measuring.pairs import Pairing


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
