"""What `generate --require helps` counts as shown."""

import json

import pytest

from upskill.core.nouns import Purchase, Skill
from upskill.generation.command import exit_code
from upskill.generation.generated import GenerateResult, StudentClaim
from upskill.generation.words import generate_requirements, generated_json
from upskill.report.result_notes import not_met_line

NOTHING = Purchase(calls=0, failed_calls=0, tokens=0, cost=0.0)


def generated(*statuses: str, proven: bool, claim: str = "cases like these") -> GenerateResult:
    return GenerateResult(
        skill=Skill(name="gauge", description="", body="", digest=""),
        saved="skills/gauge",
        kept=None,
        revision=False,
        status="",
        sentence="",
        reason="1 case is worse",
        claims=tuple(
            StudentClaim(student=f"s{n}", status=status, sentence="", claim=claim) for n, status in enumerate(statuses)
        ),
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
        (generated("helps", proven=True, claim="these cases"), 1),
    ],
)
def test_a_requirement_is_met_by_every_student_and_without_a_case_made_worse(made: GenerateResult, code: int) -> None:
    assert exit_code(made, "helps") == code
    assert exit_code(made, None) in (0, code if code == 3 else 0)
    (required,) = json.loads(json.dumps(generated_json(made, "helps")))["required"]
    assert required["met"] is (code == 0)
    assert generated_json(made)["required"] == []


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (generated("helps", "undecided", proven=False), 0),
        (generated("no difference", proven=False), 0),
        (generated("helps", "hurts", proven=False), 1),
        (generated("helps", proven=False), 1),  # it makes a case significantly worse
        (generated("not proven", proven=False), 1),  # it was not measured on held-out cases
        (generated(proven=False), 1),
    ],
)
def test_no_harm_fails_where_a_student_or_a_case_is_made_worse_or_nothing_was_measured(
    made: GenerateResult, code: int
) -> None:
    assert exit_code(made, "no-harm") == code


def test_a_skill_that_helps_here_only_meets_helps_here_and_the_reason_is_said() -> None:
    assert exit_code(generated("helps", proven=True, claim="these cases"), "helps-here") == 0
    (worse,) = generate_requirements(generated("helps", proven=False), "helps")
    assert not_met_line((worse,)) == "not met: --require helps, 1 case is worse"
