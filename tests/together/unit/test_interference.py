"""Which sets are asked together, and that their effects and intervals are true."""

import random
from itertools import combinations

import pytest

from together.made_library import ALONE, EFFECTS, NAMES
from upskill.core.statistics.interference import Effect, balanced_sets, measure_effect, shared_level
from upskill.core.statistics.intervals import ONE_LOOK

CASES = 24
EVALUATIONS = 200


@pytest.mark.parametrize("others", range(1, 6))
def test_each_skill_is_in_half_of_the_sets_and_hides_behind_no_other(others: int) -> None:
    sets = balanced_sets(others)
    everyone = frozenset(range(others))
    assert (sets[0], sets[-1]) == (frozenset(), everyone)
    assert {everyone - some for some in sets} == set(sets)
    assert all(2 * sum(one in some for some in sets) == len(sets) for one in everyone)
    assert all(4 * sum({*pair} <= some for some in sets) == len(sets) for pair in combinations(everyone, 2))
    assert len(sets) <= 2**others
    if others == 4:
        assert len(sets) * 3 <= 2**5, "five skills must take a third of all sets of five, or less"


def test_what_two_skills_do_together_is_laid_at_the_door_of_no_third() -> None:
    sets = balanced_sets(4)
    both = [({0, 1} <= some) for some in sets]
    for other in (2, 3):
        effect = measure_effect({"a": [both]}, present=[other in some for some in sets], level=ONE_LOOK)
        assert effect is not None
        assert effect.mean == 0


def _evaluation(luck: random.Random) -> dict[tuple[str, str], Effect]:
    """The effect of every pair, in one evaluation of the five skills."""
    level, found = shared_level(len(NAMES), students=1), {}
    for skill in NAMES:
        others = [name for name in NAMES if name != skill]
        sets = [{others[number] for number in some} for some in balanced_sets(len(others))]
        chances = [ALONE + sum(EFFECTS.get((skill, other), 0.0) for other in some) for some in sets]
        # Cases differ: some are hard whatever lies beside.
        rows = {}
        for case in range(CASES):
            ease = luck.choice((0.75, 1.0, 1.25))
            rows[str(case)] = [[luck.random() < min(1.0, chance * ease) for chance in chances]]
        for other in others:
            effect = measure_effect(rows, present=[other in some for some in sets], level=level)
            assert effect is not None
            found[skill, other] = effect
    return found


def test_shadows_and_conflicts_are_found_null_pairs_are_not_claimed_and_intervals_hold_the_truth() -> None:
    luck = random.Random("together")
    found = [_evaluation(luck) for _ in range(EVALUATIONS)]
    for pair in EFFECTS:
        assert sum(one[pair].verdict == "costs" for one in found) >= 0.9 * EVALUATIONS, pair
    claimed = sum(
        any(effect.verdict in ("costs", "helps") for pair, effect in one.items() if pair not in EFFECTS)
        for one in found
    )
    assert claimed <= 0.05 * EVALUATIONS
    held = 0
    for one in found:
        for pair, effect in one.items():
            assert effect.interval is not None
            # Over the three kinds of cases; a rate of 1 cannot rise, so an easy case loses less from 1 than from above.
            truth = _truth(pair)
            held += effect.interval.low <= truth <= effect.interval.high
    assert held >= 0.995 * EVALUATIONS * len(found[0])


def _truth(pair: tuple[str, str]) -> float:
    """The effect averaged over the kinds of cases: only the other skill matters in these pairs."""
    change = EFFECTS.get(pair, 0.0)
    kinds = (0.75, 1.0, 1.25)
    return sum(min(1.0, (ALONE + change) * ease) - min(1.0, ALONE * ease) for ease in kinds) / len(kinds)
