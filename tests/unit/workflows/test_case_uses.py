"""Which cases count in an evaluation."""

import pytest

from upskill.domain import Case, CaseUse, Check
from upskill.workflows.case_uses import cases_that_count


def some(*uses: CaseUse | None) -> list[Case]:
    return [
        Case(id=f"c{number}", prompt=f"Task {number}", checks=(Check(kind="contains", spec="x"),), use=use)
        for number, use in enumerate(uses)
    ]


@pytest.mark.parametrize(
    ("uses", "counted", "note"),
    [
        ((None, None), "c0 c1", ""),
        (("learn", "learn"), "c0 c1", ""),
        (("held-out", "learn", "negative", "learn"), "c0", "2 learn and 1 negative cases are left out"),
        (("held-out", "learn"), "c0", "1 learn case is left out; what is said here comes from the 1 held-out ones"),
        (("held-out", None, "learn"), "c0 c1", "comes from the 2 others"),
        (("learn", "negative"), "c0", "1 negative case is left out"),
        (("negative", "negative"), "c0 c1", ""),
        ((), "", ""),
    ],
)
def test_held_out_cases_count_where_there_are_any_and_negative_ones_never(
    uses: tuple[CaseUse | None, ...], counted: str, note: str
) -> None:
    found = cases_that_count(some(*uses))
    assert " ".join(case.id for case in found.cases) == counted
    assert note in "".join(found.notes)
    assert bool(note) == bool(found.notes)


def test_whoever_asks_for_every_case_gets_every_case() -> None:
    cases = some("held-out", "learn", "negative")
    assert cases_that_count(cases, every_case=True).cases == tuple(cases)


def test_a_run_that_is_gone_on_with_keeps_the_cases_it_began_with() -> None:
    cases = some("held-out", "learn", "negative")
    found = cases_that_count(cases, only=frozenset({"c0", "c2"}))
    assert [case.id for case in found.cases] == ["c0", "c2"]
    assert found.notes == ()
