"""The design that may stop early: looks in planned order, errors, what it promises before it stops."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upskill.core.statistics import DroppedPair, Pair, Sequential, default_cap
from upskill.core.statistics.intervals import SEQUENTIAL, these_cases
from upskill.core.statistics.pairs import CaseTally, Claim, Decision


def pair(case: int, repeat: int, outcome: str) -> Pair | DroppedPair:
    """W: a win, L: a loss, +: both passed, -: both failed, x: the measured trial errored."""
    name = f"case{case:02}"
    if outcome == "x":
        return DroppedPair(case_id=name, repeat=repeat, passed=None, passed_against=True)
    return Pair(case_id=name, repeat=repeat, passed=outcome in "W+", passed_against=outcome in "L+")


def feed(design: Sequential, outcomes: str) -> Decision:
    """Feed one letter per turn, in planned order, until the design stops."""
    for turn, outcome in enumerate(outcomes):
        if design.add(pair(turn % design.cases, turn // design.cases, outcome)).stop:
            break
    return design.decision


def simulate(design: Sequential, rng: random.Random, rates: Sequence[tuple[float, float]]) -> Iterator[Pair]:
    turns = ((repeat, case) for repeat in count() for case in rng.sample(range(design.cases), design.cases))
    for repeat, case in islice(turns, design.cap):
        base, skilled = rates[case]
        yield Pair(
            case_id=f"case{case:02}",
            repeat=repeat,
            passed=rng.random() < skilled,
            passed_against=rng.random() < base,
        )


def test_straight_wins_decide_for_cases_like_these_within_the_first_round() -> None:
    design = Sequential(cases=20)
    decision = feed(design, "W" * 20)
    assert decision == Decision(reason="decided", verdict="helps", claim="cases like these")
    assert len(design.pairing.pairs) == 8


def test_straight_losses_are_its_mirror() -> None:
    design = Sequential(cases=20)
    assert feed(design, "L" * 20) == Decision(reason="decided", verdict="hurts", claim="cases like these")
    assert len(design.pairing.pairs) == 8


def test_few_cases_are_decided_by_the_sign_test_and_speak_only_of_themselves() -> None:
    design = Sequential(cases=4)
    assert (design.claim, design.cap) == ("these cases", 28)
    assert feed(design, "W" * 28) == Decision(reason="decided", verdict="helps", claim="these cases")
    assert len(design.pairing.pairs) == 8


def test_two_flipped_cases_of_twenty_help_these_cases_and_are_not_shown_for_others() -> None:
    design = Sequential(cases=20, futility=False)
    decision = feed(design, ("WW" + "+" * 9 + "-" * 9) * 5)
    assert decision == Decision(reason="cap", verdict="helps", claim="these cases")


def test_student_that_never_changes_is_undecided_and_futile() -> None:
    design = Sequential(cases=20)
    assert feed(design, "+-" * 50) == Decision(reason="futile")
    assert len(design.pairing.pairs) == 30


def test_many_pairs_without_a_flip_show_no_difference() -> None:
    design = Sequential(cases=40, futility=False)
    assert feed(design, "+" * 200) == Decision(reason="no difference", verdict="no difference", claim="these cases")
    assert design.complete_rounds == 2


def test_interval_is_asked_after_half_rounds_from_the_second_round_on() -> None:
    design = Sequential(cases=6)
    feed(design, "W" * 8)
    assert not design.decision.stop
    assert design.add(pair(2, 1, "W")) == Decision(reason="decided", verdict="helps", claim="cases like these")


def test_short_plan_may_be_futile_after_half_a_round() -> None:
    design = Sequential(cases=50)
    assert design.cap == 100
    assert feed(design, "+-" * 50) == Decision(reason="futile")
    assert len(design.pairing.pairs) == 25


# Copies


def copied(case: int, repeat: int, outcome: str) -> Pair:
    """A pair whose answers are the same on every repeat."""
    one = pair(case, repeat, outcome)
    assert isinstance(one, Pair)
    return replace(one, answers=(f"with {case}", f"without {case}"))


def test_copies_stop_the_design_and_count_once() -> None:
    design = Sequential(cases=20)
    for turn in range(100):
        if design.add(copied(turn % 20, turn // 20, "WL+-"[turn % 4])).stop:
            break
    assert design.decision.reason == "copies"
    assert (design.copies, len(design.pairing.pairs)) == (True, 20)


def test_copies_never_make_few_cases_a_verdict() -> None:
    """Four wins of four cases come up once in sixteen; repeated eight times by a cache they are still four."""
    design = Sequential(cases=4)
    for turn in range(28):
        if design.add(copied(turn % 4, turn // 4, "W+WL"[turn % 4])).stop:
            break
    assert design.decision == Decision(reason="copies")


# Later looks


def test_earlier_pairs_count_and_the_sign_test_is_not_asked() -> None:
    prior = [CaseTally(case_id=f"case{case:02}", pairs=5, passed=4, passed_against=1) for case in range(20)]
    design = Sequential(cases=20, prior=prior, level=0.0025)
    decision = feed(design, "W+" * 10)
    assert decision == Decision(reason="decided", verdict="helps", claim="cases like these")
    assert len(design.pairing.pairs) == 10
    assert design.pairing.count == 110


def test_stricter_level_needs_more() -> None:
    pairs = {level: len(_fed(Sequential(cases=20, level=level)).pairing.pairs) for level in (0.025, 0.0025, 0.0005)}
    assert pairs[0.025] < pairs[0.0025] < pairs[0.0005]


def _fed(design: Sequential) -> Sequential:
    feed(design, "W" * 100)
    return design


def test_families_are_too_few_where_their_cases_are_not() -> None:
    assert Sequential(cases=20, units=5).claim == "these cases"
    assert Sequential(cases=20, units=6).claim == "cases like these"
    # Within the first round pairs of one family are no different draws, so the sign test is not asked.
    design = Sequential(cases=20, units=6)
    feed(design, "W" * 20)
    assert not design.decision.stop


def test_what_is_fed_after_the_decision_changes_nothing() -> None:
    design = Sequential(cases=20)
    decision = feed(design, "W" * 8)
    before = design.pairing
    assert design.add(pair(9, 0, "L")) is decision
    assert design.pairing == before


def test_pair_out_of_plan_is_refused() -> None:
    design = Sequential(cases=6)
    design.add(pair(0, 0, "+"))
    with pytest.raises(ValueError, match="not the next pair"):
        design.add(pair(0, 1, "+"))


def test_cases_like_these_take_six_cases_and_at_most_five_rounds() -> None:
    with pytest.raises(ValueError, match="at least 6 cases"):
        Sequential(cases=5, claim="cases like these")
    with pytest.raises(ValueError, match="at most 5 repeats"):
        Sequential(cases=20, cap=101)
    assert [default_cap(cases) for cases in (1, 2, 3, 4, 5, 6)] == [25, 26, 27, 28, 25, 30]


def test_cap_is_a_hundred_pairs_in_half_rounds_and_at_least_two_rounds() -> None:
    assert [default_cap(cases) for cases in (20, 24, 30, 32, 33, 40, 50, 100)] == [100, 96, 90, 96, 99, 100, 100, 200]


# Errors


def test_dropped_pair_is_no_look_and_completes_its_round() -> None:
    design = Sequential(cases=6)
    feed(design, "xWWWWW")
    assert design.complete_rounds == 1
    assert (len(design.pairing.pairs), design.pairing.dropped) == (5, 1)
    assert feed_round(design, 1, "WWWWWW").verdict == "helps"


def feed_round(design: Sequential, repeat: int, outcomes: str) -> Decision:
    for case, outcome in enumerate(outcomes):
        design.add(pair(case, repeat, outcome))
    return design.decision


def test_last_look_waits_for_the_pairs_that_are_run_again() -> None:
    design = Sequential(cases=6, cap=12, futility=False)
    feed(design, "xWWLWL" + "WWLWLW")
    assert not design.decision.stop
    assert design.least_pairs_to_stop() == 1
    assert design.add(pair(0, 0, "W")) == Decision(reason="cap")
    assert (len(design.pairing.pairs), design.pairing.dropped) == (12, 1)


def test_pair_that_errors_again_is_still_waited_for_until_the_queue_is_given_up() -> None:
    design = Sequential(cases=6, cap=12, futility=False)
    feed(design, "x+++++" + "++++++")
    design.add(pair(0, 0, "x"))
    assert not design.decision.stop
    assert design.end("cap") == Decision(reason="cap")
    assert (len(design.pairing.pairs), design.pairing.dropped) == (11, 2)


def test_errors_in_the_first_round_only_make_its_test_more_careful() -> None:
    # Seven wins of seven would be enough with seven cases; with one of them errored nothing is.
    assert feed(Sequential(cases=7), "WWWWWWW").verdict == "helps"
    assert not feed(Sequential(cases=7), "WWWxWWW").stop


@settings(deadline=None)
@given(st.text("WL+-", min_size=30, max_size=30), st.sets(st.integers(0, 29), max_size=5))
def test_errored_trial_never_changes_a_score(outcomes: str, errors: set[int]) -> None:
    """Scores with errors thrown in are those of the pairs that were scored."""
    design = Sequential(cases=6, futility=False)
    feed(design, "".join("x" if turn in errors else outcome for turn, outcome in enumerate(outcomes)))
    pairing = design.pairing
    scored = [outcome for turn, outcome in enumerate(outcomes) if turn not in errors][: len(pairing.pairs)]
    assert [(one.passed, one.passed_against) for one in pairing.pairs] == [
        (outcome in "W+", outcome in "L+") for outcome in scored
    ]


# Ends that come from outside


def test_limit_set_beforehand_gets_one_last_look() -> None:
    design = Sequential(cases=6)
    feed(design, "WWWWWW" + "WW")
    assert design.end("budget") == Decision(reason="decided", verdict="helps", claim="cases like these")


def test_person_who_stops_a_run_gets_only_what_may_be_looked_at_any_time() -> None:
    design = Sequential(cases=6, futility=False)
    feed(design, "WWW---" + "WWW---" + "WWWWW")
    assert design.end("interrupted") == Decision(reason="interrupted", verdict="helps", claim="these cases")
    design = Sequential(cases=6)
    feed(design, "WWWWWW")
    assert design.end("interrupted") == Decision(reason="interrupted")


# A lift that was asked for


def test_asked_lift_goes_on_after_the_verdict_until_the_interval_clears_it() -> None:
    design = Sequential(cases=20, min_lift=0.2)
    decision = feed(design, "W" * 100)
    assert decision == Decision(reason="decided", verdict="helps", claim="cases like these", clears=True)
    assert len(design.pairing.pairs) == 30


def test_asked_lift_that_is_excluded_stops_the_run() -> None:
    design = Sequential(cases=20, min_lift=0.3)
    decision = feed(design, "+-" * 50)
    assert (decision.reason, decision.clears) == ("decided", False)


def test_asked_lift_in_doubt_runs_to_the_cap() -> None:
    design = Sequential(cases=6, min_lift=0.1)
    assert feed(design, "WL+-+-" * 5) == Decision(reason="cap")
    assert len(design.pairing.pairs) == 30


# What it promises before it stops


@given(
    st.integers(0, 2**32),
    st.integers(1, 12),
    st.sampled_from((None, 0.1)),
    st.sampled_from(((0.1, 0.9), (0.5, 0.5), (0.0, 0.0), (0.6, 0.4), (1.0, 1.0))),
)
def test_design_never_stops_sooner_than_it_said(
    seed: int, cases: int, min_lift: float | None, rates: tuple[float, float]
) -> None:
    rng = random.Random(seed)
    design = Sequential(cases=cases, min_lift=min_lift)
    fed = 0
    earliest = design.least_pairs_to_stop()
    again: list[tuple[str, int]] = []
    for one in simulate(design, rng, [rates] * cases):
        fed += 1
        if rng.random() < 0.05:
            again.append((one.case_id, one.repeat))
            design.add(DroppedPair(case_id=one.case_id, repeat=one.repeat, passed=None, passed_against=False))
        else:
            design.add(one)
        if design.decision.stop:
            break
        earliest = max(earliest, fed + design.least_pairs_to_stop())
    while not design.decision.stop:
        fed += 1
        case_id, repeat = again.pop()
        design.add(Pair(case_id=case_id, repeat=repeat, passed=True, passed_against=False))
    assert fed >= earliest


def test_fewer_pairs_than_promised_can_never_show_no_difference() -> None:
    # The narrowest intervals come from cases that never flip: all pass but a few that always fail.
    for cases in range(1, 20):
        for runs in range(1, -(-20 // cases)):
            for failing in range(cases):
                tallies = [
                    CaseTally(
                        case_id=str(nth),
                        pairs=runs,
                        passed=0 if nth < failing else runs,
                        passed_against=0 if nth < failing else runs,
                    )
                    for nth in range(cases)
                ]
                assert these_cases(tallies, SEQUENTIAL).high >= 0.10


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 20), st.sampled_from(("these cases", None)))
def test_swapping_the_arms_mirrors_the_decision(seed: int, cases: int, claim: Claim | None) -> None:
    rng = random.Random(seed)
    rates = [(rng.random(), rng.random()) for _ in range(cases)]
    one, other = Sequential(cases=cases, claim=claim), Sequential(cases=cases, claim=claim)
    for forward in simulate(one, rng, rates):
        backward = Pair(
            case_id=forward.case_id, repeat=forward.repeat, passed=forward.passed_against, passed_against=forward.passed
        )
        decision, mirrored = one.add(forward), other.add(backward)
        flipped = {"helps": "hurts", "hurts": "helps"}.get(decision.verdict, decision.verdict)
        assert (mirrored.reason, mirrored.verdict, mirrored.claim) == (decision.reason, flipped, decision.claim)
        if decision.stop:
            break
