"""A skill that saves tokens and loses nothing is found to be cheaper by the design that may stop early, too."""

import random
from collections.abc import Callable

import pytest

from upskill.core.statistics import Judgement, Sequential, judge
from upskill.core.statistics.intervals import ratio_of_uses, unit_of
from upskill.core.statistics.pairs import Pair

Tokens = tuple[int | None, int | None]


def run(
    cases: int, tokens: Callable[[int], Tokens], *, rates: tuple[float, float] = (1.0, 1.0), seed: int = 0
) -> Judgement:
    """Pairs in planned order until the design stops; `rates` are those with the skill and without it."""
    rng, design = random.Random(seed), Sequential(cases=cases)
    number = 0
    while not design.decision.stop:
        passed, passed_against = (rng.random() < rate for rate in rates)
        pair = Pair(
            case_id=f"c{number % cases:02}",
            repeat=1 + number // cases,
            passed=passed,
            passed_against=passed_against,
            answers=(f"a{number}", f"b{number}"),
            tokens=tokens(number),
        )
        design.add(pair)
        number += 1
    ratio = ratio_of_uses(
        ((unit_of(pair.case_id, pair.family), pair.tokens) for pair in design.pairing.pairs), design.level
    )
    return judge(design.pairing, decision=design.decision, tokens=ratio, level=design.level)


@pytest.mark.parametrize(("cases", "claim"), [(12, "these cases"), (20, "these cases"), (50, "cases like these")])
def test_all_passed_with_and_without_it_and_most_tokens_saved_is_cheaper(cases: int, claim: str) -> None:
    found = run(cases, lambda number: (140 + number % 7, 970 + number % 11))
    assert (found.verdict, found.claim) == ("cheaper", claim)


@pytest.mark.parametrize("tokens", [(1000, 970), (None, 970)])
def test_nothing_to_gain_and_no_token_surely_saved_is_given_up_early(tokens: Tokens) -> None:
    found = run(20, lambda number: (None if tokens[0] is None else tokens[0] + number % 90, tokens[1]))
    assert (found.verdict, found.reason) == ("undecided", "futile")
    assert found.lift is not None
    assert found.lift.pairs <= 40


def test_losing_ten_points_is_seldom_called_cheaper() -> None:
    wrong = sum(run(20, lambda _: (140, 970), rates=(0.9, 1.0), seed=seed).verdict == "cheaper" for seed in range(60))
    assert wrong <= 3
