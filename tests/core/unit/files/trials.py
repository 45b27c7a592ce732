"""One trial with something in every field, for the tests of what is written and read back."""

from upskill.core.nouns import CheckResult, Grade, Scored, Trial, Usage

PASSED = Scored(end="answered", grade=Grade(results=(CheckResult(kind="contains", passed=True, saw="found '9.0'"),)))
TRIAL = Trial(
    id="t1",
    student="haiku",
    case_id="c1",
    arm="baseline",
    repeat=1,
    outcome=PASSED,
    answer="It is 9.0.\n\x00\u2028",
    usage=Usage(input_tokens=10, output_tokens=0, cost=0.0),
    seconds=0.5,
    calls=1,
    served_model="haiku-1",
    finished_at="2026-11-15T12:00:00+00:00",
)
