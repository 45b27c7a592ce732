"""Grading a run again goes the way that the run went, also where pairs were lost on it."""

from typing import Any

from engine.conftest import Make
from provider import Behaviour
from upskill.workflows.evaluating.regrade import regrade


def test_pairs_that_were_lost_do_not_end_the_replay(skill: Make, run_at: Any) -> None:
    def behave(asked: Any) -> Behaviour:
        if asked.prompt in ("Question 2?", "Question 7?"):
            return Behaviour(status=500)
        return Behaviour(text="7413" if "7413" in asked.system and asked.prompt != "Question 4?" else "no idea")

    folder = skill([(f"Question {n}?", {"contains": "7413"}) for n in range(16)], body="The port is 7413.")
    ran, provider = run_at(folder, behave, repeats=None, max_retry_wait_seconds=1, max_retries=0, concurrency=1)
    (report,) = ran.evaluation.students
    assert report.arms[0].errored, "a pair was lost before the decision"
    sent = len(provider.requests)
    again = regrade(ran.run)
    (regraded,) = again.students
    assert len(provider.requests) == sent
    assert (regraded.verdict, regraded.sentence) == (report.verdict, report.sentence)
    assert regraded.lifts == report.lifts
