"""When an evaluation of unknown temperature has been asked enough. Knows no schedule and no words.

Every case is asked once with and without the skill. If the interval for new cases excludes zero, that is the
verdict. Otherwise every case is asked again, and looked at once more. Each look takes half of the error, so nothing
else needs to be known about how the two depend on each other.

Asking again is of no use where the lift is within its own noise, or where answers repeat themselves: then the first
look is the only one, and in the second case has the whole error.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from upskill.core.statistics.intervals import FEWEST_CASES, Level, merge_families
from upskill.core.statistics.pairs import Pair, Pairing, are_copies
from upskill.core.statistics.verdict import shown_side

PROBED_CASES = (3, 8)
"""How many cases are asked a second time in both arms, to see whether answers repeat themselves: more where only their
grades do, which may be chance."""
_LEAST_SIGNAL = 0.7
"""In standard errors: a smaller lift is hardly ever shown by a second look."""
_MANY_CASES = 34
"""From here on one more repeat says as much as two with fewer cases."""

FirstLookEnd = Literal["decided", "futile"]
Repeated = Literal["answers", "grades"]


def most_repeats(cases: int) -> int:
    """How often a case is asked at most."""
    return 2 if cases >= _MANY_CASES else 3


def end_at_first_look(pairing: Pairing, *, error: float, removed: Sequence[Pair] = ()) -> FirstLookEnd | None:
    """Why the first look is the last one; `None` where every case is to be asked again.

    `removed` are the last pairs of cases that are asked no more, and with which a claim must hold.
    """
    if shown_side(pairing, Level(error=error, looks=2), removed=removed) is not None:
        return "decided"
    return "futile" if _is_within_noise(pairing) else None


def _is_within_noise(pairing: Pairing) -> bool:
    differences = [unit.difference for unit in merge_families(pairing.tallies)]
    count = len(differences)
    if count < FEWEST_CASES:
        return False
    mean = math.fsum(differences) / count
    variance = math.fsum((difference - mean) ** 2 for difference in differences) / (count - 1)
    return abs(mean) <= _LEAST_SIGNAL * math.sqrt(variance / count)


def repeated(pairs: Sequence[Pair], *, units: int) -> Repeated | None:
    """What the cases have in common that were asked more than once; `None` where asking again says something new.

    A model that words the same answer in another way repeats itself too. With too few cases to speak of new ones, every
    answer of its own counts.
    """
    if are_copies(pairs):
        return "answers"
    return "grades" if units >= FEWEST_CASES and _grades_repeat(pairs) else None


def _grades_repeat(pairs: Sequence[Pair]) -> bool:
    """Whether every case that was asked more than once has one grade in each arm; no where none was."""
    grades: dict[str, set[tuple[bool, bool]]] = defaultdict(set)
    repeats: dict[str, int] = defaultdict(int)
    for pair in pairs:
        grades[pair.case_id].add((pair.passed, pair.passed_against))
        repeats[pair.case_id] += 1
    repeated = [case_id for case_id, number in repeats.items() if number > 1]
    return bool(repeated) and all(len(grades[case_id]) == 1 for case_id in repeated)
