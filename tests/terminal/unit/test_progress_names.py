"""The sides of a comparison in the live table."""

import pytest

from upskill.core.nouns import Arm, Case, Check, Student, TrialPlan
from upskill.terminal.progress import Figures


@pytest.mark.parametrize(
    ("arms", "names"),
    [
        (("baseline", "with_skill"), ["without", "with"]),
        (("previous", "with_skill"), ["old version", "new version"]),
    ],
)
def test_of_two_versions_the_measured_one_is_the_new_version(arms: tuple[Arm, ...], names: list[str]) -> None:
    case = Case(id="a", prompt="Which port?", checks=(Check(kind="contains", spec="7413"),))
    student = Student(name="haiku", model="anthropic/haiku")
    plan = TrialPlan(cases=(case,), students=(student,), arms=arms, repeats=1)
    head = Figures(plan).block(width=100, height=10, drawn=True)[1].text
    assert all(name in head for name in names), head
