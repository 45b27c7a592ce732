"""Futility: when more pairs within the cap will not decide. Not binding: ignoring it costs calls, not validity."""

import math
from collections.abc import Sequence

from upskill.measuring.distributions import t_quantile
from upskill.measuring.exact_sign import SignTest
from upskill.measuring.intervals import FEWEST_CASES, Level, floored_spread, merge_families
from upskill.measuring.pairs import CaseTally

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
    quantile = t_quantile(1 - level.of_a_look, len(units) - 1)
    return abs(mean) + FUTILITY * error < quantile * error * math.sqrt(share)
