"""What makes two cases the same, and two skills versions of one."""

from dataclasses import replace

from upskill.core.nouns import Case, Check, Skill, Student
from upskill.core.nouns.look import alike, case_key, checks_digest, sketch_of, student_key

CASE = Case(
    id="a",
    prompt="Where is the café?\nSay it.",
    checks=(Check(kind="contains", spec="here"),),
    files={"map.txt": b"1  2\n"},
)
STUDENT = Student(name="any", model="x/any", endpoint="http://localhost:1/v1")


def _skill(*lines: str) -> Skill:
    return Skill(name="any", description="", body="\n".join(lines), digest="")


def test_a_case_is_the_same_however_it_is_formatted_named_or_checked() -> None:
    spelled = replace(
        CASE,
        id="b",
        prompt="  Where is the cafe\u0301?  Say\tit. \n",
        files={"map.txt": b"1 2"},
        checks=(),
    )
    assert case_key(spelled) == case_key(CASE)
    assert checks_digest(spelled) != checks_digest(CASE)


def test_another_prompt_or_file_is_another_case() -> None:
    others = (
        replace(CASE, prompt="Where is the cafe? Say it."),
        replace(CASE, files={"map.txt": b"1 3"}),
        replace(CASE, files={"map.txt": b"\xff"}),
        replace(CASE, files={}),
    )
    assert len({case_key(case) for case in (CASE, *others)}) == 5


def test_versions_of_a_skill_have_half_of_their_lines_in_common() -> None:
    text = [f"Step {n}." for n in range(200)]
    whole = sketch_of(_skill(*text))
    assert len(whole) == 64
    assert alike(whole, sketch_of(_skill(*reversed(text), "One more.", "", "  ")))
    assert not alike(whole, sketch_of(_skill(*(f"Stage {n}." for n in range(200)))))
    assert alike(sketch_of(_skill("a", "b")), sketch_of(_skill("a", "c")))
    assert not alike(sketch_of(_skill("a", "b", "c")), sketch_of(_skill("a", "d", "e")))
    assert not alike((), ())


def test_a_student_is_known_without_the_secrets_in_its_address() -> None:
    secret = replace(STUDENT, endpoint="http://me:secret@localhost:1/v1?key=secret", name="other")
    assert student_key(secret, harness="chat/1", conditions={}) == student_key(STUDENT, harness="chat/1", conditions={})
    for other in (replace(STUDENT, temperature=0.5), replace(STUDENT, endpoint="http://localhost:2/v1")):
        assert student_key(other, harness="chat/1", conditions={}) != student_key(
            STUDENT, harness="chat/1", conditions={}
        )
