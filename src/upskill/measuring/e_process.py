"""Evidence without a cap: for a comparison that goes on for months, or that goes on after its cap was reached.

It needs more pairs than the sign test and may be looked at for ever. For these very cases it holds at the ends of
rounds, however the cases differ; at any pair it holds where cases are drawn at random.
"""

from statistics import fmean

from upskill.measuring.decision import Side

BOUNDARY = 40.0
"""Evidence this strong comes up by chance in at most one in forty comparisons, on each side."""

_BETS = tuple((j - 0.5) / 40 for j in range(1, 41))


def evidence(*, wins: int, losses: int) -> float:
    """What a gambler who bets on wins has made of one coin; at most one on average where there is no lift."""
    return fmean((1 + bet) ** wins * (1 - bet) ** losses for bet in _BETS)


def decide_by_evidence(*, wins: int, losses: int) -> Side | None:
    """The side whose evidence has reached the boundary."""
    if evidence(wins=wins, losses=losses) >= BOUNDARY:
        return "helps"
    return "hurts" if evidence(wins=losses, losses=wins) >= BOUNDARY else None
