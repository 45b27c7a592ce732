"""A placebo is as long as the skill, always the same, and about something else."""

from hypothesis import given
from hypothesis import strategies as st

from upskill.controls.placebo import placebo
from upskill.core.nouns import Skill
from upskill.core.skills.skills import shipped_skills


def skill(body: str, *, name: str = "thing", digest: str = "d") -> Skill:
    return Skill(name=name, description="d", body=body, digest=digest)


@given(st.integers(200, 30_000), st.text("0123456789abcdef", min_size=8, max_size=8))
def test_it_is_about_as_long_and_always_the_same(length: int, digest: str) -> None:
    text = placebo(skill("x" * length, digest=digest))
    assert abs(len(text.strip()) - length) <= 0.05 * length
    assert text == placebo(skill("y" * length, digest=digest))


def test_it_is_made_of_lines_of_other_skills() -> None:
    bodies = {other.name: set(other.body.splitlines()) for other, _ in shipped_skills()}
    for name, lines in bodies.items():
        text = placebo(skill("x" * 1_000, name=name))
        heading = next(line for line in lines if line.startswith("# "))
        assert heading not in text.splitlines()
        assert set(text.splitlines()) <= set().union(*bodies.values()) | {""}


def test_another_version_has_another_placebo() -> None:
    assert len({placebo(skill("x" * 500, digest=str(number))) for number in range(10)}) > 5
