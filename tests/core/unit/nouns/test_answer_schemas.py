"""A schema from a file is held to the building blocks: every schema of ours passes, and little else."""

import json
from typing import Any

import pytest

from upskill.core.nouns.answer_schemas import MOST_PARTS, is_answer_schema, one_of
from upskill.generation import drafting, facts, lessons, revising
from upskill.generation.case_questions import READABLE, cases_schema

OURS: list[Any] = [
    READABLE,
    cases_schema(cases=30, programs=True),
    cases_schema(cases=30, programs=True, rungs=("one", "two")),
    drafting._draft_schema(scripts=True),
    drafting._improvement_schema(scripts=True),
    facts.SCHEMA,
    lessons.SCHEMA,
    revising.PRESENTATIONS,
    revising.SCHEMA,
    revising._rewrite_schema(),
    drafting.SHORTER,
]


@pytest.mark.parametrize("schema", OURS)
def test_every_schema_that_teachers_are_asked_with_passes(schema: Any) -> None:
    assert is_answer_schema(json.loads(json.dumps(schema)))


def test_a_schema_with_too_many_parts_does_not() -> None:
    assert is_answer_schema(one_of(*["word"] * (MOST_PARTS - 1)))
    assert not is_answer_schema(one_of(*["word"] * MOST_PARTS))
    assert not is_answer_schema({"anyOf": [{}] * MOST_PARTS})
