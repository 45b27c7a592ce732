"""The report recomputes lifts of real evaluations from their answers: families, copies, dropped pairs, early ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from sweep.engine.attempted import Sweep
from upskill.sweep.report import report_sweep

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(8)]


def behave(asked: ReceivedRequest) -> Behaviour:
    number = int(asked.prompt.split("Question ")[1].split("?")[0])
    if "copy" in asked.prompt:
        return Behaviour(text="yes" if asked.has_skill or number % 2 == 0 else "no")
    if "error" in asked.prompt and asked.number % 11 == 0:
        return Behaviour(status=400)
    passes = asked.number * 7919 % 10 < (7 if asked.has_skill else 4)
    return Behaviour(text=f"{'yes' if passes else 'no'}, {asked.number:06}")


@pytest.mark.full
@pytest.mark.parametrize("runs", ["auto", 3])
def test_every_lift_of_a_worker_is_what_its_answers_give(tmp_path: Path, skill: Make, runs: Any) -> None:
    skill(CASES, name="plain")
    skill(CASES[:4], name="few")
    copied = [(f"copy {prompt}", check) for prompt, check in CASES]
    skill(copied, name="copied")
    skill(copied[:4], name="few-copied")
    skill([(f"error {prompt}", check) for prompt, check in CASES], name="errored")
    related = skill(CASES, name="related") / "skill_meta.json"
    meta = json.loads(related.read_text())
    for number, case in enumerate(meta["cases"]):
        case["family"] = f"family {number}" if number else "family 1"
    related.write_text(json.dumps(meta))
    with Provider(behave) as provider:
        sweep = Sweep(tmp_path, provider.url, runs=runs, confirm=False)
        jobs = {job.name: job for job in sweep.plan()[1]}
        ends = {name: sweep.attempt(job) for name, job in jobs.items()}
    assert all(end.done for end in ends.values()), ends
    found = {name: sweep.result(jobs[name]) for name in ("copied", "few-copied")}
    pairs = {name: (one.evaluation["students"][0]["lifts"][0]["pairs"], len(one.rows)) for name, one in found.items()}
    if runs == "auto":
        assert pairs == {"copied": (8, 2 * (8 + 3)), "few-copied": (4, 2 * (4 + 3))}, (
            "three cases show that they repeat"
        )
    else:
        assert pairs == {"copied": (24, 2 * 24), "few-copied": (4, 2 * 12)}, (
            "of few cases only one of the copies counts"
        )
    assert {row[7] for row in sweep.result(jobs["related"]).rows} == {f"family {number}" for number in range(1, 8)}

    report = report_sweep(str(sweep.place))

    assert report.problems == ()
    assert report.compared == 6
