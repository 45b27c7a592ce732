"""Which cases a new version broke: the gate of a repository. Knows no schedule and no words.

Each case is asked twice in both versions. A case that the old version passed more often is asked up to six times more
in both. It is broken where the old version passed at least six times more often, of eight. Byte-identical copies say
sooner what eight answers would: four of them, or two where the temperature is known to be 0.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from upskill.core.statistics.pairs import CaseTally, Pair, are_copies, tally_pairs

GATE_ROUNDS = 2
"""How often every case is asked; once is enough at temperature 0."""
GATE_REPEATS = 8
"""How often a suspected case is asked at most."""
LEAST_LOSS = 6
ENOUGH_COPIES = 4
"""So many copies in each version are no chance; at temperature 0 two are enough."""
ENOUGH_AT_ZERO = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class GateFindings:
    """What the gate found for one model."""

    broken: tuple[CaseTally, ...] = ()
    """Cases that the new version breaks, with all their pairs."""
    suspected: tuple[str, ...] = ()
    """Cases that could not be asked often enough: they look broken, or nothing is known of them."""
    unguarded: tuple[str, ...] = ()
    """Cases that the old version passes only sometimes: breakage of these is often missed."""


def suspected_cases(pairs: Iterable[Pair]) -> frozenset[str]:
    """The cases that the old version passed more often than the new one."""
    return frozenset(tally.case_id for tally in tally_pairs(pairs) if tally.difference < 0)


def open_cases(pairs: Iterable[Pair], suspects: frozenset[str], *, enough_copies: int) -> frozenset[str]:
    """Those of the suspects that more answers could still show to be broken, or not to be."""
    by_case = _by_case(pair for pair in pairs if pair.case_id in suspects)
    return frozenset(case_id for case_id, mine in by_case.items() if _is_open(mine, enough_copies=enough_copies))


def _is_open(pairs: Sequence[Pair], *, enough_copies: int) -> bool:
    (tally,) = tally_pairs(pairs)
    if _is_copied(pairs, enough_copies=enough_copies):
        return False
    return tally.passed_against - tally.passed + GATE_REPEATS - tally.pairs >= LEAST_LOSS


def gate_findings(pairs: Sequence[Pair], *, cases: Iterable[str], rounds: int, enough_copies: int) -> GateFindings:
    """What all pairs of a gate show, those of suspected cases included. Each of the `cases` needs so many `rounds`."""
    suspects = suspected_cases(pairs)
    by_case = _by_case(pairs)
    broken, unguarded = [], []
    suspected = [case_id for case_id in cases if len(by_case.get(case_id, ())) < rounds]
    for mine in by_case.values():
        (tally,) = tally_pairs(mine)
        loss = tally.passed_against - tally.passed
        if loss >= LEAST_LOSS or (loss == tally.pairs and _is_copied(mine, enough_copies=enough_copies)):
            broken.append(tally)
        elif tally.case_id in suspected:
            continue
        elif (
            (tally.case_id in suspects or tally.pairs > GATE_ROUNDS)
            and tally.pairs < GATE_REPEATS
            and _is_open(mine, enough_copies=enough_copies)
        ):
            suspected.append(tally.case_id)
        elif 0 < tally.passed_against < tally.pairs:
            unguarded.append(tally.case_id)
    return GateFindings(broken=tuple(broken), suspected=tuple(suspected), unguarded=tuple(unguarded))


def _is_copied(pairs: Sequence[Pair], *, enough_copies: int) -> bool:
    return len(pairs) >= enough_copies and are_copies(pairs)


def _by_case(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    cases: dict[str, list[Pair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda pair: pair.case_id):
        cases[pair.case_id].append(pair)
    return cases
