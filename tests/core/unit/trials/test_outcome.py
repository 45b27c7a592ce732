"""Ends that no student of `engine/test_ends.py` comes to, and every combination of what the engine may report."""

from itertools import product
from typing import get_args

import pytest

from upskill.core.nouns import CheckResult, Errored, Grade, Scored
from upskill.core.trials.outcome import Ending, Limit, StopReason, outcome_of

PASSED = Grade(results=(CheckResult(kind="contains", passed=True, saw="found"),))
FAILED = Grade(results=(CheckResult(kind="contains", passed=False, saw="not found"),))


@pytest.mark.parametrize(
    ("ending", "end", "passes"),
    [
        (Ending(text="7413 and", stop="max_tokens", grade=PASSED), "cut", True),
        (Ending(text="", stop="max_tokens", grade=PASSED), "empty", False),
        (Ending(text="7413", stop="stop", limit="time", grade=PASSED), "time limit", False),
        (Ending(text="7413", stop="stop", limit="working", grade=PASSED), "time limit", False),
        (Ending(text="7413", stop="stop", limit="message", grade=PASSED), "turn limit", False),
        (Ending(text="7413", stop="stop", limit="turn", grade=PASSED), "turn limit", False),
        (Ending(text="7413", stop="stop", limit="token", grade=PASSED), "token limit", False),
    ],
)
def test_what_the_student_did_is_scored(ending: Ending, end: str, passes: bool) -> None:
    outcome = outcome_of(ending)
    assert isinstance(outcome, Scored)
    assert (outcome.end, outcome.passed) == (end, passes)


@pytest.mark.parametrize(
    ("ending", "fault"),
    [
        (Ending(text="7413", stop="stop", error="regex", fault="check"), "check"),
        (Ending(text="7413", stop="stop", error="KeyError"), "crash"),
        (Ending(text="7413", stop="stop", grade=PASSED, cancelled=True), "cancelled"),
        (Ending(text="7413", stop="stop", grade=PASSED, limit="operator"), "cancelled"),
        (Ending(text="7413", stop="stop", grade=PASSED, limit="cost"), "cancelled"),
        (Ending(), "crash"),
        (Ending(text="7413", stop="stop"), "crash"),
    ],
)
def test_what_happened_to_the_student_is_errored(ending: Ending, fault: str) -> None:
    outcome = outcome_of(ending)
    assert isinstance(outcome, Errored)
    assert outcome.fault == fault


def test_an_error_is_never_a_score_whatever_else_is_reported() -> None:
    stops = [None, *get_args(StopReason)]
    limits = [None, *get_args(Limit)]
    for stop, limit, grade, refused in product(stops, limits, (None, PASSED, FAILED), (False, True)):
        ending = Ending(text="7413", stop=stop, limit=limit, grade=grade, refused=refused, error="broken")
        assert isinstance(outcome_of(ending), Errored)


def test_every_combination_has_an_outcome_and_only_an_answer_passes() -> None:
    stops = [None, *get_args(StopReason)]
    limits = [None, *get_args(Limit)]
    for stop, limit, grade, refused in product(stops, limits, (None, PASSED, FAILED), (False, True)):
        outcome = outcome_of(Ending(text="7413", stop=stop, limit=limit, grade=grade, refused=refused))
        if isinstance(outcome, Scored) and outcome.passed:
            assert grade is PASSED
            assert limit is None
            assert not refused
