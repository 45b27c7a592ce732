"""Each end of a trial, made by a real server or script, is counted as the table in `trials/outcome.py` says."""

from typing import Any

import pytest

from on_engine import Make
from provider import Behaviour, failing
from upskill.core.nouns import Errored, Scored

CASE = [("Which port?", {"contains": "7413"})]
TOO_LONG = {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}

SCORED = {
    "a right answer": (Behaviour(text="It is 7413."), "answered", True),
    "a wrong answer": (Behaviour(text="It is 80."), "answered", False),
    "no text": (Behaviour(text=""), "empty", False),
    "white space": (Behaviour(text=" \n "), "empty", False),
    "thinking and no answer": (Behaviour(text="<think>7413</think>"), "empty", False),
    "thinking cut short": (Behaviour(text="<think>it is 7413", finish_reason="length"), "empty", False),
    "thinking, then an answer": (Behaviour(text="<think>80?</think>It is 7413."), "answered", True),
    "a refusal": (Behaviour(refusal="I cannot say 7413."), "refused", False),
    "cut after the point": (Behaviour(text="It is 7413, and", finish_reason="length"), "cut", True),
    "cut before the point": (Behaviour(text="It is", finish_reason="length"), "cut", False),
    "the content filter": (Behaviour(text="7413", finish_reason="content_filter"), "filtered", False),
    "the window overflows": (Behaviour(status=400, error=TOO_LONG), "overflow", False),
    "an unusual end marker": (Behaviour(text="7413", finish_reason="end_turn"), "answered", True),
}
ERRORED = {
    "a server error": (Behaviour(status=500), "provider"),
    "a bad request": (Behaviour(status=400), "provider"),
    "no permission": (Behaviour(status=401), "provider"),
    "too many requests": (Behaviour(status=429), "rate limit"),
    "a reset": (Behaviour(fault="reset"), "transport"),
    "a body cut short": (Behaviour(fault="cut"), "transport"),
    "truncated JSON": (Behaviour(fault="truncated"), "transport"),
    "an empty body": (Behaviour(fault="empty"), "transport"),
    "no end marker": (Behaviour(finish_reason=None), "transport"),
    "silence": (Behaviour(fault="stall"), "timeout"),
    "a slow drip": (Behaviour(fault="drip"), "timeout"),
}
HASTY = {"max_retries": 0, "attempt_timeout_seconds": 1}
"""A pair is put three times: with a retry each that would be more failures than an endpoint is allowed."""


@pytest.mark.parametrize("name", SCORED)
def test_what_the_student_did_is_scored(name: str, skill: Make, run_at: Any) -> None:
    behaviour, end, passes = SCORED[name]
    ran, _ = run_at(skill(CASE), lambda _: behaviour)
    for trial in ran.trials:
        assert isinstance(trial.outcome, Scored), trial.outcome
        assert (trial.outcome.end, trial.outcome.passed) == (end, passes)
        assert trial.calls == 1, "an answer we dislike is never asked for again"


@pytest.mark.parametrize("name", ERRORED)
def test_what_happened_to_the_student_is_errored(name: str, skill: Make, run_at: Any) -> None:
    behaviour, fault = ERRORED[name]
    ran, _ = run_at(skill(CASE), lambda _: behaviour, **HASTY)
    assert {trial.arm for trial in ran.trials} == {"baseline", "with_skill"}
    for trial in ran.trials:
        assert isinstance(trial.outcome, Errored), trial.outcome
        assert trial.outcome.fault == fault, trial.outcome
    report = ran.evaluation.students[0]
    assert report.verdict == "invalid"
    assert report.arms[0].pass_rate is None, "nothing was measured, which is not zero"


