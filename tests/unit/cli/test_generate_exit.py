"""What `generate --require helps` counts as shown."""

import pytest

from upskill.cli.generate_command import exit_code
from upskill.domain import Purchase, Skill
from upskill.domain.generated import GenerateResult, StudentClaim

NOTHING = Purchase(calls=0, failed_calls=0, tokens=0, cost=0.0)


def generated(*statuses: str, proven: bool) -> GenerateResult:
    return GenerateResult(
        skill=Skill(name="gauge", description="", body="", digest=""),
        saved="skills/gauge",
        kept=None,
        revision=False,
        status="",
        sentence="",
        reason="",
        claims=tuple(StudentClaim(student=f"s{n}", status=status, sentence="") for n, status in enumerate(statuses)),
        proven=proven,
        evaluation=None,
        attempts=(),
        refined=None,
        teacher="",
        students=(),
        cases=(1, 6, 0),
        by_teacher=NOTHING,
        by_students=NOTHING,
        run="",
    )


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (generated("helps", proven=True), 0),
        (generated("helps", "helps", proven=True), 0),
        (generated("helps", "undecided", proven=True), 1),
        (generated("helps", proven=False), 1),  # it makes a case significantly worse
        (generated("helps", "invalid", proven=False), 3),
        (generated(proven=False), 1),
    ],
)
def test_a_requirement_is_met_by_every_student_and_without_a_case_made_worse(made: GenerateResult, code: int) -> None:
    assert exit_code(made, required=True) == code
    assert exit_code(made, required=False) in (0, code if code == 3 else 0)
