"""Near-duplicates: numbers and names make no new case, other words do."""

import json
import time
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
    with_recognised_families,
)
from upskill.core.cases.files import read_case_file, read_skill_cases
from upskill.core.checks import check_problems
from upskill.core.nouns import Case, Check
from upskill.core.nouns.case import UserTurn, prompt_of

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


def asked(name: str, prompt: str, answer: str = "x", *, family: str | None = None, session: str | None = None) -> Case:
    checks = (Check(kind="contains", spec=answer),)
    return Case(
        id=name, prompt=prompt, checks=checks, family=family, extra={} if session is None else {"session": session}
    )


def said(name: str, *prompts: str) -> Case:
    turns = tuple(UserTurn(prompt=prompt, checks=(Check(kind="contains", spec=name),)) for prompt in prompts)
    checks = tuple(check for turn in turns for check in turn.checks)
    return Case(id=name, prompt=prompt_of(turns), checks=checks, turns=turns)


PORT = "Which port does the gauge use when nothing is configured?"


@pytest.mark.parametrize(
    "cases",
    [
        (asked("a", PORT, "7413"), asked("b", f"In one line, please: {PORT}", "7413")),
        (asked("a", PORT, "7413"), asked("b", "When nothing is configured, which port does the gauge use", "7413")),
        (asked("a", PORT, "7413"), asked("b", f" {PORT.upper()}\n", "another answer")),
        (asked("a", "Do it.", "1", session="monday"), asked("b", "Something else.", "2", session="monday")),
        (asked("a", PORT, "7413"), asked("b", "Someone wants to reach the gauge; which number do they dial?", "7413")),
        (said("a", "The build is red.", "Why?"), said("b", "The  build is red.", "How do I mend it?")),
        (asked("a", "The build is red."), said("b", "The build is red.", "How do I mend it?")),
        (said("a", "It is red.", "Why?"), said("b", "It is red.", "Why?", "Since when?")),
    ],
    ids=[
        "more words",
        "other order",
        "same prompt",
        "session",
        "same value",
        "first turn",
        "prompt and turn",
        "prefix",
    ],
)
def test_what_is_one_draw_is_recognised_as_one_family(cases: tuple[Case, Case]) -> None:
    assert [case.family for case in with_recognised_families(cases)] == ["like a", "like a"]
    assert [case.family for case in with_recognised_families(cases[::-1])] == ["like b", "like b"]
    notes = [*family_notes(with_recognised_families(cases))]
    assert any("a, b (`family: none` in a case keeps it apart)" in note for note in notes)


@pytest.mark.parametrize(
    "cases",
    [
        (asked("a", PORT, "7413"), asked("b", PORT.replace("gauge", "valve"), "7414")),
        (
            asked("a", "Where is `north` moored, by the berth plan?"),
            asked("b", "Where is `south` moored, by the berth plan?"),
        ),
        (
            asked("a", "What does exit code 3 of the gauge mean?"),
            asked("b", "What does exit code 4 of the gauge mean?"),
        ),
        (asked("a", "What is the log file of tarnctl?"), asked("b", "What is the lock file of tarnctl?")),
        (asked("a", "Port?"), asked("b", "Host?")),
        (asked("a", "Is the gauge open at night?", "yes"), asked("b", "May I paint the crane?", "yes")),
        (asked("a", "Read it.", session="monday"), asked("b", "Write it.", session="tuesday")),
        (said("a", "It is red.", "Why?"), said("b", "It is green.", "Why?")),
        (one("a", "Mend it.", **{"app.py": "one"}), one("b", "Mend it.", **{"app.py": "another"})),
        (asked("a", PORT, family="none"), asked("b", PORT, family="None")),
        (asked("a", PORT, family="one"), asked("b", PORT, family="two")),
    ],
    ids=[
        "answer",
        "name",
        "number",
        "word",
        "short",
        "ordinary answer",
        "sessions",
        "turns",
        "files",
        "none",
        "two families",
    ],
)
def test_questions_about_different_things_stay_apart(cases: tuple[Case, Case]) -> None:
    assert len(by_family(with_recognised_families(cases))) == 2


def test_a_recognised_case_joins_the_family_that_a_person_named() -> None:
    cases = [asked("a", PORT), asked("b", PORT, family="ports"), asked("c", "Another question.", family="ports")]
    assert [case.family for case in with_recognised_families(cases)] == ["ports"] * 3


@given(st.permutations(range(6)))
def test_families_are_recognised_in_any_order_and_only_once(order: list[int]) -> None:
    prompts = (PORT, f"Please: {PORT}", "Why?", PORT.lower(), "Where is the gauge?", "Whose is it?")
    found = with_recognised_families([asked(f"c{number}", prompts[number]) for number in order])
    groups = {frozenset(case.id for case in family) for family in by_family(found)}
    assert groups == {frozenset({"c0", "c1", "c3"}), *(frozenset({f"c{number}"}) for number in (2, 4, 5))}
    assert with_recognised_families(found) == found


def test_a_thousand_cases_with_one_check_are_read_at_once() -> None:
    cases = [asked(f"c{number}", f"Question {number} about thing {number % 7} in words") for number in range(2_000)]
    began = time.process_time()
    assert len(by_family(with_recognised_families(cases))) == 2_000
    assert time.process_time() - began < 2


CASE_FILES = sorted(
    path
    for folder in ("gallery", "examples", "src/upskill/setup")
    for pattern in ("skill_meta.json", "evals.json", "cases.json")
    for path in (ROOT / folder).rglob(pattern)
    if '"input"' in path.read_text()
)


@pytest.mark.parametrize("path", CASE_FILES, ids=lambda path: path.parent.name)
def test_the_cases_of_this_repository_keep_their_families(path: Path) -> None:
    items = json.loads(path.read_text())
    listed = items if isinstance(items, list) else items["cases"]
    read = read_skill_cases(path.parent, check_problems=lambda _: []) or read_case_file(
        path, check_problems=lambda _: []
    )
    assert [case.family for case in read.cases] == [item.get("family") for item in listed]
