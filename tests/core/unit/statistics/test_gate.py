"""Which cases a new version broke, from pairs of answers."""

import pytest

from upskill.core.statistics import GateFindings, Pair, gate_findings, open_cases, suspected_cases


def pairs_of(rows: dict[str, tuple[str, str]], *, copies: bool = False) -> list[Pair]:
    """By case, what passed (`+`) and failed (`-`) of the old version and of the new one."""
    return [
        Pair(
            case_id=case_id,
            repeat=repeat,
            passed=now == "+",
            passed_against=before == "+",
            answers=("new", "old") if copies else (f"new {repeat}", f"old {repeat}"),
        )
        for case_id, (old, new) in rows.items()
        for repeat, (before, now) in enumerate(zip(old, new, strict=True), 1)
    ]


def findings(
    rows: dict[str, tuple[str, str]], *, copies: bool = False, enough_copies: int = 4, cases: tuple[str, ...] = ()
) -> GateFindings:
    pairs = pairs_of(rows, copies=copies)
    return gate_findings(pairs, cases=cases or rows, rounds=2, enough_copies=enough_copies)


def test_a_case_is_suspected_that_passed_more_often_before() -> None:
    rows = {
        "fine": ("++", "++"),
        "lost": ("++", "--"),
        "half": ("+-", "--"),
        "less": ("++", "+-"),
        "never": ("--", "--"),
    }
    assert suspected_cases(pairs_of(rows)) == {"lost", "half", "less"}


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        ("++++++++", "--------", True),
        ("++++++--", "--------", True),
        ("++++++++", "--++----", True),
        ("+++++---", "--------", False),
        ("++++++++", "--+++---", False),
        ("+++++++", "-------", True),
    ],
)
def test_a_case_is_broken_that_lost_six_of_eight(old: str, new: str, broken: bool) -> None:
    found = findings({"one": (old, new)})
    assert [tally.case_id for tally in found.broken] == (["one"] if broken else [])


def test_four_copies_are_enough_and_two_at_temperature_zero() -> None:
    two, four = {"one": ("++", "--")}, {"one": ("++++", "----")}
    assert findings(two, copies=True, enough_copies=2).broken
    assert not findings(two, copies=True).broken
    assert findings(four, copies=True).broken
    assert not findings(four).broken, "answers that differ in their words may differ more"


def test_only_what_may_still_be_broken_is_asked_again() -> None:
    rows = {"open": ("++++", "----"), "recovered": ("+---", "-+++"), "copied": ("++", "--")}
    pairs = [
        *pairs_of({name: rows[name] for name in ("open", "recovered")}),
        *pairs_of({"copied": rows["copied"]}, copies=True),
    ]
    assert open_cases(pairs, frozenset(rows), enough_copies=2) == {"open"}


def test_a_suspect_whose_further_answers_are_missing_stays_suspected() -> None:
    rows = {"cleared": ("++--", "--++"), "less": ("+++", "--+"), "open": ("+++", "---")}
    found = findings(rows)
    assert (found.broken, found.suspected, found.unguarded) == ((), ("less", "open"), ("cleared",))


def test_a_case_that_passes_only_sometimes_is_not_guarded() -> None:
    rows = {"sure": ("++", "++"), "half": ("+-", "++"), "never": ("--", "--")}
    assert findings(rows).unguarded == ("half",)


def test_a_case_that_was_not_asked_or_always_errs_may_be_broken() -> None:
    found = findings({"sure": ("++", "++"), "once": ("+", "+")}, cases=("sure", "once", "never"))
    assert (found.broken, found.suspected, found.unguarded) == ((), ("once", "never"), ())
