"""Grading a run again goes the way that the run went, also where pairs were lost on it."""

import json
from typing import Any

import pytest

from on_engine import Make
from provider import Behaviour, Provider
from upskill.core.runs.records import read_run
from upskill.errors import UsageError
from upskill.evaluation.regrade import regrade
from upskill.evaluation.resume import resume
from upskill.report.next_step import next_step


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


def test_cases_without_an_id_are_graded_again_with_changed_checks(skill: Make, run: Any, script: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(3)])
    meta = folder / "skill_meta.json"
    cases = json.loads(meta.read_text())["cases"]
    for case in cases:
        del case["id"]
    meta.write_text(json.dumps({"cases": cases}))
    ran = run(folder, [script({"replies": ["no"]})])
    for case in cases:
        case["expected"] = {"contains": "no"}
    cases.reverse()
    meta.write_text(json.dumps({"cases": cases}))
    again = regrade(ran.run)
    assert [(arm.passed, arm.trials) for arm in again.students[0].arms] == [(3, 3), (3, 3)]
    cases.pop()["input"] = "Another question?"
    meta.write_text(json.dumps({"cases": cases}))
    with pytest.raises(UsageError, match="has no case case-"):
        regrade(ran.run)


def test_checks_that_were_loosened_after_the_answers_claim_nothing(skill: Make, run: Any, script: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(8)], body="Say: yes.")
    ran = run(folder, [script({"arm": "with_skill", "replies": ["perhaps"]}, {"replies": ["no"]})])
    assert ran.evaluation.students[0].verdict != "helps"
    meta = folder / "skill_meta.json"
    meta.write_text(meta.read_text().replace('"yes"', '"perhaps"'))
    again = regrade(ran.run)
    (report,) = again.students
    assert (report.verdict, report.claim, report.lifts[0].mean) == ("undecided", None, 1)
    seen = "undecided: the checks changed after the answers were seen; by the new ones +100 points (95% CI "
    assert report.sentence.startswith(seen)
    assert report.end == "checks changed"
    assert next_step(again, skill="skills/thing").command.endswith(" --fresh")
    changed, nothing = again.notes[:2]
    assert changed.endswith("8 of 16 grades changed (with the skill 8 now pass)")
    assert nothing == (
        "8 cases changed after the answers were seen, so nothing is claimed: `upskill eval --fresh` asks anew"
    )


def test_an_outage_is_that_of_the_student_that_met_it(skill: Make, run: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "ok"}) for n in range(12)])
    with Provider(lambda asked: Behaviour(status=500 if asked.body["model"] == "sick" else 200)) as provider:
        ran = run(folder, ["well", "sick"], base_url=provider.url, max_retries=0, concurrency=1)
    assert [report.end for report in ran.evaluation.students] == ["plan finished", "endpoint down"]
    again = regrade(ran.run).students
    assert [report.end for report in again] == ["plan finished", "endpoint down"]
    assert [report.sentence for report in again] == [report.sentence for report in ran.evaluation.students]


def test_a_student_whose_trials_were_all_run_did_not_reach_the_cap_of_another(skill: Make, run: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "ok"}) for n in range(8)])
    slow = {"quick": 0.0, "slow": 0.3}
    with Provider(lambda asked: Behaviour(latency=slow[asked.body["model"]])) as provider:
        ran = run(folder, ["quick", "slow"], base_url=provider.url, max_calls=24, concurrency=2)
    assert [report.end for report in ran.evaluation.students] == ["plan finished", "cap reached"]
    assert [report.end for report in regrade(ran.run).students] == ["plan finished", "cap reached"]


def test_a_run_that_stopped_after_its_first_look_claims_nothing_with_other_grades(skill: Make, run_at: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "right"}) for n in range(20)])

    def behave(asked: Any) -> Behaviour:
        better = asked.has_skill and asked.prompt in [f"Question {n}?" for n in range(4)]
        return Behaviour(text=f"{'nearly' if better else 'wrong'} {asked.number}")

    ran, _ = run_at(folder, behave, repeats=None, concurrency=1)
    (report,) = ran.evaluation.students
    assert report.end == "futile"
    meta = folder / "skill_meta.json"
    cases = json.loads(meta.read_text())["cases"]
    meta.write_text(json.dumps({"cases": [{**case, "expected": {"contains": "nearly"}} for case in cases]}))
    (again,) = regrade(ran.run).students
    assert again.lifts[0].mean > 0.1, "the design would have gone on with these grades"
    assert (again.verdict, again.end) == ("undecided", "checks changed")


def test_families_that_change_later_change_no_verdict_of_an_earlier_run(skill: Make, run: Any, script: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "7413"}) for n in range(3)], body="The port is 7413.")
    meta = folder / "skill_meta.json"

    def name_families(family: str) -> None:
        items = json.loads(meta.read_text())["cases"]
        meta.write_text(json.dumps({"cases": [{**item, "family": family} for item in items]}))

    name_families("ports")
    ran = run(folder, [script({"arm": "with_skill", "replies": ["7413"]}, {"replies": ["no"]})])
    assert [case.family for case in read_run(ran.run).cases] == ["ports"] * 3
    said = "the families of cases have changed"
    assert not any(said in note for note in (*ran.evaluation.notes, *regrade(ran.run).notes))
    name_families("pots")
    for again in (regrade(ran.run), resume(ran.run)):
        assert sum(said in note for note in again.notes) == 1
        assert again.students[0].lifts == ran.evaluation.students[0].lifts
