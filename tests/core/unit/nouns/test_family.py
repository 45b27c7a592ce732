"""Near-duplicates: numbers and names make no new case, other words do."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.cases.family import (
    MOST_COMPARED,
    by_family,
    family_notes,
    near_duplicate,
    near_duplicates,
    with_merged_families,
)
from upskill.core.cases.files import read_case_file
from upskill.core.checks import check_problems
from upskill.core.nouns import Case, Check

ROOT = Path(__file__).parents[4]


def one(name: str, prompt: str, *, family: str | None = None, **files: str) -> Case:
    content = {path: text.encode() for path, text in files.items()}
    return Case(id=name, prompt=prompt, checks=(Check(kind="contains", spec="x"),), family=family, files=content)


def are_near(prompt: str, other: str) -> bool:
    return bool(near_duplicates([one("a", prompt), one("b", other)]))


@pytest.mark.parametrize(
    ("prompt", "other"),
    [
        ("What is 17 + 25?", "What is 4 + 1999?"),
        ("Convert 30 miles to kilometres, rounded.", "Convert 7.5 miles to kilometres, rounded."),
        ("Set up the gauge Pier on port 80, then write it.", "Set up the gauge Harbour on port 7500, then write it."),
        ("Rename the column `price` of orders.csv to cents.", "Rename the column `name` of people.csv to cents."),
        ("Which module reads TOML in the standard library?", "Which module reads INI in the standard library?"),
        ("Sum the sales of the first quarter by region.", "Sum the sales of the first quarter by region, please."),
    ],
)
def test_prompts_that_differ_in_numbers_and_names_are_near(prompt: str, other: str) -> None:
    assert are_near(prompt, other)
    assert are_near(other, prompt)


@pytest.mark.parametrize(
    ("prompt", "other"),
    [
        ("What is the start command of tarnctl?", "What is the stop command of tarnctl?"),
        ("What is the log file of tarnctl?", "What is the lock file of tarnctl?"),
        (
            "I am setting up quarn on a new pier and got stuck: which log file does it use?",
            "I am setting up quarn on a new pier and got stuck: which lock file does it use?",
        ),
        ("Explain Kubernetes.", "Explain Docker."),
        ("Who are you?", "What is it?"),
        ("Write query.sql: all late orders, ascending.", "Write query.sql: customers with two orders, descending."),
        (
            "Which port does it listen on? Answer with the number only.",
            "Which user runs it? Answer with the name only.",
        ),
    ],
)
def test_prompts_that_ask_for_something_else_are_not(prompt: str, other: str) -> None:
    assert not are_near(prompt, other)


def test_the_same_words_about_other_files_are_another_case() -> None:
    prompt = "Fix the bug in main.py so that the tests pass."
    cases = [
        one("a", prompt, main="def add(a, b):\n    return a - b\n"),
        one("b", prompt, main="import sys\nexit(3)\n"),
    ]
    assert near_duplicates(cases) == ()
    assert near_duplicates([cases[0], one("c", prompt, main="def add(a, b):\n    return a - b\n")])


DIFFERENT = [*sorted((ROOT / "tests/corpus").glob("*/skill_meta.json")), ROOT / "examples/tarnctl/skill_meta.json"]


@pytest.mark.parametrize("path", DIFFERENT, ids=lambda path: path.parent.name)
def test_cases_that_people_wrote_stay_apart(path: Path) -> None:
    """One pair of 92 cases: which module reads TOML, which reads INI."""
    found = near_duplicates(read_case_file(path, check_problems=lambda check: []).cases)
    expected = [("toml-module", "ini-module")] if path.parent.name == "python-fixes" else []
    assert [(first.id, second.id) for first, second in found] == expected


def test_cases_of_one_template_become_one_family_and_take_their_families_along() -> None:
    cases = [
        one("north", "Set up the gauge North on port 80, then write it."),
        one("alone", "Which command lists what is there?"),
        one("pier", "Set up the gauge Pier on port 81, then write it.", family="gauges"),
        one("reef", "Explain at length why tides are late at the reef.", family="gauges"),
    ]
    assert [case.family for case in with_merged_families(cases)] == ["gauges", None, "gauges", "gauges"]
    assert [case.family for case in with_merged_families([*cases[:2], one("p", cases[2].prompt)])] == [
        "north",
        None,
        "north",
    ]
    assert with_merged_families(cases[1:]) == tuple(cases[1:])


def test_a_new_family_takes_no_name_of_another() -> None:
    cases = [one("a", "What is 1 + 2?"), one("b", "What is 5 + 2?"), one("c", "Name the capital.", family="a")]
    assert [case.family for case in with_merged_families(cases)] == ["b", "b", "a"]


@given(st.permutations(range(6)))
def test_the_order_of_cases_does_not_matter(order: list[int]) -> None:
    path = ROOT / "examples/tarn-config/skill_meta.json"
    cases = read_case_file(path, check_problems=check_problems).cases
    found = {frozenset((a.id, b.id)) for a, b in near_duplicates([cases[at] for at in order])}
    assert found == {frozenset((a.id, b.id)) for a, b in near_duplicates(cases)}
    assert len(by_family(with_merged_families([cases[at] for at in order]))) == 5


def test_two_cases_are_alike_in_either_order() -> None:
    told = "alpha epsilon delta epsilon beta alpha gamma delta delta beta epsilon alpha"
    one = Case(id="one", prompt=f"{told} alpha alpha gamma alpha epsilon", checks=())
    two = Case(id="two", prompt=f"{told} gamma alpha alpha alpha epsilon", checks=())
    assert near_duplicates([one, two]) == ((one, two),)
    assert near_duplicate(one, [two]) is two
    assert near_duplicate(two, [one]) is one, "else both sides get one, and merging makes them one family"


def test_a_large_file_is_searched_for_equal_templates_only() -> None:
    cases = [one(str(n), f"Task {n}: do something about the matter in hand.") for n in range(MOST_COMPARED + 1)]
    assert len(near_duplicates(cases)) == MOST_COMPARED
    assert len(by_family(with_merged_families(cases))) == 1


def test_notes_name_near_duplicates_a_dominant_family_and_a_family_on_both_sides() -> None:
    same = [one(f"c{n}", f"Round {n} to the nearest ten.") for n in range(3)]
    assert list(family_notes(same)) == [
        "3 pairs of near-duplicate cases (c0/c1, c0/c2, c1/c2): give them a `family` so that they count once"
    ]
    told = [Case(id=case.id, prompt=case.prompt, checks=(), family="rounding") for case in same]
    other = one("other", "Explain what a quay is.")
    assert list(family_notes([*told, other])) == [
        "3 of 4 cases are in the family rounding, which counts once: add cases of other families"
    ]
    mixed = [
        replace(one("l", "Lift the crane.", family="f"), use="learn"),
        replace(told[0], family="f", use="held-out"),
    ]
    assert any(
        "the family f has practice cases and other cases" in note for note in family_notes([*mixed, other, *same])
    )
