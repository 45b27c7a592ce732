"""One judgement for fixed and sequential designs: verdict, claim and the sentence a person reads."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upskill.core.nouns import Interval
from upskill.core.statistics import (
    FIXED,
    DroppedPair,
    Judgement,
    Pair,
    Pairing,
    Sequential,
    holds_among,
    judge,
    measure_lift,
)
from upskill.core.statistics.intervals import Ratio
from upskill.core.statistics.pairs import Decision, Losses, worst_case
from upskill.core.statistics.verdict import figures

FEWER_TOKENS = Ratio(typical=0.62, interval=Interval(low=0.55, high=0.70), total=0.6, cases=20)
SAME_TOKENS = Ratio(typical=0.98, interval=Interval(low=0.90, high=1.07), total=1.0, cases=20)


def pairs_of(rows: list[str]) -> list[Pair]:
    """One row per case, one letter per repeat: W a win, L a loss, + both passed, - both failed."""
    return [
        Pair(case_id=f"case{case:02}", repeat=repeat, passed=letter in "W+", passed_against=letter in "L+")
        for case, row in enumerate(rows)
        for repeat, letter in enumerate(row)
    ]


def pairing_of(rows: list[str], drops: tuple[DroppedPair, ...] = ()) -> Pairing:
    return Pairing(arm="with_skill", against="baseline", pairs=tuple(pairs_of(rows)), drops=drops)


def run_through(rows: list[str], *, min_lift: float | None = None) -> Judgement:
    """The judgement of a sequential design fed these rows round by round."""
    design = Sequential(cases=len(rows), cap=len(rows) * len(rows[0]), min_lift=min_lift)
    for one in sorted(pairs_of(rows), key=lambda pair: pair.repeat):
        design.add(one)
    return judge(design.pairing, decision=design.decision, min_lift=min_lift)


def drop(case: int, repeat: int, passed: bool | None, passed_against: bool | None) -> DroppedPair:
    return DroppedPair(case_id=f"case{case:02}", repeat=repeat, passed=passed, passed_against=passed_against)


# Fixed designs


def test_fixed_design_that_helps_says_by_how_much() -> None:
    judgement = judge(pairing_of(["WW+"] * 10 + ["-W-"] * 10))
    assert (judgement.verdict, judgement.claim, judgement.reason) == ("helps", "cases like these", None)
    assert judgement.sentence == "helps: +50 points (95% CI +28 to +63, 60 pairs)"


def test_fixed_design_with_few_cases_speaks_of_these_only() -> None:
    judgement = judge(pairing_of(["WW+W"] * 4))
    assert (judgement.verdict, judgement.claim) == ("helps", "these cases")
    assert judgement.sentence == (
        "helps on these 4 cases: +75 points (95% CI +33 to +92, 16 pairs); too few to conclude about new cases"
    )


def test_two_flipped_cases_of_twenty_are_not_shown_for_others() -> None:
    judgement = judge(pairing_of(["WWWWW"] * 2 + ["+++++"] * 9 + ["-----"] * 9))
    assert (judgement.verdict, judgement.claim) == ("helps", "these cases")
    assert judgement.sentence.startswith("helps on these 20 cases: +10 points")
    assert judgement.sentence.endswith("not shown for new cases of this kind")


def test_no_difference_is_said_where_the_lift_is_surely_small() -> None:
    judgement = judge(pairing_of(["+++++"] * 19 + ["W+L+-"]))
    assert (judgement.verdict, judgement.claim) == ("no difference", "these cases")
    assert judgement.sentence.startswith("no difference on these 20 cases: 0 points (95% CI −")
    assert judgement.lift is not None
    assert figures(judgement.lift, judgement.lift.these_cases) in judgement.sentence, (
        "one interval, wherever it is shown"
    )


def test_undecided_says_what_is_still_possible_and_what_it_takes_to_know() -> None:
    judgement = judge(pairing_of(["W+L", "+W-", "L+-", "W--", "-L+", "++-", "--W", "+-+", "-+L", "+++"]))
    assert (judgement.verdict, judgement.claim) == ("undecided", None)
    assert judgement.sentence == (
        "undecided: 0 points (95% CI −20 to +20, 30 pairs); to detect +20: 304 more calls on 76 cases"
    )


def test_undecided_with_few_cases_counts_calls_on_the_same_cases() -> None:
    judgement = judge(pairing_of(["W+L-", "+W--", "L+--"]))
    assert judgement.sentence.startswith("undecided: 0 points (95% CI −41 to +41, 12 pairs)")
    assert judgement.sentence.endswith("to detect +41: 48 more calls")


def test_fixed_design_says_whether_the_asked_lift_is_shown() -> None:
    helped = pairing_of(["WW+"] * 10 + ["-W-"] * 10)
    assert judge(helped, min_lift=0.25).clears is True
    assert judge(helped, min_lift=0.25).sentence.endswith("60 pairs); a lift of at least +25 points is shown")
    assert judge(helped, min_lift=0.5).clears is None
    assert judge(helped, min_lift=0.5).sentence.endswith("at least +50 points is not shown")
    assert judge(helped, min_lift=0.8).clears is False
    assert judge(helped, min_lift=0.8).sentence.endswith("a lift of +80 points is excluded")


# Cheaper


def test_fewer_tokens_and_no_worse_is_cheaper() -> None:
    judgement = judge(pairing_of(["+++++"] * 19 + ["W+L+-"]), tokens=FEWER_TOKENS)
    assert (judgement.verdict, judgement.claim) == ("cheaper", "these cases")
    assert judgement.sentence == (
        "cheaper on these 20 cases: 0.62 times the tokens (95% CI 0.55 to 0.70); "
        "lift 0 points (95% CI −4 to +4, 100 pairs)"
    )


def test_fewer_tokens_alone_are_not_cheaper_where_the_skill_may_hurt() -> None:
    assert judge(pairing_of(["W+L", "+L-", "-W+"] * 3), tokens=FEWER_TOKENS).verdict == "undecided"


def test_as_many_tokens_are_not_cheaper() -> None:
    assert judge(pairing_of(["+++++"] * 20), tokens=SAME_TOKENS).verdict == "no difference"


def test_skill_that_helps_is_said_to_help_also_where_it_is_cheaper() -> None:
    assert judge(pairing_of(["WW+"] * 20), tokens=FEWER_TOKENS).verdict == "helps"


# Several models


def test_best_of_several_models_needs_a_stricter_level() -> None:
    pairing = pairing_of(["W"] * 8 + ["+"] * 12)
    judgement = judge(pairing)
    assert (judgement.verdict, judgement.claim) == ("helps", "cases like these")
    assert holds_among(judgement, pairing, FIXED, models=2) is True
    assert holds_among(judgement, pairing, FIXED, models=20) is False
    assert holds_among(judgement, pairing, FIXED, models=1) is None, "it is no best of anything"
    here = pairing_of(["WWWWW"] * 2 + ["+++++"] * 9 + ["-----"] * 9)
    assert holds_among(judge(here), here, FIXED, models=2) is None, "nothing is claimed for cases like these"


# Sequential designs


def test_sequential_design_uses_the_wider_interval() -> None:
    rows = ["WW+"] * 10 + ["-W-"] * 10
    fixed, early = judge(pairing_of(rows)), judge(pairing_of(rows), decision=Decision(reason="cap"))
    assert fixed.lift is not None
    assert early.lift is not None
    assert early.lift.these_cases.low < fixed.lift.these_cases.low


def test_interval_is_cut_at_zero_on_the_side_of_the_verdict() -> None:
    # The sign test decides on eight wins and one loss; the interval alone would reach below zero.
    rows = ["W"] * 14 + ["+"] * 5 + ["L"] * 1
    decision = Decision(reason="decided", verdict="helps", claim="cases like these")
    judgement = judge(pairing_of(["W", "+", "+", "+", "+", "+", "+"]), decision=decision)
    assert judgement.lift is not None
    assert judgement.lift.cases_like_these is not None
    assert judgement.lift.cases_like_these.above_zero
    assert judgement.sentence == "helps: +14 points (95% CI above 0 to +83, 7 pairs)"
    mirrored = judge(
        pairing_of(["L", "+", "+", "+", "+", "+", "+"]),
        decision=Decision(reason="decided", verdict="hurts", claim="cases like these"),
    )
    assert mirrored.sentence == "hurts: −14 points (95% CI −83 to below 0, 7 pairs)"
    assert judge(pairing_of(rows), decision=decision).sentence == "helps: +65 points (95% CI +28 to +100, 20 pairs)"


def test_sequential_sentence_says_how_many_pairs_it_took() -> None:
    judgement = run_through(["WWWWW"] * 20)
    assert judgement.reason == "decided"
    assert judgement.sentence == "helps: +100 points (95% CI +40 to +100, 8 pairs)"


def test_claim_about_these_cases_prints_the_pooled_lift() -> None:
    decision = Decision(reason="decided", verdict="helps", claim="these cases")
    judgement = judge(pairing_of(["WWWW", "WWWW", "+", "+"]), decision=decision)
    assert judgement.lift is not None
    assert judgement.lift.mean == pytest.approx(0.8)


def test_interrupted_run_says_so() -> None:
    judgement = judge(pairing_of(["+", "W", "+"]), decision=Decision(reason="interrupted"))
    assert judgement.sentence.startswith("undecided, interrupted: +33 points (95% CI −")


def test_asked_lift_is_part_of_the_sentence() -> None:
    judgement = run_through(["WWWWW"] * 20, min_lift=0.2)
    assert (judgement.verdict, judgement.clears) == ("helps", True)
    assert (
        judgement.sentence
        == "helps: +100 points (95% CI +75 to +100, 30 pairs); a lift of at least +20 points is shown"
    )


# Errors


def test_too_many_drops_are_invalid_in_every_design() -> None:
    drops = tuple(drop(case, 1, None, None) for case in range(3))
    pairing = pairing_of(["W"] * 10, drops)
    for decision in (None, Decision(reason="decided", verdict="helps", claim="cases like these")):
        judgement = judge(pairing, decision=decision)
        assert (judgement.verdict, judgement.claim) == ("invalid", None)
        assert judgement.sentence == "no verdict: 3 of 13 pairs were dropped because an answer errored"


def losing(pairing: Pairing, lost: Sequence[tuple[int, int]], against: Sequence[tuple[int, int]] = ()) -> Pairing:
    """The pairs, of which some lost an answer in either arm before they were scored."""
    asked = frozenset((pair.case_id, pair.repeat) for pair in pairing.pairs)

    def losses(keys: Sequence[tuple[int, int]]) -> Losses:
        return Losses(
            lost=len(keys), asked_in=asked, lost_in=frozenset((f"case{case:02}", repeat) for case, repeat in keys)
        )

    return replace(pairing, losses=losses(lost), losses_against=losses(against))


def test_answers_lost_on_one_side_are_invalid_and_the_arm_is_named() -> None:
    lost = [(case, 0) for case in range(6)]
    one = judge(losing(pairing_of(["WWWW"] * 10), lost))
    assert one.verdict == "invalid"
    assert one.sentence == "no verdict: 6 answers were lost with the skill, 0 without the skill"
    other = judge(losing(pairing_of(["WWWW"] * 10), [], lost))
    assert other.sentence == "no verdict: 0 answers were lost with the skill, 6 without the skill"


def test_too_many_pairs_that_lost_an_answer_are_invalid_on_whichever_side() -> None:
    lost = [(case, 0) for case in range(9)]
    judgement = judge(losing(pairing_of(["WWWW"] * 10), lost[:5], lost[5:]))
    assert judgement.sentence == (
        "no verdict: 9 of 40 pairs were dropped or lost an answer: "
        "5 answers were lost with the skill, 4 without the skill"
    )


def test_refusals_count_only_where_they_differ_between_the_arms() -> None:
    keys = frozenset((f"case{case:02}", 0) for case in range(10))
    some = Losses(refused=30, asked_in=keys, refused_in=keys)
    few = Losses(refused=2, asked_in=keys, refused_in=frozenset(list(keys)[:1]))
    assert judge(replace(pairing_of(["W"] * 10), losses=some, losses_against=some)).verdict == "helps"
    judgement = judge(replace(pairing_of(["W"] * 10), losses=some, losses_against=few))
    assert judgement.sentence == "no verdict: 30 requests were refused with the skill, 2 without the skill"


def test_claim_that_hangs_on_lost_answers_is_not_made() -> None:
    rows = ["W"] * 6 + ["+"] * 14
    assert judge(pairing_of(rows)).verdict == "helps"
    judgement = judge(losing(pairing_of(rows), [(0, 0), (1, 0), (2, 0)]))
    assert (judgement.verdict, judgement.claim) == ("undecided", None)
    assert judgement.sentence.endswith("; not shown if the 3 lost answers with the skill had failed")
    mirrored = judge(losing(pairing_of([row.replace("W", "L") for row in rows]), [(0, 0)], [(1, 0), (2, 0)]))
    assert mirrored.verdict == "undecided"
    assert mirrored.sentence.endswith(
        "; not shown if the 1 lost answer with the skill had passed and the 2 lost answers without the skill had failed"
    )


def test_design_that_lost_answers_kept_from_a_decision_says_so_beside_an_interval_above_zero() -> None:
    pairing = losing(pairing_of(["W"] * 8 + ["+"] * 12), [(0, 0), (1, 0), (2, 0)])
    judgement = judge(pairing, decision=Decision(reason="futile"))
    assert judgement.verdict == "undecided"
    assert "CI +" in judgement.sentence
    assert judgement.sentence.endswith("; not shown if the 3 lost answers with the skill had failed")
    stopped = judge(pairing, decision=Decision(reason="interrupted"))
    assert stopped.sentence.startswith("undecided, interrupted: ")


def test_claim_that_holds_in_the_worst_case_is_made_and_its_figures_are_those_measured() -> None:
    plain, lossy = judge(pairing_of(["WW"] * 20)), judge(losing(pairing_of(["WW"] * 20), [(0, 0)], [(1, 1)]))
    assert lossy == plain


def test_lift_asked_for_must_hold_in_the_worst_case_too() -> None:
    rows = ["W"] * 16 + ["+"] * 4
    assert judge(pairing_of(rows), min_lift=0.5).clears is True
    judgement = judge(losing(pairing_of(rows), [(0, 0), (1, 0), (2, 0)], [(3, 0)]), min_lift=0.5)
    assert (judgement.verdict, judgement.clears) == ("helps", None)
    assert judgement.sentence.endswith("at least +50 points is not shown")


def test_worst_case_counts_lost_answers_against_the_side_once_for_each_pair() -> None:
    drops = (drop(0, 2, None, False), drop(0, 2, None, False), drop(1, 2, True, None), drop(1, 1, None, True))
    pairing = losing(pairing_of(["WW", "++"], drops), [(0, 0), (0, 2)], [(1, 2)])
    pairs = worst_case(pairing, "helps").pairs
    feared = {(pair.case_id, pair.repeat): (pair.passed, pair.passed_against) for pair in pairs}
    assert feared == {
        ("case00", 0): (False, False),
        ("case00", 1): (True, False),
        ("case00", 2): (False, False),
        ("case01", 0): (True, True),
        ("case01", 1): (True, True),
        ("case01", 2): (True, True),
    }
    assert {(pair.passed, pair.passed_against) for pair in worst_case(pairing, "hurts").pairs} == {
        (True, False),
        (True, True),
    }


# Properties

ROWS = st.integers(1, 12).flatmap(
    lambda cases: st.lists(st.text("WL+-", min_size=1, max_size=5), min_size=cases, max_size=cases)
)


@settings(deadline=None)
@given(ROWS)
def test_swapping_the_arms_negates_lift_and_mirrors_the_verdict(rows: list[str]) -> None:
    one = judge(pairing_of(rows))
    other = judge(pairing_of([row.translate(str.maketrans("WL", "LW")) for row in rows]))
    assert one.lift is not None
    assert other.lift is not None
    assert other.lift.mean == pytest.approx(-one.lift.mean)
    assert other.lift.these_cases.low == pytest.approx(-one.lift.these_cases.high)
    mirrored = {"helps": "hurts", "hurts": "helps"}.get(one.verdict, one.verdict)
    assert (other.verdict, other.claim) == (mirrored, one.claim)


@settings(deadline=None)
@given(ROWS, st.integers(0, 2**32))
def test_order_of_cases_and_pairs_does_not_matter(rows: list[str], seed: int) -> None:
    pairing = pairing_of(rows)
    shuffled = list(pairing.pairs)
    random.Random(seed).shuffle(shuffled)
    assert judge(Pairing(arm="with_skill", against="baseline", pairs=tuple(shuffled))) == judge(pairing)


@settings(deadline=None)
@given(ROWS, st.lists(st.tuples(st.integers(0, 11), st.none() | st.booleans()), max_size=3))
def test_errored_pair_never_changes_the_lift(rows: list[str], errors: list[tuple[int, bool | None]]) -> None:
    drops = tuple(drop(case, 9, passed, None) for case, passed in errors)
    clean, dropped = measure_lift(pairing_of(rows)), measure_lift(pairing_of(rows, drops))
    assert clean is not None
    assert dropped is not None
    assert (clean.mean, clean.these_cases) == (dropped.mean, dropped.these_cases)
    assert dropped.dropped == len(errors)
