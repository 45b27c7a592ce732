"""Learn and held-out: split by content, in proportion, and never by accident."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.cases.family import by_family
from upskill.core.cases.split import WORDINGS, CaseCounts, read_counts, split_cases
from upskill.core.nouns import Case, Check
from upskill.errors import UsageError

MOST_MOVED = 3
"""Cases that change sides when another comes or goes: its own place, the seat of its wording, the seat it cost."""


def one(number: int, wording: str = "direct", topic: str = "ports", use: str | None = None) -> Case:
    extra = {"wording": wording, "topic": topic}
    case = Case(id=f"c{number}", prompt=f"Task {number}", checks=(Check(kind="contains", spec="x"),), extra=extra)
    return replace(case, use=use)  # type: ignore[arg-type]


CASES = st.lists(
    st.builds(one, st.integers(0, 10_000), st.sampled_from(WORDINGS), st.sampled_from("abcdef")),
    unique_by=lambda case: case.digest,
    max_size=40,
)
COUNTS = st.builds(CaseCounts, learn=st.integers(0, 20), held_out=st.integers(1, 20))


def sides(cases: tuple[Case, ...]) -> dict[str, str | None]:
    return {case.digest: case.use for case in cases}


@given(CASES, COUNTS, st.randoms())
def test_the_same_cases_are_split_the_same_whatever_their_order_and_names(cases, counts, lot):  # type: ignore[no-untyped-def]
    shuffled = [replace(case, id=f"another {number}") for number, case in enumerate(cases)]
    lot.shuffle(shuffled)
    assert sides(split_cases(cases, counts)) == sides(split_cases(shuffled, counts))


@given(CASES, COUNTS)
def test_every_case_has_a_use_and_the_counts_keep_their_proportion(cases: list[Case], counts: CaseCounts) -> None:
    split = split_cases(cases, counts)
    assert [replace(case, use=None) for case in split] == cases
    assert {case.use for case in split} <= {"learn", "held-out"}
    learn = sum(case.use == "learn" for case in split)
    assert abs(learn - len(cases) * counts.learn / counts.positive) <= 1
    if counts.learn and len(cases) >= 2:
        assert 0 < learn < len(cases)


@given(CASES, COUNTS)
def test_a_case_that_goes_moves_few_others(cases: list[Case], counts: CaseCounts) -> None:
    before = sides(split_cases(cases, counts))
    for gone in range(len(cases)):
        after = sides(split_cases(cases[:gone] + cases[gone + 1 :], counts))
        assert sum(before[digest] != use for digest, use in after.items()) <= MOST_MOVED


@given(CASES, COUNTS)
def test_a_use_that_was_given_is_kept_and_a_second_split_changes_nothing(cases: list[Case], counts: CaseCounts) -> None:
    split = split_cases(cases, counts)
    assert split_cases(split, counts) == split
    more = (*split, one(20_001), one(20_002, use="negative"))
    assert split_cases(more, counts)[: len(split)] == split, "cases that came later move nothing"
    assert split_cases(more, counts)[-1].use == "negative"


@given(CASES)
def test_every_wording_has_its_share_of_both_uses(cases: list[Case]) -> None:
    split = split_cases(cases, CaseCounts())
    learn = sum(case.use == "learn" for case in split)
    for wording in WORDINGS:
        mine = [case for case in split if case.extra["wording"] == wording]
        assert abs(sum(case.use == "learn" for case in mine) - len(mine) * learn / max(len(split), 1)) <= 1


def test_a_topic_that_every_wording_has_is_on_both_sides() -> None:
    cases = [
        one(10 * number + at, wording, f"topic {number}") for number in range(12) for at, wording in enumerate(WORDINGS)
    ]
    split = split_cases(cases, CaseCounts(learn=12, held_out=24))
    per_topic = [
        sum(case.use == "learn" for case in split if case.extra["topic"] == f"topic {number}") for number in range(12)
    ]
    assert sum(per_topic) == 12
    assert per_topic.count(3) == 0
    assert per_topic.count(0) <= 3, "by lot alone a topic would often be on one side only"


def test_the_default_counts_are_met_exactly() -> None:
    cases = [one(number, WORDINGS[number % 3], f"t{number % 7}") for number in range(42)]
    split = split_cases([*cases, *(one(100 + n, use="negative") for n in range(4))], CaseCounts())
    uses = [case.use for case in split]
    assert (uses.count("learn"), uses.count("held-out"), uses.count("negative")) == (10, 32, 4)


def test_equal_cases_are_never_on_both_sides() -> None:
    twins = [one(1), replace(one(1), id="twin"), one(2), one(3)]
    split = split_cases(twins, CaseCounts(learn=1, held_out=1))
    assert split[0].use == split[1].use


def test_cases_from_anywhere_can_be_split() -> None:
    odd = replace(one(1), extra={"topic": ["not", "text"], "wording": None})
    assert split_cases([odd], CaseCounts())[0].use in ("learn", "held-out")
    assert split_cases([], CaseCounts()) == ()


def test_counts_are_read_as_they_are_typed() -> None:
    assert read_counts("10+32+4") == CaseCounts() == CaseCounts(learn=10, held_out=32, negative=4)
    assert str(read_counts("2+2+0")) == "2+2+0"
    for wrong in ("30", "10+16", "a+b+c", "-1+2+3", "0+0+4", "1+2+3+4", ""):
        with pytest.raises(UsageError):
            read_counts(wrong)


IN_FAMILIES = st.lists(
    st.builds(
        lambda number, wording, family, use: replace(one(number, wording, use=use), id=f"c{number}", family=family),
        st.integers(0, 10_000),
        st.sampled_from(WORDINGS),
        st.sampled_from([None, "a", "b", "c", "d", "e"]),
        st.sampled_from([None, None, None, "negative"]),
    ),
    unique_by=lambda case: case.id,
    max_size=40,
)


@given(IN_FAMILIES, COUNTS, st.randoms())
def test_no_family_is_on_both_sides(cases, counts, lot) -> None:  # type: ignore[no-untyped-def]
    split = split_cases(cases, counts)
    for family in {case.family for case in cases} - {None}:
        uses = {case.use for case in split if case.family == family}
        assert "learn" not in uses or uses == {"learn"}
    lot.shuffle(cases)
    assert sides(split_cases(cases, counts)) == sides(split), "in any order"
    groups = by_family([case for case in split if case.use != "negative"])
    if counts.learn and len(groups) > 1 and all(case.use != "negative" for case in split):
        assert {"learn", "held-out"} == {case.use for case in split}


def test_a_case_by_hand_follows_its_family_that_was_split_before() -> None:
    cases = [replace(one(n, use="held-out" if n < 5 else "learn"), family=f"f{n}") for n in range(10)]
    by_hand = [replace(one(100 + n), family=f"f{n}") for n in range(10)]
    split = split_cases([*cases, *by_hand], CaseCounts())
    assert [case.use for case in split[10:]] == [case.use for case in cases]


def test_a_large_family_is_held_out_and_small_ones_make_up_the_learn_cases() -> None:
    cases = [replace(one(n), family="large" if n < 20 else None) for n in range(30)]
    split = split_cases(cases, CaseCounts(learn=8, held_out=22))
    assert {case.use for case in split[:20]} == {"held-out"}
    assert sum(case.use == "learn" for case in split) == 8


def test_commented_cases_are_learned_from_with_their_family_and_take_no_place_of_others() -> None:
    cases = tuple(
        Case(id=f"c{at}", prompt=f"Question {at}", checks=(), family="pair" if at in (3, 4) else None)
        for at in range(16)
    )
    before = split_cases(cases, CaseCounts())
    held_out = [case.id for case in before if case.use == "held-out"]
    chosen = next(name for name in held_out if name not in ("c3", "c4"))
    after = split_cases(cases, CaseCounts(), learn_from={"c3", chosen})
    learned = {case.id for case in before if case.use == "learn"} | {"c3", "c4", chosen}
    assert {case.id for case in after if case.use == "learn"} == learned
