"""A teacher may write conversations, and only where the material has some and the student can hold them."""

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from generation.unit.teaching.case_teacher import CaseTeacher, good_case
from generation.unit.teaching.test_case_writing import examine, uses
from generation.unit.teaching.test_tiny_student import STUDENT, TINY
from generation.unit.test_estimate import NEW_SKILL, estimate, of_students
from upskill.core.cases.split import CaseCounts
from upskill.core.models import Question
from upskill.core.models.client import can_be_held
from upskill.generation.case_questions import batches_for, cases_schema, first_question, next_question
from upskill.generation.case_writing import write_cases
from upskill.generation.material import Document, Material
from upskill.generation.student import StudentProfile
from upskill.generation.written_case import read_written
from upskill.traces.trace import Finding, Place, TraceDigest

AGAIN = Finding(kind="correction", title="no, with the key", key="k", places=(Place(trace=1, steps=(4,)),))
ONCE = replace(AGAIN, kind="fix")
DIRECTED = Material(task="t", digest=TraceDigest(text="", tokens=0, budget=0, kept=(ONCE, AGAIN)))
ALONE = Material(task="t", digest=TraceDigest(text="", tokens=0, budget=0, kept=(ONCE,)))
PAGES = Material(task="t", documents=(Document(name="a", text="User: how?\nModel: so."),))


def questions(material: Material, profile: StudentProfile | None = None) -> list[Question]:
    """The first question for cases, and one that asks again."""
    counts = CaseCounts(learn=2, held_out=2, negative=1)
    (batch,) = batches_for(material, counts, window=None, programs=True, profile=profile)
    return [first_question(batch), next_question(batch, [], positive=1, negative=0, there=[])]


def talk(number: int, **change: Any) -> dict[str, Any]:
    """A good case, and what its user says then."""
    single, then = good_case(number), good_case(number + 1_000)
    keys = ("input", "checks", "reference", "wrong")
    turns = [
        {key: single[key] for key in keys},
        {"input": "I have to pass that on to a colleague."},
        {**{key: then[key] for key in keys}, **change},
    ]
    return {**{key: value for key, value in single.items() if key not in (*keys, "negative")}, "turns": turns}


@pytest.mark.parametrize("profile", [None, STUDENT, replace(STUDENT, harness="agent")])
def test_where_a_person_directed_the_work_the_teacher_may_write_conversations(profile: StudentProfile | None) -> None:
    for question in questions(DIRECTED, profile):
        assert "may be a conversation" in question.system
        assert "2 to 4 `turns` of the user" in question.system
        schema: Any = question.schema
        assert can_be_held(schema)
        Draft202012Validator.check_schema(schema)
        wanted = schema["properties"]["cases"]["minItems"]
        cases: list[dict[str, Any]] = [talk(1, wrong=["8080", {"replace": "4", "by": "5"}])] * wanted
        cases[0]["turns"][0] = cases[0]["turns"][2]  # with wrong answers as the schema has them
        Draft202012Validator(schema).validate({"cases": cases})


@pytest.mark.parametrize(
    ("material", "profile"),
    [
        (ALONE, None),
        (PAGES, None),
        (Material(task="t"), None),
        (DIRECTED, TINY),
        (DIRECTED, replace(STUDENT, harness="codex")),
    ],
)
def test_elsewhere_nothing_is_said_of_turns(material: Material, profile: StudentProfile | None) -> None:
    for question in questions(material, profile):
        assert "turns" not in question.system
        assert "turns" not in str(question.schema)


def test_conversations_of_a_teacher_are_tried_and_used_like_other_cases() -> None:
    teacher = CaseTeacher(spoil=lambda item, number: talk(number) if number % 3 == 0 else item)
    result = write_cases(DIRECTED, teacher, counts=CaseCounts(learn=4, held_out=4, negative=1), examine=examine)
    assert uses(result) == (4, 4, 1)
    talks = [case for case in result.cases if case.turns]
    assert [len(case.turns) for case in talks] == [3, 3]
    assert all([len(turn.checks) for turn in case.turns] == [1, 0, 1] for case in talks)
    assert result.dropped == ()


def test_conversation_that_cannot_be_used_is_asked_for_again_by_its_turn() -> None:
    teacher = CaseTeacher(spoil=lambda item, number: talk(number, wrong=[]) if number == 1 else item)
    result = write_cases(DIRECTED, teacher, counts=CaseCounts(learn=2, held_out=2, negative=0), examine=examine)
    assert len(result.cases) == 4
    assert "- turn 3: has 0 `wrong` answers that differ" in teacher.asked[1].messages[0].text


GIVEN = {"input": f"Is it {good_case(1_001)['reference']['text']}?"}
EARLY = {**talk(1)["turns"][0], "checks": [{"file": {"path": "a.txt", "contains": ["x"]}}]}


@pytest.mark.parametrize(
    ("turns", "problem"),
    [
        ([*talk(1)["turns"][:1]], "a conversation has 2 to 4 turns, not 1"),
        ([*talk(1)["turns"], *talk(2)["turns"]], "a conversation has 2 to 4 turns, not 6"),
        ([*talk(1)["turns"][:2]], "turn 2: has no `checks`; they are a list"),
        ([talk(1)["turns"][0], 7], "turn 2: has no `input`"),
        ([GIVEN, talk(1)["turns"][2]], "turn 2: its answer stands in `input`"),
        ([EARLY, talk(1)["turns"][2]], "case quay-1, turn 1 of 2: `file` looks at what is left and done at the end"),
    ],
)
def test_what_is_wrong_with_a_turn_is_said_of_it(turns: list[Any], problem: str) -> None:
    problems = read_written({**talk(1), "turns": turns}).problems
    assert any(one.startswith(problem) for one in problems), problems


def test_a_task_in_a_later_turn_must_fit_the_student_too() -> None:
    long = talk(1, input="Which number? " + "a word " * 60)
    assert read_written(long, profile=STUDENT).problems == ()
    (problem,) = read_written(long, profile=replace(STUDENT, case_tokens=50)).problems
    assert problem.startswith("turn 3: `input` has ")


def test_price_has_room_for_conversations_where_they_may_be_written() -> None:
    talks = replace(NEW_SKILL, material=DIRECTED)
    assert of_students(talks).calls_at_most == 4 * of_students(NEW_SKILL).calls_at_most
    assert (of_students(talks).price_at_most or 0) > 4 * (of_students(NEW_SKILL).price_at_most or 0)
    later = replace(NEW_SKILL, material=Material(task="t", later={"session-1": DIRECTED}))
    assert of_students(later).calls_at_most == of_students(talks).calls_at_most
    tools = [of_students(replace(one, harness="agent")).calls_at_most for one in (talks, NEW_SKILL)]
    assert tools[0] == tools[1], "what limits a trial limits all its turns"
    assert estimate(talks).teacher.calls_at_most == estimate(NEW_SKILL).teacher.calls_at_most


def test_schema_is_as_it_was_without_turns() -> None:
    plain, several = (cases_schema(cases=2, programs=True, turns=turns) for turns in (False, True))
    assert plain["properties"]["cases"]["items"] == several["properties"]["cases"]["items"]["anyOf"][0]
