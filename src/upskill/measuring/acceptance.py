"""The never-worse guard: single cases that a skill made worse, which a mean over all cases would hide.

First a screen, which proves nothing and says only where to look again; then fresh pairs on the suspects alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from upskill.measuring.distributions import fisher_greater
from upskill.measuring.pairs import CaseTally

FRESH_PAIRS = 8
"""How many new pairs a suspect is given."""
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class WorsenedCase:
    """A case that is significantly worse in the measured arm."""

    case_id: str
    passed: int
    passed_against: int
    pairs: int
    probability: float
    """How likely so large a loss is if the arms were alike."""


def screen_cases(tallies: Sequence[CaseTally]) -> tuple[CaseTally, ...]:
    """The suspects: cases that lost at least two passes, and at least half of their pairs."""
    return tuple(
        tally for tally in tallies if tally.passed_against - tally.passed >= max(2, math.ceil(tally.pairs / 2))
    )


def confirm_worse(fresh: Sequence[CaseTally]) -> tuple[WorsenedCase, ...]:
    """Which suspects are worse, from fresh pairs only: Fisher's exact test, with Holm's correction over suspects."""
    tested = sorted((_test(tally) for tally in fresh), key=lambda worse: worse.probability)
    found: list[WorsenedCase] = []
    for rank, worse in enumerate(tested):
        if worse.probability >= ALPHA / (len(tested) - rank):
            break
        found.append(worse)
    return tuple(found)


def _test(tally: CaseTally) -> WorsenedCase:
    failed, failed_against = tally.pairs - tally.passed, tally.pairs - tally.passed_against
    return WorsenedCase(
        case_id=tally.case_id,
        passed=tally.passed,
        passed_against=tally.passed_against,
        pairs=tally.pairs,
        probability=fisher_greater(failed, tally.pairs, failed_against, tally.pairs),
    )
