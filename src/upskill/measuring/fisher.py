"""Fisher's exact test, one-sided, and the smallest value it can take. Knows nothing of what is counted."""

from math import comb


def fisher_greater(hits: int, trials: int, other_hits: int, other_trials: int) -> float:
    """How likely at least this many hits are on the first side, if the two sides are alike."""
    total, marked = trials + other_trials, hits + other_hits
    ways = comb(total, marked)
    most = min(trials, marked)
    return sum(comb(trials, k) * comb(other_trials, marked - k) for k in range(hits, most + 1)) / ways


def smallest_fisher(hits: int, trials: int, other_hits: int, other_trials: int) -> float:
    """The value if every hit that could be on the first side were there."""
    marked = hits + other_hits
    most = min(trials, marked)
    return fisher_greater(most, trials, marked - most, other_trials)
