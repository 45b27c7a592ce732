"""Which cases are admitted to an evaluation, and what past baselines make of them."""

import pytest

from core.unit.checks.cases import case, skill
from upskill.core.nouns import Qualification
from upskill.core.statistics import BaselineTally
from upskill.errors import SkillInvalid
from upskill.evaluation.cases import admit
from upskill.evaluation.check_cases import with_baselines

GOOD = case("Which port?", {"contains": "8472"}, reference="8472", name="port")
OPEN = case("Which file?", {"contains": "quay.lock"}, name="file")
BROKEN = [case(f"Which editor, {n}?", {"excludes": "nano"}, name=f"broken-{n}") for n in range(5)]


def test_rejected_cases_are_left_out_and_named_and_unproven_ones_are_marked() -> None:
    admitted = admit([GOOD, OPEN, *BROKEN], skill(), backend=None)
    assert [one.id for one in admitted.cases] == ["port", "file"]
    assert len(admitted.qualifications) == 7
    assert admitted.notes == (
        "case broken-0 is rejected and not run: the empty answer passes",
        "case broken-1 is rejected and not run: the empty answer passes",
        "case broken-2 is rejected and not run: the empty answer passes",
        "2 more cases are rejected and not run; see `upskill cases check`",
        "1 of 2 cases is unproven (file); `upskill cases check` shows why",
    )


def test_where_no_case_is_left_nothing_is_run_and_every_reason_is_given() -> None:
    with pytest.raises(SkillInvalid) as refused:
        admit(BROKEN, skill(), backend=None)
    assert "none of the 5 cases can tell right answers from wrong ones" in refused.value.message
    assert refused.value.problems[0] == "broken-0: the empty answer passes"
    assert refused.value.exit_code == 2


def test_a_run_that_is_taken_up_again_keeps_the_cases_it_was_begun_with() -> None:
    admitted = admit([GOOD, OPEN, BROKEN[0]], skill(), backend=None, only=frozenset({"port", "broken-0"}))
    assert [one.id for one in admitted.cases] == ["port", "broken-0"]
    assert admitted.notes[0] == "case file is not run: it was not part of the run when it started"


def tally(student: str, passed: int, trials: int = 5) -> BaselineTally:
    """What a student did with the one case."""
    return BaselineTally(student=student, case_id="port", trials=trials, passed=passed)


@pytest.mark.parametrize(
    ("tallies", "labels"),
    [
        ([tally("a", 5)], ("recall", "saturated")),
        ([tally("a", 0), tally("b", 0, 7)], ("recall", "impossible")),
        ([tally("a", 5), tally("b", 0)], ("recall",)),
        ([tally("a", 5), tally("b", 3)], ("recall",)),
        ([tally("a", 4, 4)], ("recall",)),
        ([], ("recall",)),
    ],
)
def test_baselines_label_a_case_where_all_students_agree(tallies: list[BaselineTally], labels: tuple[str, ...]) -> None:
    (found,) = with_baselines([Qualification(case_id="port", state="qualified", labels=("recall",))], tallies)
    assert found.labels == labels
