"""A tiny student is asked for what it can do: one line, in the words of the material."""

from dataclasses import replace

from upskill.core.cases.split import CaseCounts
from upskill.generation.case_questions import batches_for, first_question
from upskill.generation.material import Material
from upskill.generation.student import StudentProfile, rungs_for

STUDENT = StudentProfile(
    names=("quay",), window=2_048, output_tokens=None, harness="chat", case_tokens=400, skill_tokens=1_000
)
TINY = replace(STUDENT, parameters=134_515_008)


def told(profile: StudentProfile) -> str:
    (batch,) = batches_for(
        Material(task="t"), CaseCounts(learn=2, held_out=2), window=None, programs=False, profile=profile
    )
    question = first_question(batch)
    return question.system + question.messages[0].text


def test_it_is_asked_for_single_lines_in_plain_words() -> None:
    assert rungs_for(TINY) == ("answer",)
    assert "quay (135 million parameters)" in told(TINY)
    assert "This student is tiny" in told(TINY)
    assert "`contextual`" not in told(TINY)


def test_a_student_of_unknown_or_larger_size_gets_the_whole_ladder() -> None:
    for student in (STUDENT, replace(STUDENT, parameters=1_700_000_000)):
        assert rungs_for(student) == ("answer", "snippet", "file")
        assert "tiny" not in told(student)
        assert "`contextual`" in told(student)
    assert "1.7 billion parameters" in told(replace(STUDENT, parameters=1_700_000_000))
