"""The design that goes on while lost answers could have made its decision."""

from hypothesis import given
from hypothesis import strategies as st

from upskill.core.statistics import DroppedPair, GuardedSequential, Pair, Sequential

CASES = 8
LETTERS = st.lists(st.sampled_from("WL+-x"), min_size=CASES * 5, max_size=CASES * 5)


def pair_of(turn: int, letter: str, *, lost: bool = False, lost_against: bool = False) -> Pair | DroppedPair:
    """W a win, L a loss, + both passed, - both failed, x dropped."""
    case_id, repeat = f"c{turn % CASES}", turn // CASES + 1
    if letter == "x":
        return DroppedPair(case_id=case_id, repeat=repeat, passed=None, passed_against=True, lost=lost)
    return Pair(
        case_id=case_id,
        repeat=repeat,
        passed=letter in "W+",
        passed_against=letter in "L+",
        lost=lost,
        lost_against=lost_against,
    )


def guarded() -> GuardedSequential:
    return GuardedSequential(lambda: Sequential(cases=CASES))


@given(LETTERS)
def test_without_a_lost_answer_it_is_the_design_itself(letters: list[str]) -> None:
    plain, other = Sequential(cases=CASES), guarded()
    for turn, letter in enumerate(letters):
        pair = pair_of(turn, letter)
        assert other.add(pair) == plain.add(pair)
        assert other.least_pairs_to_stop() == plain.least_pairs_to_stop()
    assert other.end("cap") == plain.end("cap")
    assert other.pairing == plain.pairing


@given(LETTERS, st.sets(st.integers(0, CASES * 5 - 1)), st.sets(st.integers(0, CASES * 5 - 1)))
def test_a_side_is_decided_only_where_the_measured_pairs_show_it_and_never_sooner(
    letters: list[str], lost: set[int], lost_against: set[int]
) -> None:
    plain, other = Sequential(cases=CASES), guarded()
    for turn, letter in enumerate(letters):
        pair = pair_of(turn, letter, lost=turn in lost, lost_against=turn in lost_against)
        plain.add(pair)
        if other.add(pair).stop:
            assert plain.decision.stop
    plain.end("cap")
    assert other.end("cap").verdict in (plain.decision.verdict, "undecided")


def test_it_goes_on_past_a_boundary_that_a_lost_answer_may_have_crossed() -> None:
    plain, other = Sequential(cases=CASES), guarded()
    turn = 0
    while not plain.decision.stop:
        pair = pair_of(turn, "W", lost=turn == 0)
        plain.add(pair)
        assert not other.decision.stop
        other.add(pair)
        turn += 1
    assert plain.decision.verdict == "helps"
    assert other.least_pairs_to_stop() > 0
    while not other.decision.stop:
        other.add(pair_of(turn, "W"))
        turn += 1
    assert other.decision.verdict == "helps", "seven cases out of eight are enough, a little later"
    assert len(other.pairing.pairs) == turn


def test_an_answer_that_was_lost_in_an_earlier_try_counts_against_the_pair_that_was_run_again() -> None:
    verdicts = []
    for lost in (False, True):
        design = GuardedSequential(lambda: Sequential(cases=CASES, cap=2 * CASES))
        for turn, letter in enumerate("xxxWWW++" + "+" * CASES):
            design.add(pair_of(turn, letter, lost=lost and letter == "x"))
        for turn in range(3):
            design.add(pair_of(turn, "W"))
        verdicts.append(design.end("cap").verdict)
        assert sum(pair.passed and not pair.passed_against for pair in design.pairing.pairs) == 6, "as measured"
    assert verdicts == ["helps", "undecided"]
