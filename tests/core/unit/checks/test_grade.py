"""Grading a case: all checks run, in order, and a broken one is never a failed answer."""

from dataclasses import replace

import pytest

from upskill.core.checks import KINDS, case_problems, check_problems, grade, needs
from upskill.core.nouns import Answer, Case, Check


def case(*checks: Check) -> Case:
    return Case(id="c", prompt="p", checks=checks)


def test_every_check_is_run_and_reported_in_order() -> None:
    graded = grade(
        case(
            Check(kind="contains", spec="9.0"),
            Check(kind="excludes", spec="sudo"),
            Check(kind="equals", spec="9.0"),
            Check(kind="regex", spec=r"\d"),
        ),
        Answer(text="it is 9.0"),
    )
    assert [(result.kind, result.passed) for result in graded.results] == [
        ("contains", True),
        ("excludes", True),
        ("equals", False),
        ("regex", True),
    ]
    assert not graded.passed
    assert graded.checks_passed == 3


def test_an_answer_that_meets_every_check_passes() -> None:
    assert grade(
        case(Check(kind="contains", spec="9.0"), Check(kind="excludes", spec="8.0")), Answer(text="9.0")
    ).passed


def test_a_kind_that_does_not_exist_raises_instead_of_failing_the_answer() -> None:
    with pytest.raises(KeyError):
        grade(case(Check(kind="contians", spec="9.0")), Answer(text="9.0"))


def test_the_registry_holds_each_kind_under_its_own_name() -> None:
    assert {name: kind.name for name, kind in KINDS.items()} == {name: name for name in KINDS}
    assert sorted(KINDS) == [
        *("command", "commands", "contains", "equals", "excludes", "file", "files_read", "json", "judge", "lines"),
        *("python", "regex", "tokens", "toml", "tools", "turns", "yaml"),
    ]


@pytest.mark.parametrize(
    ("typed", "meant"), [("contain", "contains"), ("exclude", "excludes"), ("equal", "equals"), ("regexp", "regex")]
)
def test_a_kind_that_is_nearly_right_is_corrected(typed: str, meant: str) -> None:
    assert check_problems(Check(kind=typed, spec="9.0")) == [
        f"unknown kind of check `{typed}`; did you mean `{meant}`?"
    ]


def test_a_kind_like_no_other_gets_the_list_of_kinds() -> None:
    (problem,) = check_problems(Check(kind="zzz", spec="9.0"))
    assert problem.startswith("unknown kind of check `zzz`; known: command, commands, contains, equals,")


def test_prose_for_a_judge_says_what_to_do_instead() -> None:
    (problem,) = check_problems(Check(kind="judge", spec={"statements": ["is polite"]}))
    assert "need a judge" in problem
    assert "`contains`" in problem


def test_the_spec_of_a_known_kind_is_looked_at() -> None:
    assert check_problems(Check(kind="contains", spec="9.0")) == []
    assert check_problems(Check(kind="contains", spec=[])) != []


def test_what_was_seen_cannot_reach_a_terminal_as_a_command_to_it() -> None:
    graded = grade(
        case(Check(kind="file", spec={"path": "a", "contains": "x"}), Check(kind="equals", spec="x")),
        Answer(text="\x1b]0;owned\x07" + "y" * 50, files={"\x1b[31mb": b"", "c" * 240: b""}),
    )
    assert all(result.saw.isprintable() for result in graded.results)


def test_a_judge_that_compares_needs_a_reference_and_that_is_said_before() -> None:
    compares = Check(kind="judge", spec={"rubric": "r", "against": "reference"})
    (problem,) = case_problems(case(compares))
    assert "add `reference`" in problem
    assert case_problems(replace(case(compares), reference=Answer(text="x"))) == []
    assert case_problems(case(Check(kind="judge", spec="r"))) == []


def test_what_a_case_needs_is_what_its_checks_need_together() -> None:
    assert needs(case(Check(kind="contains", spec="x"), Check(kind="json", spec={}))) == frozenset()
    assert needs(case(Check(kind="json", spec={"path": "a"}))) == {"files"}
    assert needs(case(Check(kind="command", spec="true"))) == {"files", "sandbox"}
    assert needs(case(Check(kind="command", spec={"run": "true", "block": "a"}))) == {"sandbox"}
    assert needs(case(Check(kind="judge", spec="r"), Check(kind="file", spec="a"))) == {"judge", "files"}
