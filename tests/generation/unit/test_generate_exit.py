"""What `generate --require helps` counts as shown."""

import json

import pytest

from upskill.core.nouns import Purchase, Skill
from upskill.core.nouns.evaluation import BrokenCase
from upskill.generation.command import exit_code
from upskill.generation.generated import GenerateResult, StudentClaim
from upskill.generation.words import generate_requirements, generated_json
from upskill.report.result_notes import not_met_line

NOTHING = Purchase(calls=0, failed_calls=0, tokens=0, cost=0.0)


BROKEN = BrokenCase(case_id="c1", answers=8, passed=0, passed_before=7)


def generated(
    *statuses: str, proven: bool, claim: str = "new cases", broken: tuple[BrokenCase, ...] = ()
) -> GenerateResult:
    return GenerateResult(
        skill=Skill(name="gauge", description="", body="", digest=""),
        saved="skills/gauge",
        kept=None,
        revision=False,
        status="",
        sentence="",
        reason="it breaks 1 case",
        claims=tuple(
            StudentClaim(student=f"s{n}", status=status, sentence="", claim=claim, broken=broken)
            for n, status in enumerate(statuses)
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
        (generated("helps", proven=False, broken=(BROKEN,)), 1),
        (generated("helps", "invalid", proven=False), 3),
        (generated(proven=False), 1),
        (generated("helps", proven=True, claim="these cases"), 1),
    ],
)
def test_a_requirement_is_met_by_every_student_and_without_a_broken_case(made: GenerateResult, code: int) -> None:
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
        (generated("helps", proven=False), 1),  # it ended before cases that it breaks were looked for
        (generated("helps", proven=False, broken=(BROKEN,)), 1),
        (generated("helps", "undecided", proven=False, broken=(BROKEN,)), 1),
        (generated("helps", proven=False, claim="these cases"), 0),
        (generated("helps", proven=False, claim="these cases", broken=(BROKEN,)), 1),
        (generated("not proven", proven=False), 1),  # it was not measured on held-out cases
        (generated(proven=False), 1),
    ],
)
def test_no_harm_fails_where_a_student_is_hurt_or_a_case_is_broken_or_nothing_was_measured(
    made: GenerateResult, code: int
) -> None:
    assert exit_code(made, "no-harm") == code


def test_the_reason_of_an_unmet_requirement_is_said() -> None:
    (broken,) = generate_requirements(generated("helps", proven=False), "helps")
    assert not_met_line((broken,)) == "not met: --require helps, it breaks 1 case"
    (few,) = generate_requirements(generated("helps", proven=False, claim="these cases"), "helps")
    here = "s0 is helped on these cases, which are too few to say so of new ones"
    assert not_met_line((few,)) == f"not met: --require helps, {here}"
