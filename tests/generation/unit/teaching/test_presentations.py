"""The same content in other forms, each within the budget of the student."""

import json
from dataclasses import replace

import pytest

from assigned import other_presentations
from generation.unit.teaching.scripted_teacher import Teacher
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns import estimate_tokens
from upskill.generation.draft import Draft
from upskill.generation.student import StudentProfile

DRAFT = Draft(name="tarn", description="Starts tarns. Use when a tarn is named.", body="## Port\n\nThe port is 7413.\n")
PROFILE = StudentProfile(
    names=("tiny",), window=1_024, output_tokens=128, harness="chat", case_tokens=200, skill_tokens=40
)


def says(**forms: str) -> str:
    return json.dumps(
        {
            "presentations": [
                {"form": form, "sections": [{"heading": "Port", "text": text}]} for form, text in forms.items()
            ]
        }
    )


def test_one_question_gives_all_forms_and_a_long_one_is_shortened() -> None:
    teacher = Teacher(
        says(examples="Start? 7413.", questions="Q: Port?\nA: 7413\n" * 40, table="| port | 7413 |"), "no"
    )
    found = other_presentations(DRAFT, teacher, profile=PROFILE)
    assert [question.purpose for question in teacher.asked] == ["presentation", "shorten", "shorten"]
    assert found["table"].body == "## Port\n\n| port | 7413 |\n"
    assert set(found) == {"examples", "questions", "table"}
    assert all(estimate_tokens(one.body) <= 40 for one in found.values())
    assert {(one.name, one.description) for one in found.values()} == {(DRAFT.name, DRAFT.description)}
    assert "at most 40 tokens" in teacher.asked[0].system
    assert "The port is 7413." in teacher.asked[0].messages[0].text


def test_what_is_empty_is_left_out_and_nothing_usable_is_an_error() -> None:
    assert set(other_presentations(DRAFT, Teacher(says(table="| a |", examples="")), profile=PROFILE)) == {"table"}
    with pytest.raises(TeacherUnusable):
        other_presentations(DRAFT, Teacher(says(table="")), profile=PROFILE)


def test_a_writer_who_tries_the_forms_is_told_what_is_refused_too_long_or_no_longer_named() -> None:
    names = "`port`, `name`, `owner`, `depth`, `shore`"
    draft = replace(DRAFT, body=f"## Port\n\nKeys: {names}.\n")
    teacher = Teacher(says(table=f"| {names} |"))
    other_presentations(draft, teacher, profile=PROFILE)
    tried = teacher.asked[0].preview
    assert tried is not None
    assert tried(says(table=f"| {names} |")) == (True, ["table: the body has 14 of 40 tokens"])
    usable, lines = tried(says(table=names.replace("`shore`", ""), examples=f"{names} " * 40, questions="`port`"))
    assert not usable
    assert lines == [
        "questions: 4 of the 5 names and values of the skill are gone, and unseen tasks ask for them: `name`, `owner`, "
        "`depth`, `shore`",
        "examples: the body has 423 of 40 tokens: too long, it would have to be shortened",
        "table: the body has 11 of 40 tokens",
        "table: does not name `shore`",
    ]
