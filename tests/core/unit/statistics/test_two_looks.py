"""When the first look is the last one."""

from upskill.core.statistics import Pair, Pairing, end_at_first_look, most_repeats, repeated
from upskill.core.statistics.pairs import Losses


def pairing_of(outcomes: str, *, lost: tuple[int, ...] = ()) -> Pairing:
    """One letter per case: W a win, L a loss, + both passed, - both failed; `lost` had an answer lost on the way."""
    pairs = tuple(
        Pair(case_id=f"c{number:02}", repeat=1, passed=letter in "W+", passed_against=letter in "L+")
        for number, letter in enumerate(outcomes)
    )
    keys = frozenset((pair.case_id, pair.repeat) for pair in pairs)
    losses = Losses(lost=len(lost), asked_in=keys, lost_in=frozenset((f"c{number:02}", 1) for number in lost))
    return Pairing(
        arm="with_skill", against="baseline", pairs=pairs, losses=losses, losses_against=Losses(asked_in=keys)
    )


def test_the_first_look_decides_where_its_stricter_interval_excludes_zero() -> None:
    for enough, short in (("W" * 5 + "-" * 7, "W" * 4 + "-" * 8), ("W" * 8 + "L---", "W" * 7 + "L----")):
        assert end_at_first_look(pairing_of(enough), error=0.025) == "decided"
        assert (
            end_at_first_look(pairing_of(enough.replace("W", "l").replace("L", "W").upper()), error=0.025) == "decided"
        )
        assert end_at_first_look(pairing_of(short), error=0.025) is None


def test_a_lift_within_its_own_noise_is_not_asked_for_again() -> None:
    assert end_at_first_look(pairing_of("WL" * 3 + "-" * 6), error=0.025) == "futile"
    assert end_at_first_look(pairing_of("+-" * 6), error=0.025) == "futile"
    assert end_at_first_look(pairing_of("WWL" + "-" * 9), error=0.025) == "futile"
    assert end_at_first_look(pairing_of("WW" + "-" * 10), error=0.025) is None


def test_a_later_evaluation_needs_more_to_be_decided() -> None:
    assert end_at_first_look(pairing_of("W" * 5 + "-" * 7), error=0.0025) is None
    assert end_at_first_look(pairing_of("W" * 12), error=0.0025) == "decided"


def test_a_claim_that_hangs_on_a_lost_answer_is_asked_for_again() -> None:
    assert end_at_first_look(pairing_of("W" * 5 + "-" * 7, lost=(0,)), error=0.025) is None
    assert end_at_first_look(pairing_of("W" * 9 + "-" * 3, lost=(0,)), error=0.025) == "decided"


def test_of_few_cases_none_is_within_its_noise() -> None:
    assert end_at_first_look(pairing_of("W--"), error=0.025) is None
    assert end_at_first_look(pairing_of("WWW"), error=0.025) == "decided"


def test_grades_repeat_where_every_case_that_was_asked_again_has_one_grade_in_each_arm() -> None:
    first = pairing_of("W-+").pairs
    again = tuple(
        Pair(case_id=one.case_id, repeat=2, passed=one.passed, passed_against=one.passed_against) for one in first
    )
    assert repeated(first, units=6) is None, "nothing was repeated"
    assert repeated((*first, *again[:2]), units=6) == "grades"
    other = Pair(case_id="c00", repeat=2, passed=False, passed_against=False)
    assert repeated((*first, other, again[1]), units=6) is None


def test_of_few_cases_only_identical_answers_repeat() -> None:
    def asked(*texts: str) -> list[Pair]:
        return [
            Pair(case_id="c00", repeat=repeat, passed=True, passed_against=False, answers=(f"yes {text}", f"no {text}"))
            for repeat, text in enumerate(texts)
        ]

    assert repeated(asked("so", "so"), units=5) == "answers"
    assert repeated(asked("so", "thus"), units=5) is None, "each is an answer of its own"
    assert repeated(asked("so", "thus"), units=6) == "grades"


def test_many_cases_are_asked_once_more_and_few_twice() -> None:
    assert [most_repeats(cases) for cases in (1, 12, 33, 34, 100)] == [3, 3, 3, 2, 2]
