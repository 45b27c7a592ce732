"""The rules of every kind: one text for teachers and for the reference page, and what it says is what happens."""

from pathlib import Path

import pytest

from upskill.core.cases.states import qualify
from upskill.core.checks import KINDS, offers
from upskill.core.nouns import Answer, Case, Check, Skill
from upskill.core.nouns.case import Json

from .run_check import run_check

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "checks.md"
SKILL = Skill(name="quay", description="Facts.", body="Nothing.", digest="d")


def test_the_page_and_the_teachers_are_told_the_same_rules() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = " ".join(offer.guidance for offer in offers())
    for kind in KINDS.values():
        assert kind.rules, f"{kind.name} states no rules"
        assert f" | {' '.join(kind.rules)} |\n" in page
        assert kind.schema is None or " ".join(kind.rules) in told


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("7413", True),
        ("  7413\n\n", True),
        ("```\n7413\n```", True),
        ("\n```text\n7413\n```\n", True),
        ("`7413`", True),
        ("```\n7413", False),
        ("It is:\n```\n7413\n```", False),
        ("```\n7413\n```\n```\n7413\n```", False),
        ("7413.", False),
        ("**7413**", False),
    ],
)
def test_white_space_and_one_fence_or_backticks_around_an_answer_do_not_count(text: str, passed: bool) -> None:
    assert run_check("equals", "7413", text).passed is passed
    assert run_check("equals", "7413\n", text).passed is passed
    for pattern in (r"^7413$", r"\A7413\Z"):
        assert run_check("regex", pattern, text).passed is passed


def test_what_stands_in_the_answer_as_it_is_can_still_be_asked_for() -> None:
    assert run_check("regex", r"^```toml", "```toml\na = 1\n```").passed
    assert run_check("regex", r"a\n$", " a\n").passed
    assert run_check("equals", "```\n7413\n```", "```\n7413\n```").passed
    assert run_check("equals", "`a` and `b`", "`a` and `b`").passed


@pytest.mark.parametrize("data", [b"a = 1", b"a = 1\n"])
def test_the_last_newline_of_a_file_does_not_matter(data: bytes) -> None:
    for pattern in (r"\Aa = 1\Z", r"1$"):
        assert run_check("file", {"path": "f", "matches": pattern}, files={"f": data}).passed


WANTED: Json = {"general": {"name": "relu", "edition": 5}, "src": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "saw"),
    [
        ('src = ["a", "b"] # why\n[general]\nedition = 5\nname = "relu"', ""),
        ('src = ["a", "b"]\n[general]\nname = "relu"', "differs: missing general.edition"),
        ('src = ["a", "b"]\n[general]\nname = "relu"\nedition = 5\n"x.y" = 1', 'differs: extra general["x.y"]'),
        ('src = ["a", "c"]\n[general]\nname = "relu"\nedition = 5', "differs: src[1] is 'c', not 'b'"),
        (
            'src = ["a"]\n[general]\nname = "relu"\nedition = 5.0',
            "differs: general.edition is 5.0, not 5; src is ['a']",
        ),
        ("a=1\nb=1\nc=1", "differs: missing general; missing src; extra a; extra b; and 1 more"),
    ],
)
def test_a_whole_document_has_exactly_these_keys_and_what_differs_is_said(text: str, saw: str) -> None:
    seen = run_check("toml", {"path": "build.toml", "equals": WANTED}, files={"build.toml": text.encode()})
    assert (seen.passed, saw in seen.saw) == (not saw, True)


def test_a_root_list_can_be_compared_and_looked_into() -> None:
    for kind, text in (("json", '[{"a.b": 1}, 2]'), ("yaml", "- {a.b: 1}\n- 2")):
        assert run_check(kind, {"equals": [{"a.b": 1}, 2]}, text).passed
        assert run_check(kind, {"at": '[0]["a.b"]', "equals": 1}, text).passed
        assert run_check(kind, {"equals": [{"a.b": 1}]}, text).saw.endswith(
            "the top is [{'a.b': 1}, 2], not [{'a.b': 1}]"
        )


def test_a_toml_document_that_is_no_object_is_refused() -> None:
    assert "whole document" in KINDS["toml"].problems({"equals": "a = 1"})[0]
    assert KINDS["toml"].problems({"at": "a", "equals": "1"}) == []


def test_a_case_that_compares_the_whole_document_qualifies() -> None:
    reference = Answer(files={"build.toml": b'src = ["a", "b"]\n\n[general]\nname = "relu"\nedition = 5\n'})
    case = Case(
        id="c",
        prompt="Write build.toml for the kernel.",
        checks=(Check(kind="toml", spec={"path": "build.toml", "equals": WANTED}),),
        reference=reference,
        wrong=(Answer(files={"build.toml": b'[general]\nname = "relu"\n'}), Answer(text="I wrote it.")),
    )
    (found,) = qualify([case], SKILL)
    assert (found.state, found.slipped) == ("qualified", ())
    assert found.mutants > 5
