"""Where simulated cases come from: true pass rates without and with the skill, drawn from named populations."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

Rates = tuple[float, float]
"""The true pass rates of one case: baseline, with the skill."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generator:
    """Draws cases; `lift` is the true mean over all the cases it could draw."""

    name: str
    lift: float
    draw: Callable[[random.Random], Rates]

    def cases(self, rng: random.Random, count: int) -> list[Rates]:
        return [self.draw(rng) for _ in range(count)]


@cache
def generator(name: str) -> Generator:
    """By the names of the design: B55, half, sat, het, skew, break, break05, gain20, flat20, respond20."""
    if name in NULLS:
        return Generator(name=name, lift=0.0, draw=NULLS[name])
    kind = name.rstrip("0123456789")
    lift = int(name.removeprefix(kind)) / 100
    jump = lift / _mean_room(0.95) if kind == "respond" else 0.0

    def gained(base: float) -> Rates:
        return base, base + (1 - base) * 2 * lift

    draws: dict[str, Callable[[random.Random], Rates]] = {
        "gain": lambda rng: gained(rng.betavariate(0.5, 0.5)),
        "flat": lambda rng: (0.5 - lift / 2, 0.5 + lift / 2),
        "respond": lambda rng: _responded(rng.betavariate(0.5, 0.5), rng.random() < jump),
    }
    return Generator(name=name, lift=lift, draw=draws[kind])


NULLS: dict[str, Callable[[random.Random], Rates]] = {
    "B55": lambda rng: _unchanged(rng.betavariate(0.5, 0.5)),
    "half": lambda rng: (0.5, 0.5),
    "sat": lambda rng: _unchanged(rng.betavariate(8, 0.5)),
    "het": lambda rng: (0.25, 0.75) if rng.random() < 0.5 else (0.75, 0.25),
    "skew": lambda rng: (0.40, 0.55) if rng.random() < 0.8 else (0.80, 0.20),
    # Rare breakage: most cases gain a little, few are broken, and the gains make up for the losses exactly.
    "break": lambda rng: (0.97, 0.02) if rng.random() < 0.1 else (0.0, 0.095 / 0.9),
    "break05": lambda rng: (0.97, 0.02) if rng.random() < 0.05 else (0.0, 0.05),
}
"""Cases whose lift is zero in the mean over all of them."""


def _unchanged(rate: float) -> Rates:
    return rate, rate


def _responded(base: float, responds: bool) -> Rates:
    return base, max(base, 0.95) if responds else base


def _mean_room(top: float) -> float:
    """The mean of max(top - b, 0) for b from Beta(.5, .5): the integral of its distribution function up to top."""
    steps = 100_000
    return sum(2 / math.pi * math.asin(math.sqrt((i + 0.5) / steps * top)) for i in range(steps)) * top / steps
