"""The gate that a revision has to pass, exactly, and the guard that it makes nothing worse."""

import random

import pytest

from upskill.measuring import (
    FRESH_PAIRS,
    DroppedPair,
    Pair,
    Pairing,
    confirm_worse,
    level_of_use,
    number_of_use,
    pass_gate,
    screen_cases,
)
from upskill.measuring.distributions import fisher_greater
from upskill.measuring.pairs import CaseTally


def pairing(*cases: tuple[int, int], pairs: int = 5, drops: tuple[DroppedPair, ...] = ()) -> Pairing:
    """Per case, the passes of the old version and of the new one."""
    return Pairing(
        arm="with_skill",
        against="previous",
        pairs=tuple(
            Pair(case_id=f"c{nth:02}", repeat=repeat, passed=repeat <= new, passed_against=repeat <= old)
            for nth, (old, new) in enumerate(cases)
            for repeat in range(1, pairs + 1)
        ),
        drops=drops,
    )


def is_superior(pairs: Pairing, level: float) -> bool:
    gate = pass_gate(pairs, level)
    return gate is not None and gate.superior


def test_levels_of_the_uses_of_one_set_add_up_to_less_than_one_in_twenty() -> None:
    assert [level_of_use(use) for use in (1, 2, 3)] == pytest.approx([0.025, 0.05 / 6, 0.05 / 12])
    assert sum(level_of_use(use) for use in range(1, 10_000)) < 0.05
    assert sum(level_of_use(use) for use in range(1, 6)) == pytest.approx(0.05 * 5 / 6)
    with pytest.raises(ValueError, match="counted from 1"):
        level_of_use(0)


def test_set_that_shares_a_case_with_an_earlier_one_is_not_fresh() -> None:
    assert number_of_use(["a", "b"], []) == 1
    assert number_of_use(["a", "b"], [["a", "b"], ["b", "a"]]) == 3
    assert number_of_use(["a", "z"], [["a", "b"]]) == 2
    assert number_of_use(["y", "z"], [["a", "b"], ["c"]]) == 1


def test_gate_is_the_floored_t_at_its_level() -> None:
    # Ten cases of three pairs whose 95% interval is known by heart: .3000 [.0145, .5855].
    passes = [(0, 1), (0, 3), (0, 2), (1, 3), (1, 1), (2, 3), (2, 3), (3, 3), (3, 3), (3, 2)]
    first = pass_gate(pairing(*passes, pairs=3), level_of_use(1))
    assert first is not None
    assert first.wide
    assert first.superior
    assert first.mean == pytest.approx(0.3)
    assert first.interval.low == pytest.approx(0.0145, abs=0.0005)
    assert first.interval.high == pytest.approx(0.5855, abs=0.0005)
    # t is 2.377 with 9 degrees of freedom, one-sided p = .0207: enough for the first use, not for the second.
    assert is_superior(pairing(*passes, pairs=3), 0.0210)
    assert not is_superior(pairing(*passes, pairs=3), 0.0204)
    assert not is_superior(pairing(*passes, pairs=3), level_of_use(2))


def test_cases_that_all_moved_alike_have_an_interval_with_a_width() -> None:
    gate = pass_gate(pairing(*[(5, 5)] * 20), level_of_use(1))
    assert gate is not None
    assert gate.interval.low == pytest.approx(-0.1797, abs=5e-5)
    assert gate.interval.high == pytest.approx(0.1797, abs=5e-5)
    assert not gate.superior


def test_one_flipped_case_of_sixteen_is_never_superior() -> None:
    assert not is_superior(pairing((0, 5), *[(5, 5)] * 15), level_of_use(1))


def test_fewer_than_six_cases_speak_of_themselves() -> None:
    gate = pass_gate(pairing(*[(0, 5)] * 4), level_of_use(1))
    assert gate is not None
    assert not gate.wide
    assert gate.superior
    # Four wins of four come up once in sixteen: never enough. Six of six come up once in sixty-four.
    four = pass_gate(pairing(*[(0, 1)] * 4, pairs=1), level_of_use(1))
    assert four is not None
    assert (four.superior, four.interval.low) == (False, 0.0)
    assert is_superior(pairing(*[(0, 2)] * 3, pairs=2), level_of_use(1))
    assert not is_superior(pairing(*[(0, 2)] * 3, pairs=2), level_of_use(2))


def test_no_verdict_where_nothing_was_run_or_too_much_errored() -> None:
    assert pass_gate(pairing(), 0.025) is None
    drops = tuple(DroppedPair(case_id=f"c{nth:02}", repeat=9, passed=None, passed_against=True) for nth in range(30))
    assert pass_gate(pairing(*[(0, 5)] * 16, drops=drops), 0.025) is None
    assert not is_superior(pairing(*[(0, 5)] * 16, drops=drops), 0.025)