def test_the_engine_spends_no_time_on_drawing_tracebacks(
    skill: Make, run_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []

    def draw(*error: object, **_: object) -> str:
        drawn.append(error)
        return ""

    monkeypatch.setattr("inspect_ai._util.rich.rich_traceback", draw)
    ran, _ = run_at(skill(CASE), lambda _: Behaviour(status=400), **HASTY)
    assert all(isinstance(trial.outcome, Errored) for trial in ran.trials)
    assert not drawn


def test_a_fault_that_passes_is_made_good_by_a_retry(skill: Make, run_at: Any) -> None:
    def behave(asked: Any) -> Behaviour:
        return Behaviour(status=503) if asked.number <= 2 else Behaviour(text="7413")

    ran, provider = run_at(skill(CASE), behave, concurrency=1)
    assert [trial.outcome.kind for trial in ran.trials] == ["scored", "scored"]
    assert len(provider.requests) == 4
    assert sum(trial.calls for trial in ran.trials) == 4


def test_an_endpoint_that_is_down_is_left_alone_and_the_run_still_ends_with_a_result(skill: Make, run_at: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "x"}) for n in range(40)])
    ran, provider = run_at(folder, lambda _: Behaviour(status=500), max_retry_wait_seconds=1)
    assert len(provider.requests) <= 20
    assert ran.evaluation.students[0].verdict == "invalid"
    assert "went down" in ran.evaluation.notes[-1]
    assert not [trial for trial in ran.trials if isinstance(trial.outcome, Scored)]


def test_cases_that_always_fail_are_lost_pairs_and_do_not_take_the_verdict_with_them(skill: Make, run_at: Any) -> None:
    def behave(asked: Any) -> Behaviour:
        return Behaviour(status=500) if asked.prompt in ("Question 3?", "Question 5?") else Behaviour(text="7413")

    folder = skill([(f"Question {n}?", {"contains": "7413"}) for n in range(40)])
    ran, _ = run_at(folder, behave, max_retry_wait_seconds=1, max_retries=3)
    assert "went down" in ran.evaluation.notes[-1], "run again at the end, they fail one after the other"
    (report,) = ran.evaluation.students
    assert report.verdict == "no difference", report.sentence
    assert report.lifts[0].pairs == 38


def test_a_server_that_counts_no_tokens_leaves_them_unknown(skill: Make, run_at: Any) -> None:
    ran, _ = run_at(skill(CASE), lambda _: Behaviour(text="7413", usage=False))
    assert [trial.usage.tokens for trial in ran.trials] == [None, None]
    assert ran.evaluation.students[0].arms[0].tokens is None


def test_many_trials_with_a_fifth_of_requests_failing_are_all_accounted_for(skill: Make, run_at: Any) -> None:
    """The fast share of what `make full` does with a thousand."""
    folder = skill([(f"Question {n}?", {"contains": "7413"}) for n in range(60)])
    behave = failing(0.2, seed=3, faults=("500", "reset", "truncated", "stall"), text=lambda _: "7413")
    hasty = {"max_retry_wait_seconds": 1, "attempt_timeout_seconds": 4}
    ran, provider = run_at(folder, behave, concurrency=16, **hasty)
    assert len({(trial.case_id, trial.arm) for trial in ran.trials}) == 120
    scored = [trial.outcome for trial in ran.trials if isinstance(trial.outcome, Scored)]
    assert all(outcome.passed for outcome in scored), "no fault was counted as a failed answer"
    assert len(scored) >= 115
    # A request sent into a connection that was just reset is counted and never arrives.
    assert sum(trial.calls for trial in ran.trials) >= len(provider.requests) > 120


def test_it_is_said_who_answered_and_how_many_answers_were_cut(skill: Make, run_at: Any) -> None:
    def behave(asked: Any) -> Behaviour:
        return Behaviour(text="It is", finish_reason="stop" if asked.has_skill else "length", model="smollm2")

    ran, _ = run_at(skill(CASE), behave, max_output_tokens=40)
    assert ran.evaluation.students[0].answered_by == ("smollm2",)
    assert "1 of 2 answers were cut at 40 tokens (without the skill 1); UPSKILL_MAX_OUTPUT_TOKENS raises the limit" in (
        ran.evaluation.notes
    )
    plain, _ = run_at(skill(CASE, name="other"), lambda _: Behaviour(text="7413"))
    assert plain.evaluation.students[0].answered_by == ()
    assert not any("were cut" in note for note in plain.evaluation.notes)
