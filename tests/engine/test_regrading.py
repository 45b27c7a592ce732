"""Grading a run again goes the way that the run went, also where pairs were lost on it."""

import json
from typing import Any

from engine.conftest import Make
from provider import Behaviour
from upskill.storage import read_run
from upskill.workflows.evaluating.regrade import regrade
from upskill.workflows.evaluating.resume import resume


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


def test_families_that_change_later_change_no_verdict_of_an_earlier_run(skill: Make, run: Any, script: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "7413"}) for n in range(3)], body="The port is 7413.")
    meta = folder / "skill_meta.json"

    def name_families(family: str) -> None:
        items = json.loads(meta.read_text())["cases"]
        meta.write_text(json.dumps({"cases": [{**item, "family": family} for item in items]}))

    name_families("ports")
    ran = run(folder, [script({"arm": "with_skill", "replies": ["7413"]}, {"replies": ["no"]})])
    assert [case.family for case in read_run(ran.run).cases] == ["ports"] * 3
    said = "cases are in other families now"
    assert not any(said in note for note in (*ran.evaluation.notes, *regrade(ran.run).notes))
    name_families("pots")
    for again in (regrade(ran.run), resume(ran.run)):
        assert sum(said in note for note in again.notes) == 1
        assert again.students[0].lifts == ran.evaluation.students[0].lifts
