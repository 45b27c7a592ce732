"""One case as a teacher writes it: wrong answers as edits, whole documents as texts, and what fits the student."""

import json
from typing import Any

import pytest

from upskill.core.cases.files import read_case_file, write_case_file
from upskill.core.checks import check_problems
from upskill.generation.student import StudentProfile
from upskill.generation.written_case import WrittenCase, read_written

from .case_teacher import good_case

BUILD = '[general]\nname = "relu"\nbackends = ["cuda"]\n'
FILES = [{"path": "build.toml", "text": BUILD}, {"path": "flake.nix", "text": 'name = "relu"\n'}]
STUDENT = StudentProfile(
    names=("small",), window=1_024, output_tokens=20, harness="chat", case_tokens=40, skill_tokens=400
)


def read(change: dict[str, Any], **settings: Any) -> WrittenCase:
    """A good case with a change."""
    return read_written({**good_case(1), **change}, **settings)


def test_a_wrong_answer_may_be_an_edit_of_the_reference() -> None:
    edits = [{"replace": "70", "by": "80"}, {"replace": "7037", "by": "about 7037"}, "8080"]
    one = read({"wrong": edits})
    assert (one.problems, [wrong.text for wrong in one.case.wrong]) == ((), ["8037", "about 7037", "8080"])


def test_an_edit_changes_the_file_that_is_named_or_the_only_one_that_has_the_words() -> None:
    reference = {"text": "Done.", "files": FILES}
    edits = [{"replace": "cuda", "by": "gpu"}, {"replace": "relu", "by": "gelu", "file": "flake.nix"}]
    one = read({"reference": reference, "wrong": edits})
    assert one.problems == ()
    first, second = one.case.wrong
    assert first.files == {"build.toml": BUILD.replace("cuda", "gpu").encode(), "flake.nix": b'name = "relu"\n'}
    assert second.files == {"build.toml": BUILD.encode(), "flake.nix": b'name = "gelu"\n'}
    assert first.text == second.text == "Done."


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            {"replace": "metal", "by": "cuda"},
            "`wrong` 1: 'metal' in the `reference` cannot be replaced: it is not there",
        ),
        ({"replace": "relu", "by": "x"}, "it is in build.toml, flake.nix; name one in `file`"),
        (
            {"replace": "cuda", "by": "x", "file": "flake.nix"},
            "'cuda' in flake.nix cannot be replaced: it is not there",
        ),
        ({"replace": "cuda", "by": "cuda"}, "must be two texts that differ"),
        ({"replace": "", "by": "x"}, "must be two texts that differ"),
        ({"replace": ["cuda"], "by": "x"}, "must be two texts that differ"),
    ],
)
def test_an_edit_that_does_not_apply_is_told_to_the_teacher(edit: dict[str, Any], told: str) -> None:
    one = read({"reference": {"text": "", "files": FILES}, "wrong": [edit, "a", "b"]})
    assert [told in problem for problem in one.problems] == [True]


def test_cases_are_stored_with_their_edits_applied(tmp_path: Any) -> None:
    case = read({"wrong": [{"replace": "37", "by": "38"}, "8080"]}).case
    path = tmp_path / "cases.json"
    write_case_file(path, [case])
    assert json.loads(path.read_text())["cases"][0]["wrong"] == ["7038", "8080"]
    assert read_case_file(path, check_problems=check_problems).cases[0].wrong == case.wrong


@pytest.mark.parametrize(
    ("spec", "equals"),
    [
        ({"equals": '{"general": {"name": "relu"}}'}, {"general": {"name": "relu"}}),
        ({"equals": {"general": {"name": "relu"}}}, {"general": {"name": "relu"}}),
        ({"at": "", "equals": '{"a": 1}'}, {"a": 1}),
        ({"at": "general.name", "equals": '{"a": 1}'}, '{"a": 1}'),
    ],
)
def test_a_whole_document_may_be_json_in_a_text(spec: dict[str, Any], equals: Any) -> None:
    one = read({"checks": [{"toml": {"path": "build.toml", **spec}}]})
    (check,) = one.case.checks
    assert (one.problems, isinstance(check.spec, dict) and check.spec["equals"]) == ((), equals)


def test_a_document_that_is_toml_in_a_text_is_told_to_the_teacher() -> None:
    assert "must be an object" in str(read({"checks": [{"toml": {"equals": BUILD}}]}).problems)


def test_a_case_that_does_not_fit_the_student_is_rejected_with_the_numbers() -> None:
    def count(text: str) -> int:
        return len(text.split())

    large = "word " * 50
    assert read({}, profile=STUDENT, count=count).problems == ()
    (problem,) = read({"input": f"{large}?"}, profile=STUDENT, count=count).problems
    assert problem == "`input` has 51 tokens; this student can take 40: make it shorter"
    files = [{"path": "a.txt", "text": large}]
    (problem,) = read({"files": files}, profile=STUDENT, count=count).problems
    assert problem.startswith("`input` with `files` has ")
    (problem,) = read({"reference": {"text": "", "files": files}}, profile=STUDENT, count=count).problems
    assert problem == "`reference` has 53 tokens; this student's answers are cut at 20: ask for less"
    assert read({"input": f"{large}?", "reference": "long " * 50}, count=count).problems == ()
