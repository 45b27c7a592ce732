"""Files of comments: whatever is wrong with one is said in words, and what is read is what was meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from upskill.errors import UsageError
from upskill.generation.feedback import MOST_NOTE, read_feedback

COMMENT = {"case": "port", "model": "haiku", "arm": "with_skill", "repeat": 1, "opinion": "wrong", "note": "Port 7413"}
FILE = {
    "schema": "upskill.feedback/1",
    "run": "2026-11-16-moor-1a2b3c",
    "skill": {"name": "moor", "digest": "d" * 64},
    "comments": [COMMENT],
}


def _written(tmp_path: Path, value: object) -> Path:
    path = tmp_path / "upskill-feedback.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def _refused(tmp_path: Path, value: object) -> str:
    with pytest.raises(UsageError) as refused:
        read_feedback(_written(tmp_path, value))
    return str(refused.value)


def test_what_a_person_said_is_read_with_the_answer_it_is_about(tmp_path: Path) -> None:
    feedback = read_feedback(_written(tmp_path, FILE))
    assert (feedback.run, feedback.skill.name, feedback.skill.digest) == ("2026-11-16-moor-1a2b3c", "moor", "d" * 64)
    (one,) = feedback.comments
    assert one.key == ("haiku", "port", "with_skill", 1)
    assert (one.opinion, one.note, one.line) == ("wrong", "Port 7413", None)


def test_of_several_comments_on_one_answer_the_last_wins(tmp_path: Path) -> None:
    later = {**COMMENT, "opinion": "right", "note": "I was wrong"}
    other = {**COMMENT, "repeat": 2}
    feedback = read_feedback(_written(tmp_path, {**FILE, "comments": [COMMENT, other, later]}))
    assert [(one.repeat, one.opinion) for one in feedback.comments] == [(1, "right"), (2, "wrong")]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"opinion": "great"}, "comment 1, opinion: Input should be 'right', 'wrong' or 'unclear'"),
        ({"repeat": "1"}, "comment 1, repeat"),
        ({"repeat": 0}, "comment 1, repeat"),
        ({"arm": "both"}, "comment 1, arm"),
        ({"note": "x" * (MOST_NOTE + 1)}, "comment 1, note"),
        ({"case": ""}, "comment 1, case"),
        ({"answer": "It is 8080."}, "comment 1, answer: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_field_is_named_with_the_number_of_its_comment(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    assert says in _refused(tmp_path, {**FILE, "comments": [{**COMMENT, **changes}]})


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    said = _refused(tmp_path, {**FILE, "run": 7, "comments": [COMMENT, {**COMMENT, "model": None}]})
    assert "run:" in said
    assert "comment 2, model:" in said


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ('{"schema": "upskill.feedback/1",\n "run": }', "line 2"),
        ("", "line 1"),
        ("[]", "the file:"),
        ({**FILE, "schema": "upskill.feedback/2"}, "schema: Input should be 'upskill.feedback/1'"),
        ({**FILE, "comments": []}, "comments:"),
        ({**FILE, "comments": [COMMENT] * 1_001}, "comments:"),
        ('{"schema": 1, "schema": 2}', "`schema` appears twice"),
    ],
)
def test_a_damaged_file_is_refused_and_the_place_is_named(tmp_path: Path, value: object, says: str) -> None:
    assert says in _refused(tmp_path, value)


def test_a_file_of_ten_megabytes_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    assert "is larger than 1 MB" in _refused(tmp_path, '{"schema": "' + "x" * 10_000_000 + '"}')


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path, says in ((tmp_path, "not an ordinary file"), (tmp_path / "none.json", "No such file")):
        with pytest.raises(UsageError, match=says):
            read_feedback(path)
