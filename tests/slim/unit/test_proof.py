"""The proof that a slim text is not inferior, on made answers."""

from collections.abc import Sequence

from upskill.slim.proof import MARGIN, ROUNDS, Passes, half_rounds, judge_proof


def _passes(rates: Sequence[float], answers: int) -> Passes:
    made = {
        f"c{number}": [place < round(rate * answers) for place in range(answers)] for number, rate in enumerate(rates)
    }
    return dict(made)


def _verdict(
    slim: Sequence[float], full: Sequence[float], *, answers: int = 5, family: str | None = None
) -> str | None:
    families = {f"c{number}": family for number in range(len(slim))}
    proof = judge_proof(_passes(slim, answers), _passes(full, answers), families, model="m")
    return None if proof is None else proof.verdict


def test_equal_texts_are_proven_by_many_answers_and_not_by_few() -> None:
    rates = [0.8, 1.0, 0.6, 1.0] * 8
    assert _verdict(rates, rates) == "non-inferior"
    assert _verdict([1.0] * 10, [1.0] * 10, answers=1) == "undecided"


def test_a_loss_beyond_the_margin_is_seen() -> None:
    assert _verdict([0.4] * 30, [0.8] * 30) == "inferior"
    assert _verdict([0.8, 0.6] * 6, [0.8, 0.8] * 6) == "undecided"


def test_cases_of_one_family_are_one() -> None:
    assert _verdict([1.0] * 30, [1.0] * 30, family="all") is None
    assert _verdict([1.0] * 5, [1.0] * 5) is None


def test_the_margin_lies_within_the_interval_of_what_is_undecided() -> None:
    proof = judge_proof(
        _passes([0.8] * 8, 5), _passes([0.8, 0.9] * 4, 10), dict.fromkeys(map("c{}".format, range(8))), model="m"
    )
    assert proof is not None
    assert proof.verdict == "undecided"
    assert proof.interval[0] < -MARGIN < proof.interval[1]
    assert proof.answers == 40


def test_every_case_is_once_in_each_round() -> None:
    ids = [f"c{number}" for number in range(7)]
    halves = list(half_rounds(ids, seed=0))
    assert len(halves) == 2 * ROUNDS
    assert all(sorted(one + other) == ids for one, other in zip(halves[::2], halves[1::2], strict=True))
    assert halves == list(half_rounds(ids, seed=0))
