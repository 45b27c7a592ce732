"""One judgement for every design: the verdict, what it is about, and the sentence a person reads."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upskill.core.nouns import Interval
from upskill.core.statistics import (
    ONE_LOOK,
    CaseTally,
    DroppedPair,
    GateFindings,
    Level,
    Pair,
    Pairing,
    counted_pairs,
    holds_among,
    judge,
    measure_lift,
)
from upskill.core.statistics.intervals import Ratio
from upskill.core.statistics.pairs import Losses, worst_case
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


def drop(case: int, repeat: int, passed: bool | None, passed_against: bool | None) -> DroppedPair:
    return DroppedPair(case_id=f"case{case:02}", repeat=repeat, passed=passed, passed_against=passed_against)


# Verdicts


def test_a_skill_that_helps_is_said_by_how_much() -> None:
    judgement = judge(pairing_of(["WW+"] * 10 + ["-W-"] * 10))
    assert (judgement.verdict, judgement.claim) == ("helps", "new cases")
    assert judgement.sentence == "helps: +50 points (95% CI +28 to +63, 60 pairs)"


def test_the_level_of_the_look_is_stated() -> None:
    pairing = pairing_of(["W"] * 5 + ["-"] * 7)
    assert judge(pairing).sentence == "helps: +42 points (95% CI +4 to +74, 12 pairs)"
    assert judge(pairing, level=Level(looks=2)).sentence == "helps: +42 points (97.5% CI +3 to +80, 12 pairs)"


def test_few_cases_speak_of_themselves_only() -> None:
    judgement = judge(pairing_of(["WW+W"] * 4))
    assert (judgement.verdict, judgement.claim) == ("helps", "these cases")
    assert judgement.sentence == (
        "helps on these 4 cases: +75 points (95% CI +33 to +92, 16 pairs); too few to conclude about new cases"
    )


def test_from_six_cases_on_nothing_is_claimed_of_these_cases() -> None:
    judgement = judge(pairing_of(["WWWWW"] * 2 + ["+++++"] * 9 + ["-----"] * 9))
    assert (judgement.verdict, judgement.claim) == ("undecided", None)
    assert "; 2 of 20 cases changed, all for the better" in judgement.sentence


def test_no_difference_takes_many_cases() -> None:
    few, many = (judge(pairing_of(["+"] * cases)) for cases in (20, 40))
    assert (few.verdict, few.sentence.partition("; ")[2]) == ("undecided", "none of 20 cases changed")
    assert (many.verdict, many.claim) == ("no difference", "new cases")
    assert many.sentence == "no difference: 0 points (95% CI −9 to +9, 40 pairs)"
    assert many.lift is not None
    assert figures(many.lift) in many.sentence, "one interval, wherever it is shown"


def test_undecided_says_what_changed_and_how_many_more_cases_would_show_it() -> None:
    judgement = judge(pairing_of(["W"] * 4 + ["-"] * 8))
    assert (judgement.verdict, judgement.claim) == ("undecided", None)
    assert judgement.sentence == (
        "undecided for new cases: +33 points (95% CI −2 to +65, 12 pairs); 4 of 12 cases changed, all for the better; "
        "18 more cases (at least 36 calls) would show a lift like this"
    )


def test_cases_that_went_both_ways_are_counted_both_ways() -> None:
    judgement = judge(pairing_of(["W", "W", "L"] + ["-"] * 9))
    assert "3 of 12 cases changed: 2 for the better, 1 for the worse" in judgement.sentence
    assert judge(pairing_of(["W"] + ["-"] * 11)).sentence.count("1 of 12 cases changed, for the better") == 1
    assert "none of 12 cases changed" in judge(pairing_of(["-"] * 12)).sentence


def test_undecided_with_few_cases_says_how_many_a_verdict_takes() -> None:
    judgement = judge(pairing_of(["W+L-", "+W--", "L+--"]))
    assert judgement.sentence.startswith("undecided on these 3 cases: 0 points (95% CI −")
    assert judgement.sentence.endswith("6 cases are the fewest for a verdict about new cases")


def test_the_lift_asked_for_is_shown_excluded_or_neither() -> None:
    helped = pairing_of(["WW+"] * 10 + ["-W-"] * 10)
    assert judge(helped, min_lift=0.25).clears is True
    assert judge(helped, min_lift=0.25).sentence.endswith("60 pairs); a lift of at least +25 points is shown")
    assert judge(helped, min_lift=0.5).clears is None
    assert judge(helped, min_lift=0.5).sentence.endswith("at least +50 points is not shown")
    assert judge(helped, min_lift=0.8).clears is False
    assert judge(helped, min_lift=0.8).sentence.endswith("a lift of +80 points is excluded")


def test_copies_of_one_answer_are_one_answer_where_only_these_cases_are_spoken_of() -> None:
    def copied(rows: list[str]) -> Pairing:
        pairing = pairing_of(rows)
        return replace(pairing, pairs=tuple(replace(one, answers=("with", one.case_id)) for one in pairing.pairs))

    assert len(counted_pairs(copied(["WWWW"] * 3)).pairs) == 3
    assert len(counted_pairs(copied(["WWWW"] * 8)).pairs) == 32, "units are cases there, however often they were asked"


def test_broken_cases_are_named_first() -> None:
    broken = CaseTally(case_id="port", pairs=8, passed=0, passed_against=8)
    judgement = judge(pairing_of(["LL"] + ["++"] * 11), gate=GateFindings(broken=(broken,)))
    assert judgement.sentence.startswith(
        "breaks 1 of 12 cases: port (8 of 8 before, 0 now); undecided for new cases: −8"
    )


# Cheaper


def test_fewer_tokens_and_no_worse_is_cheaper() -> None:
    judgement = judge(pairing_of(["+"] * 50), tokens=FEWER_TOKENS)
    assert (judgement.verdict, judgement.claim) == ("cheaper", "new cases")
    assert judgement.sentence == (
        "cheaper: 0.62 times the tokens (95% CI 0.55 to 0.70); lift 0 points (95% CI −7 to +7, 50 pairs)"
    )


def test_fewer_tokens_alone_are_not_cheaper_where_the_skill_may_hurt() -> None:
    assert judge(pairing_of(["W+L", "+L-", "-W+"] * 3), tokens=FEWER_TOKENS).verdict == "undecided"
    assert judge(pairing_of(["+"] * 20), tokens=FEWER_TOKENS).verdict == "undecided", "20 cases exclude no loss of 10"


def test_as_many_tokens_are_not_cheaper() -> None:
    assert judge(pairing_of(["+"] * 50), tokens=SAME_TOKENS).verdict == "no difference"


def test_skill_that_helps_is_said_to_help_also_where_it_is_cheaper() -> None:
    assert judge(pairing_of(["WW+"] * 20), tokens=FEWER_TOKENS).verdict == "helps"


# Several models


def test_best_of_several_models_needs_a_stricter_level() -> None:
    pairing = pairing_of(["W"] * 8 + ["+"] * 12)
    judgement = judge(pairing)
    assert (judgement.verdict, judgement.claim) == ("helps", "new cases")
    assert holds_among(judgement, pairing, ONE_LOOK, models=2) is True
    assert holds_among(judgement, pairing, ONE_LOOK, models=20) is False
    assert holds_among(judgement, pairing, ONE_LOOK, models=1) is None, "it is no best of anything"
    here = pairing_of(["WWWW"] * 4)
    assert holds_among(judge(here), here, ONE_LOOK, models=2) is None, "nothing is claimed for new cases"


# What withholds a verdict


def test_interrupted_run_claims_nothing_and_says_so() -> None:
    judgement = judge(pairing_of(["W"] * 12), cut_short="interrupted")
    assert (judgement.verdict, judgement.claim, judgement.doubt) == ("undecided", None, "interrupted")
    assert judgement.sentence.startswith("undecided, interrupted: +100 points (95% CI +")


def test_answers_seen_before_their_checks_changed_claim_nothing() -> None:
    judgement = judge(pairing_of(["W"] * 12), regraded=True, min_lift=0.1)
    assert (judgement.verdict, judgement.claim, judgement.clears) == ("undecided", None, None)
    assert judgement.sentence.startswith(
        "undecided: the checks changed after the answers were seen; by the new ones +100 points"
    )


def test_a_claim_must_hold_with_the_cases_that_were_removed() -> None:
    pairing = pairing_of(["W"] * 6 + ["-"] * 6)
    gone = [Pair(case_id=f"removed {number}", repeat=0, passed=False, passed_against=True) for number in range(3)]
    assert judge(pairing).verdict == "helps"
    judgement = judge(pairing, removed=gone)
    assert (judgement.verdict, judgement.doubt) == ("undecided", "removed cases")
    assert judgement.sentence.endswith("; not shown with the 3 removed or changed cases included")
    assert judge(pairing, removed=[replace(one, passed=True) for one in gone]).verdict == "helps"


# Errors


def test_too_many_drops_are_invalid() -> None:
    drops = tuple(drop(case, 1, None, None) for case in range(3))
    pairing = pairing_of(["W"] * 10, drops)
    judgement = judge(pairing)
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
    assert judgement.lift is not None
    assert judgement.lift.interval.low < 0 < judgement.lift.interval.high, "the interval that decided"
    assert judgement.lift.supposes == "the 3 lost answers with the skill had failed"
    assert judgement.sentence.startswith("undecided because of lost answers: +30 points (95% CI ")
    assert judgement.sentence.endswith(" if the 3 lost answers with the skill had failed, 20 pairs)")
    mirrored = judge(losing(pairing_of([row.replace("W", "L") for row in rows]), [(0, 0)], [(1, 0), (2, 0)]))
    assert mirrored.verdict == "undecided"
    assert mirrored.sentence.endswith(
        " if the 1 lost answer with the skill had passed and the 2 lost answers without the skill had failed, 20 pairs)"
    )


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
    assert other.lift.interval.low == pytest.approx(-one.lift.interval.high)
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
    assert (clean.mean, clean.interval) == (dropped.mean, dropped.interval)
    assert dropped.dropped == len(errors)
