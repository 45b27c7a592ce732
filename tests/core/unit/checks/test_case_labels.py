"""`leaks` and `recall`: what kind of case it is, seen from the prompt and the skill."""

from typing import Any

import pytest

from core.unit.checks.cases import case, skill
from upskill.core.cases.examination import leaked_values, leaks, recalls
from upskill.core.cases.states import qualify

COMMITS = [
    ("Give the commit message for a new login feature", ["feat", "login"], True),
    ("Give the commit message for fixing a null pointer bug", ["fix", "bug"], True),
    ("Give the commit message for new README documentation", ["docs", "readme"], False),
    ("Give the commit message for a breaking API change", ["BREAKING", "api"], True),
    ("Fetch data from an API with retry logic", ["retry", "error"], False),
    ("What to do about a 500 from an API?", ["backoff", "500"], False),
    ("Handle errors of a requests.get call", ["except", "requests"], False),
]
"""The shapes in which sample cases of this field give away what they expect."""


@pytest.mark.parametrize(("prompt", "wanted", "leaked"), COMMITS)
def test_sample_cases_of_the_field_are_unproven_and_three_of_seven_leak(
    prompt: str, wanted: list[str], leaked: bool
) -> None:
    (found,) = qualify([case(prompt, {"contains": wanted})], skill())
    assert found.state == "unproven"
    assert ("leaks" in found.labels) == leaked
    said = [reason.saw for reason in found.reasons]
    assert any(("the expected text" if leaked else "part of the expected text") in line for line in said)


@pytest.mark.parametrize(
    ("prompt", "check", "leaked"),
    [
        ("Answer with yes or no.", {"equals": "No"}, True),
        ("How many of the 27 files?", {"equals": "7"}, False),
        ("Is it 19.07?", {"contains": "9.0"}, False),
        ("Use the word cat.", {"regex": r"\bcat\b"}, True),
        ("Write a.json with 3 replicas.", {"json": {"path": "a.json", "at": "replicas", "equals": 3}}, False),
        ("Do not say damn.", {"excludes": "damn"}, False),
    ],
)
def test_what_leaks_is_all_that_words_alone_could_pass(prompt: str, check: dict[str, Any], leaked: bool) -> None:
    assert leaks(case(prompt, check)) is leaked


def test_a_part_that_leaks_is_named() -> None:
    assert leaked_values(case("Write gelu.", {"contains": ["gelu", "9.0"]})) == ["gelu"]


@pytest.mark.parametrize(
    ("check", "reference", "body", "recalled"),
    [
        ({"contains": "8472"}, None, "The port is **8472**.", True),
        ({"contains": "8472"}, None, "The port is 18472.", False),
        ({"contains": ["8472", "q.lock"]}, None, "The port is 8472.", False),
        ({"equals": "quayctl berth list"}, None, "Use `quayctl berth\nlist`.", True),
        ({"regex": r"\d{4}"}, "8472", "It is 8472.", True),
        ({"regex": r"\d{4}"}, "8472", "It is twice 4236.", False),
        ({"regex": r"\d{4}"}, None, "It is 8472.", False),
        ({"file": "a.txt"}, {"a.txt": "one two"}, "Write `one two` into it.", True),
        ({"file": "a.txt"}, {"a.txt": "one two"}, "Write one and two.", False),
        ({"excludes": "x"}, None, "x", False),
    ],
)
def test_recall_means_that_the_answer_stands_in_the_skill(
    check: dict[str, Any], reference: str | dict[str, str] | None, body: str, recalled: bool
) -> None:
    assert recalls(case("Which?", check, reference=reference), skill(body)) is recalled
