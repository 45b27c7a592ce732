"""The exact sign test: golden vectors, and its error computed without simulation."""

import random
from collections.abc import Iterator
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upskill.core.statistics.exact_sign import SignTest
from upskill.core.statistics.pairs import Pair

CAPS = (25, 50, 100, 200, 300)


def run_to_stop(pattern: tuple[int, ...], *, cap: int) -> tuple[int, str] | None:
    """The pair at which the test stops on a repeating pattern of wins (+1), losses (-1) and ties (0)."""
    test = SignTest(cap=cap)
    outcomes: Iterator[int] = cycle(pattern)
    for number in range(1, cap + 1):
        if (side := test.look(next(outcomes))) is not None:
            return number, side
    return None


def exact_errors(*, cap: int, every: int, error: float = 0.025, of_harm: float = 0.025) -> tuple[float, float]:
    """How likely the test is to say `helps`, and `hurts`, without a lift, where each so many-th pair is discordant.

    The boundary depends on the number of discordant pairs and not on who won them, so it is read off a test that is
    fed wins and losses in turn; the law of the wins is followed here, apart from the test's own.
    """
    test = SignTest(cap=cap, error=error, of_harm=of_harm)
    law = {0: 1.0}
    discordant = 0
    helps = hurts = 0.0
    for number in range(1, cap + 1):
        if number % every:
            test.look(0)
        else:
            test.look(1 if discordant % 2 else -1)
            discordant += 1
            grown: dict[int, float] = {}
            for wins, mass in law.items():
                grown[wins] = grown.get(wins, 0.0) + mass / 2
                grown[wins + 1] = grown.get(wins + 1, 0.0) + mass / 2
            law = grown
        assert test.side is None
        helps += sum(law.pop(wins) for wins in list(law) if wins > test.most)
        hurts += sum(law.pop(wins) for wins in list(law) if wins < test.least)
    return helps, hurts


@pytest.mark.parametrize(
    ("pattern", "stops"),
    [((1,), (8, 8, 9, 10, 11)), ((0, 1), (14, 16, 16, 18, 20)), ((1, 1, -1), (None, 50, 59, 68, 74))],
)
def test_wins_stop_it_at_the_golden_counts(pattern: tuple[int, ...], stops: tuple[int | None, ...]) -> None:
    for cap, stop in zip(CAPS, stops, strict=True):
        assert run_to_stop(pattern, cap=cap) == (None if stop is None else (stop, "helps"))


def test_losses_stop_it_at_the_same_counts_as_wins() -> None:
    assert [run_to_stop((-1,), cap=cap) for cap in CAPS] == [(count, "hurts") for count in (8, 8, 9, 10, 11)]


@pytest.mark.parametrize(
    ("cap", "errors"),
    [
        (10, (0.0430, 0.0000, 0.0000)),
        (25, (0.0454, 0.0498, 0.0312)),
        (50, (0.0480, 0.0486, 0.0498)),
        (100, (0.0492, 0.0481, 0.0486)),
        (300, (0.0496, 0.0492, 0.0484)),
    ],
)
def test_exact_error_is_the_golden_one(cap: int, errors: tuple[float, ...]) -> None:
    for every, error in zip((1, 2, 4), errors, strict=True):
        assert sum(exact_errors(cap=cap, every=every)) == pytest.approx(error, abs=0.000051)


@pytest.mark.parametrize("every", [1, 2, 3, 4, 7])
def test_exact_error_is_never_above_its_promise(every: int) -> None:
    for cap in (*range(1, 60), 100, 200):
        assert max(exact_errors(cap=cap, every=every)) <= 0.025
        helps, hurts = exact_errors(cap=cap, every=every, error=0.0025)
        assert helps <= 0.0025
        assert hurts <= 0.025


def test_a_stricter_level_makes_harm_no_harder_to_see() -> None:
    """As many losses in a row are called harm in the tenth look as in the first; it takes more wins to be help."""
    for cap in (20, 50, 100):
        (losses, wins), (losses_later, wins_later) = (
            [_straight(SignTest(cap=cap, error=error), step) for step in (-1, +1)] for error in (0.025, 0.0011)
        )
        assert losses == losses_later
        assert wins < wins_later


def _straight(test: SignTest, step: int) -> int:
    return next(number for number in range(1, test.cap + 1) if test.look(step) is not None)


def test_pair_counts_as_a_win_when_only_the_measured_arm_passed() -> None:
    test = SignTest(cap=10)
    for passed, passed_against in ((True, False), (False, True), (True, True), (False, False), (True, False)):
        test.add(Pair(case_id="a", repeat=1, passed=passed, passed_against=passed_against))
    assert (test.wins, test.losses, test.pairs) == (2, 1, 5)


def test_cap_cannot_be_exceeded() -> None:
    test = SignTest(cap=2)
    test.look(0)
    test.look(0)
    with pytest.raises(ValueError, match="cap cannot be raised"):
        test.look(1)


def test_decision_stays_once_it_is_made() -> None:
    test = SignTest(cap=25)
    for _ in range(8):
        test.look(1)
    assert test.look(-1) == "helps"
    assert test.least_pairs_to_stop() == 0


def test_cap_too_small_to_decide_is_known_beforehand() -> None:
    assert SignTest(cap=5).least_pairs_to_stop() is None
    assert SignTest(cap=300).least_pairs_to_stop() == 11


@settings(deadline=None)
@given(st.lists(st.sampled_from((-1, 0, 1)), min_size=1, max_size=60))
def test_swapping_the_arms_mirrors_every_look(outcomes: list[int]) -> None:
    mirror = {"helps": "hurts", "hurts": "helps", None: None}
    one, other = SignTest(cap=60), SignTest(cap=60)
    for outcome in outcomes:
        assert mirror[one.look(outcome)] == other.look(-outcome)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(5, 60), st.floats(0, 1))
def test_no_path_stops_sooner_than_the_least_number_of_pairs(seed: int, cap: int, share: float) -> None:
    rng = random.Random(seed)
    test = SignTest(cap=cap)
    earliest = test.least_pairs_to_stop()
    for number in range(1, cap + 1):
        if test.look(rng.choices((1, 0, -1), (share, 0.3, 1 - share))[0]) is not None:
            assert earliest is not None
            assert number >= earliest
            return
        promised = test.least_pairs_to_stop()
        earliest = None if promised is None else number + promised
