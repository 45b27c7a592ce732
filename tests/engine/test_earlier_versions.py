"""A run folder that the version before wrote is read and resumed, and its answers are taken for no others."""

import json
from pathlib import Path
from typing import Any

from engine.conftest import Make
from provider import Behaviour, Provider, ReceivedRequest
from typing_again import typed_again
from upskill.storage import read_run, read_skill
from upskill.trials import Requests
from upskill.workflows.evaluating.prepare import EvaluationOrder, prepare
from upskill.workflows.evaluating.record import recorded_settings
from upskill.workflows.evaluating.resume import resume
from upskill.workflows.list_runs import trials_of

CASES = [(f"Question {n}?", {"contains": "7413"}) for n in range(6)]


def as_the_version_before_wrote_it(run: Path, skill: Path) -> set[str]:
    """Give a run the harness of then and its trials the ids of then; the ids of the whole plan."""
    record = read_run(run)
    plan = prepare(EvaluationOrder(skill=skill, repeats=1), recorded_settings(record.settings).values).plan
    then = Requests(read_skill(skill), version="chat/1")
    ids = {
        (planned.case.id, planned.arm): then.trial_id(planned, student)
        for student in plan.students
        for planned in plan.trials()
    }
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    for line in lines:
        line["id"] = ids[line["case_id"], line["arm"]]
    (run / "trials.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    written = json.loads((run / "run.json").read_text())
    del written["end"], written["results"]["end"]
    (run / "run.json").write_text(json.dumps({**written, "harness": "chat/1"}))
    return set(ids.values())


def test_a_run_that_an_earlier_harness_began_is_resumed_under_its_ids(skill: Make, run: Any) -> None:
    asked: list[str] = []

    def student(request: ReceivedRequest) -> Behaviour:
        asked.append(request.prompt)
        return Behaviour(text="<reflection>80?</reflection>7413")

    folder = skill(CASES)
    with Provider(student) as provider:
        ran = run(folder, ["any"], base_url=provider.url, max_calls=5, concurrency=1)
        ids = as_the_version_before_wrote_it(ran.run, folder)
        evaluation = resume(ran.run, typed=typed_again(ran.run))
        assert len(asked) == 5 + 5, "nothing that had ended is bought again, and the same cap holds again"
        resume(ran.run, typed=typed_again(ran.run))
        assert len(asked) == 12
    assert evaluation.end.cap is not None
    trials = [trial for trial in trials_of(ran.run) if trial.outcome.kind == "scored"]
    assert len(trials) == 12
    assert {trial.id for trial in trials} == ids
    assert {trial.answer for trial in trials} == {"7413"}
    assert read_run(ran.run).harness == "chat/1"


def test_answers_that_an_earlier_harness_read_are_not_taken_from_the_store(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(lambda _: Behaviour(text="7413")) as provider:
        ran = run(folder, ["any"], base_url=provider.url, max_calls=5, concurrency=1)
        as_the_version_before_wrote_it(ran.run, folder)
        settings = json.loads((ran.run / "run.json").read_text())
        settings["settings"]["store"]["value"] = True
        (ran.run / "run.json").write_text(json.dumps(settings))
        resume(ran.run, typed=typed_again(ran.run))
        before = len(provider.requests)
        again = run(folder, ["any"], base_url=provider.url, store=True)
        assert again.evaluation.bought.reused == 0
        assert len(provider.requests) == before + 12
