"""Fisher's exact test, the exact interval of a share, the quantile of Student's t. Knows nothing of what is counted."""

import math
from collections.abc import Callable
from functools import cache
from math import comb


def fisher_greater(hits: int, trials: int, other_hits: int, other_trials: int) -> float:
    """How likely at least this many hits are on the first side, if the two sides are alike."""
    total, marked = trials + other_trials, hits + other_hits
    ways = comb(total, marked)
    most = min(trials, marked)
    return sum(comb(trials, k) * comb(other_trials, marked - k) for k in range(hits, most + 1)) / ways


@cache
def exact_share(hits: int, trials: int, error: float) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a share, with at most this error on each side.

    It also holds for the mean of shares that differ between the trials, which vary less than equal ones.
    """
    low = 0.0 if hits == 0 else _share_where(lambda share: _at_least(hits, trials, share) < error)
    high = 1.0 if hits == trials else _share_where(lambda share: 1 - _at_least(hits + 1, trials, share) > error)
    return low, high


def _at_least(hits: int, trials: int, share: float) -> float:
    return _incomplete_beta(hits, trials - hits + 1, share)


def _share_where(below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


@cache
def t_quantile(probability: float, degrees: int) -> float:
    """The value below which a t variable falls with this probability (above one half)."""
    if not 0.5 < probability < 1 or degrees < 1:
        raise ValueError("needs a probability between one half and one, and at least one degree of freedom")
    low, high = 0.0, 1.0
    while t_tail(high, degrees) > 1 - probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if t_tail(middle, degrees) > 1 - probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def t_tail(value: float, degrees: float) -> float:
    """The probability that a t variable exceeds a value of at least zero."""
    return 0.5 * _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + value * value))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _continued_fraction(a, b, x) / a
    return 1 - math.exp(log_front) * _continued_fraction(b, a, 1 - x) / b


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Lentz's method; converges within a few dozen steps where it is used."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 + term * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + term / c
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return result