@pytest.mark.parametrize("name", ["half", "B55", "het", "skew"])
def test_five_uses_of_one_set_claim_together_what_one_use_may(name: str) -> None:
    """Revisions that are no better, five in a row on sixteen cases of one kind."""
    rng = random.Random(name)
    draws = {
        "half": lambda: (0.5, 0.5),
        "B55": lambda: (lambda rate: (rate, rate))(rng.betavariate(0.5, 0.5)),
        "het": lambda: (0.25, 0.75) if rng.random() < 0.5 else (0.75, 0.25),
        "skew": lambda: (0.40, 0.55) if rng.random() < 0.8 else (0.80, 0.20),
    }
    lines, claimed = 200, 0
    for _ in range(lines):
        for use in range(1, 6):
            rates = [draws[name]() for _ in range(16)]
            pairs = [
                Pair(case_id=str(case), repeat=repeat, passed=rng.random() < new, passed_against=rng.random() < old)
                for case, (old, new) in enumerate(rates)
                for repeat in range(5)
            ]
            if is_superior(Pairing(arm="with_skill", against="previous", pairs=tuple(pairs)), level_of_use(use)):
                claimed += 1
                break
    # One in twenty at most, and three standard errors of two hundred lines.
    assert claimed <= lines * (0.05 + 3 * 0.0154)


def test_true_gain_is_found_at_the_first_use_and_less_often_at_the_fifth() -> None:
    rng = random.Random(0)
    found = {1: 0, 5: 0}
    for _ in range(200):
        rates = [(base, base + (1 - base) * 0.7) for base in (rng.betavariate(0.5, 0.5) for _ in range(16))]
        one = pairing(
            *(
                (sum(rng.random() < old for _ in range(5)), sum(rng.random() < new for _ in range(5)))
                for old, new in rates
            )
        )
        for use in found:
            found[use] += is_superior(one, level_of_use(use))
    assert found[1] >= 190
    assert 60 <= found[5] < found[1]


def tally(case_id: str, against: int, passed: int, pairs: int) -> CaseTally:
    return CaseTally(case_id=case_id, pairs=pairs, passed=passed, passed_against=against)


@pytest.mark.parametrize(
    ("pairs", "passed", "probability"), [(5, 0, 0.00397), (6, 0, 0.00108), (5, 1, 0.02381), (8, 2, 0.00350)]
)
def test_fisher_is_the_golden_one(pairs: int, passed: int, probability: float) -> None:
    """All passed in the baseline, so many with the skill."""
    assert fisher_greater(pairs - passed, pairs, 0, pairs) == pytest.approx(probability, abs=0.00001)


def test_screen_takes_cases_that_lost_half_of_their_pairs_and_two_at_least() -> None:
    tallies = [
        tally("one of one", 1, 0, 1),
        tally("two of three", 3, 1, 3),
        tally("one of three", 3, 2, 3),
        tally("two of five", 5, 3, 5),
        tally("three of five", 5, 2, 5),
        tally("gained", 0, 5, 5),
    ]
    assert [suspect.case_id for suspect in screen_cases(tallies)] == ["two of three", "three of five"]


def test_fresh_pairs_confirm_a_case_that_broke() -> None:
    worse = confirm_worse([tally("broken", 8, 1, 8), tally("lucky", 6, 5, 8)])
    assert [case.case_id for case in worse] == ["broken"]
    assert worse[0].probability == pytest.approx(fisher_greater(7, 8, 0, 8))


def test_holm_asks_more_of_each_where_suspects_are_many() -> None:
    # 8/8 -> 4/8 is .0385: enough for one suspect, not for two.
    assert fisher_greater(4, 8, 0, 8) == pytest.approx(0.0385, abs=0.0001)
    assert [case.case_id for case in confirm_worse([tally("a", 8, 4, 8)])] == ["a"]
    assert confirm_worse([tally("a", 8, 4, 8), tally("b", 8, 8, 8)]) == ()
    # Next to a case that is surely worse, it needs to pass only the last step.
    assert [case.case_id for case in confirm_worse([tally("a", 8, 4, 8), tally("b", 8, 0, 8)])] == ["b", "a"]
    assert confirm_worse([]) == ()


def test_broken_case_is_found_as_often_as_was_simulated() -> None:
    """Twenty cases of five pairs, one of them from .95 to 0: fresh pairs find it."""
    rng = random.Random(0)

    def draw(case_id: str, base: float, skilled: float, pairs: int) -> CaseTally:
        return tally(
            case_id,
            sum(rng.random() < base for _ in range(pairs)),
            sum(rng.random() < skilled for _ in range(pairs)),
            pairs,
        )

    with_fresh_pairs = 0
    for _ in range(200):
        rates = {f"c{nth}": (base, base) for nth in range(19) for base in [rng.betavariate(0.5, 0.5)]}
        rates["broken"] = (0.95, 0.0)
        tallies = [draw(name, *rate, 5) for name, rate in rates.items()]
        fresh = [draw(suspect.case_id, *rates[suspect.case_id], FRESH_PAIRS) for suspect in screen_cases(tallies)]
        with_fresh_pairs += "broken" in {worse.case_id for worse in confirm_worse(fresh)}
    assert with_fresh_pairs >= 196
