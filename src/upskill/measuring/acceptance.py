"""What a revision has to pass: the gate over all held-out cases, and the never-worse guard over each of them.

The gate asks for superiority on held-out cases, at a level that pays for every use of them. The first use of a held-out
set may err once in forty, the second once in a hundred and twenty, and so on: however often the same set is used, all
its uses together err at most once in twenty. Fresh cases begin again at the first.

The guard looks for single cases that a skill made worse, which a mean over all cases would hide. First a screen, which
proves nothing and says only where to look again; then fresh pairs on the suspects alone.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from upskill.domain import Interval
from upskill.measuring.distributions import fisher_greater
from upskill.measuring.intervals import Level, cases_like_these, merge_families, these_cases
from upskill.measuring.pairs import CaseTally, Pairing, reason_to_refuse

ERROR_OF_A_SET = 0.05
"""What all uses of one held-out set may err together, on the side of a false gain."""
REPEATS_OF_A_LATER_USE = 5
"""A later use is a design of fixed size: the bounds of the one that stops early are made for the first level only."""


_ABOVE_ZERO = 1e-9
"""Where an interval is cut if the exact test has excluded zero and the interval has not."""
FRESH_PAIRS = 8
"""How many new pairs a suspect is given."""
ALPHA = 0.05


def level_of_use(use: int) -> float:
    """The one-sided level of the so-many-th use of a held-out set: .025, .0083, .0042 and so on."""
    if use < 1:
        raise ValueError(f"uses are counted from 1, not {use}")
    return ERROR_OF_A_SET / (use * (use + 1))


def number_of_use(cases: Collection[str], earlier: Iterable[Collection[str]]) -> int:
    """Which use of these held-out cases comes next, from the digests of the cases that earlier uses were made with.

    A set that shares even one case with an earlier one is no fresh set: exchanging a case must not begin again at
    the first level.
    """
    mine = frozenset(cases)
    return 1 + sum(not mine.isdisjoint(before) for before in earlier)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """What a held-out test of fixed size showed."""

    superior: bool
    level: float
    """One-sided."""
    mean: float
    interval: Interval
    """Excludes zero on its lower side exactly where the test says superior."""
    wide: bool
    """Whether it speaks of cases like these; with fewer than six cases it speaks of these very cases only."""


def pass_gate(pairing: Pairing, level: float) -> Gate | None:
    """The interval for cases like these at one side's level; `None` where these pairs allow no verdict.

    Fewer than six cases cannot speak of others: then it is the exact sign test over pairs, for these very cases.
    """
    if not pairing.pairs or reason_to_refuse(pairing) is not None:
        return None
    tallies = pairing.tallies
    interval = cases_like_these(tallies, Level(level))
    if interval is None:
        return _narrow(pairing, level)
    mean = fmean(unit.difference for unit in merge_families(tallies))
    return Gate(superior=interval.above_zero, level=level, mean=mean, interval=interval, wide=True)


def _narrow(pairing: Pairing, level: float) -> Gate:
    wins = sum(pair.passed and not pair.passed_against for pair in pairing.pairs)
    losses = sum(pair.passed_against and not pair.passed for pair in pairing.pairs)
    discordant = wins + losses
    chance = sum(math.comb(discordant, won) for won in range(wins, discordant + 1)) / 2**discordant
    superior = chance <= level
    interval = these_cases(pairing.tallies, Level(level))
    # With a handful of pairs the interval promises more than the exact test keeps; the test decides.
    low = max(interval.low, _ABOVE_ZERO) if superior else min(interval.low, 0.0)
    return Gate(
        superior=superior,
        level=level,
        mean=(wins - losses) / len(pairing.pairs),
        interval=Interval(low=low, high=interval.high),
        wide=False,
    )


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
