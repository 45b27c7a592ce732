"""`file`: there, saying something, or absent; real files and fenced ones alike."""

import pytest

from upskill.core.checks import KINDS
from upskill.core.nouns.case import Json

from .run_check import run_check

TOML = b'name = "relu"\n'
FENCED = '```toml build.toml\nname = "relu"\n```'


@pytest.mark.parametrize(("text", "files"), [("Done.", {"build.toml": TOML}), (FENCED, {})])
@pytest.mark.parametrize(
    ("spec", "passed"),
    [
        ("build.toml", True),
        ("other.toml", False),
        ({"path": "build.toml", "contains": "relu"}, True),
        ({"path": "build.toml", "contains": ["relu", "gelu"]}, False),
        ({"path": "build.toml", "excludes": "relu"}, False),
        ({"path": "build.toml", "matches": r'name\s*=\s*"r'}, True),
        ({"path": "build.toml", "matches": "gelu"}, False),
        ({"path": "setup.py", "absent": True}, True),
        ({"path": "build.toml", "absent": True}, False),
    ],
)
def test_real_and_fenced_files_are_looked_at_alike(
    text: str, files: dict[str, bytes], spec: Json, passed: bool
) -> None:
    assert KINDS["file"].problems(spec) == []
    assert run_check("file", spec, text, files=files).passed is passed


def test_real_files_go_before_fenced_ones() -> None:
    assert not run_check("file", "build.toml", FENCED, files={"other.toml": b""}).passed


def test_a_file_of_the_case_is_there_until_the_answer_writes_over_it() -> None:
    spec: Json = {"path": "a.txt", "contains": "old"}
    assert run_check("file", spec, case_files={"a.txt": b"old"}).passed
    assert not run_check("file", spec, case_files={"a.txt": b"old"}, files={"a.txt": b"new"}).passed


def test_the_only_block_without_a_name_is_the_file_that_is_asked_for() -> None:
    assert run_check("file", {"path": "k.cu", "contains": "x"}, "Here:\n```cpp\nx\n```").passed
    assert not run_check("file", {"path": "k.cu", "contains": "x"}, "```cpp\nx\n```\n```cpp\ny\n```").passed
    assert not run_check("file", {"path": "k.cu", "contains": "x"}, "```cpp other.cu\nx\n```").passed
    assert run_check("file", {"path": "k.cu", "absent": True}, "```cpp\nx\n```").passed


def test_what_is_not_there_is_said_with_what_is() -> None:
    assert run_check("file", "a.py", files={"b.py": b""}).saw == "a.py is missing; found b.py"
    assert run_check("file", "a.py", "nothing").saw == "a.py is missing; found no file"
    assert "leads out of its folder" in run_check("file", "a.py", "```py ../a.py\n```").saw
    assert "is not closed" in run_check("file", "a.py", "```py a.py\nx").saw


def test_bytes_that_are_no_text_match_nothing() -> None:
    seen = run_check("file", {"path": "a", "contains": "x"}, files={"a": b"x\xff"})
    assert (seen.passed, seen.saw) == (False, "a is not text (UTF-8)")
    assert run_check("file", "a", files={"a": b"x\xff"}).passed


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (3, "`file` must be the name of a file"),
        ({}, "`file`: `path` must be the name of a file, not null"),
        ("../x", "`file`: `path` '../x' leads out of its folder"),
        ("/etc/passwd", "`file`: `path` '/etc/passwd' is not relative"),
        ({"path": "a", "contain": "x"}, "`file`: `contain` is not a known key; did you mean `contains`?"),
        ({"path": "a", "contains": ""}, "`file: contains` is empty"),
        ({"path": "a", "matches": "("}, "`file: matches` does not compile"),
        ({"path": "a", "absent": False}, "`file`: `absent` can only be true"),
        ({"path": "a", "absent": True, "contains": "x"}, "`file`: a file that is `absent` has no content"),
    ],
)
def test_a_wrong_spec_is_explained(spec: Json, problem: str) -> None:
    assert any(found.startswith(problem) for found in KINDS["file"].problems(spec))
