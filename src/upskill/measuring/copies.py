"""Repeats that are copies: a student, or a cache before it, that gives the same answer every time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from upskill.measuring.pairs import Pair, Pairing

SHARE_OF_COPIES = 0.9
"""Where at least so many cases give byte-identical answers on every repeat, in each arm, repeats are copies."""


def are_copies(pairs: Sequence[Pair]) -> bool:
    """Whether nine in ten repeated cells, a case in one arm, hold a single answer; no where nothing was repeated."""
    cells: dict[tuple[str, int], list[str]] = defaultdict(list)
    for pair in pairs:
        for arm, answer in enumerate(pair.answers):
            if answer:
                cells[pair.case_id, arm].append(answer)
    repeated = [answers for answers in cells.values() if len(answers) > 1]
    same = sum(len(set(answers)) == 1 for answers in repeated)
    return bool(repeated) and same >= SHARE_OF_COPIES * len(repeated)


def collapse_copies(pairing: Pairing) -> Pairing:
    """One pair per case where repeats are copies; otherwise the pairing as it is."""
    return replace(pairing, pairs=without_copies(pairing.pairs)) if are_copies(pairing.pairs) else pairing


def without_copies(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The first pair of each case."""
    first: dict[str, Pair] = {}
    for pair in pairs:
        first.setdefault(pair.case_id, pair)
    return tuple(first.values())
