"""Checks of the way in an evaluation: what a model did is recorded, graded, stored, graded again and shown."""

import json
from dataclasses import replace
from typing import Any

from on_engine import Make, Run
from tool_students import call, shell, turns
from upskill.core.nouns import Scored
from upskill.core.runs.run_folders import RunFolder
from upskill.core.runs.trial_log import trial_json
from upskill.evaluation.regrade import regrade
from upskill.evaluation.report import read_report

WAY: dict[str, Any] = {
    "tools": {"used": ["shell", "read_file"], "forbidden": "web", "order": ["shell", "read_file"], "at_most": 5},
    "commands": {"ran": "sort -u", "not_ran": r"^rm\b"},
    "files_read": {"read": "input.txt", "not_read": "*.pem"},
    "turns": 6,
    "contains": "done",
}


def test_what_a_model_did_decides_is_stored_and_is_what_the_report_shows(skill: Make, run: Run, script: Any) -> None:
    student = script(
        *turns(
            shell("sort -u input.txt > out.txt"),
            call("read_file", path="out.txt"),
            call("read_file", path="missing.txt"),
            call("pytest", command="x"),
            "done",
        )
    )
    folder = skill([("Sort it.", WAY)], files={"input.txt": "b\na\n"})
    ran = run(folder, [student])
    assert len(ran.trials) == 3, "auto gives tools to cases that ask for the way"
    for trial in ran.trials:
        assert isinstance(trial.outcome, Scored)
        assert trial.outcome.passed, trial.outcome
        assert trial.trajectory is not None
        assert [(one.turn, one.tool, one.kind, one.arguments, one.failed) for one in trial.trajectory.calls] == [
            (1, "shell", "shell", "sort -u input.txt > out.txt", False),
            (2, "read_file", "read_file", "out.txt", False),
            (3, "read_file", "read_file", "missing.txt", True),
            (4, "pytest", None, "x", True),
        ]
    logged = list(read_report(ran.run).logged())
    for one in logged:
        assert one.steps is not None
        calls = [step for step in one.steps.first if step.kind == "tool"]
        assert [step.tool for step in calls] == ["shell", "read_file", "read_file", "pytest"]
        assert calls[1].output == "a\nb\n"

    def regraded(**checks: Any) -> list[tuple[int, int, int]]:
        items = json.loads((folder / "skill_meta.json").read_text())["cases"]
        items[0]["expected"] = {"contains": "done", **checks}
        (folder / "skill_meta.json").write_text(json.dumps({"cases": items}))
        return [(arm.passed, arm.trials, arm.errored) for arm in regrade(ran.run).students[0].arms]

    assert regraded(tools={"used": "shell", "at_most": 4}) == [(1, 1, 0)] * 3
    assert regraded(tools={"at_most": 3}) == [(0, 1, 0)] * 3
    assert regraded(tools="pytest") == [(0, 1, 0)] * 3, "there is no such tool"
    assert regraded(turns=4) == [(0, 1, 0)] * 3
    assert regraded(files_read={"not_read": "input.txt"}) == [(0, 1, 0)] * 3
    assert regraded(commands="sort") == [(1, 1, 0)] * 3
    # Without the calls nothing is known, and nobody has failed.
    log = RunFolder(path=ran.run).trials.path
    log.write_bytes(b"".join(trial_json(replace(trial, trajectory=None)) + b"\n" for trial in ran.trials))
    assert regraded(tools="shell") == [(0, 0, 1)] * 3
    assert any("3 answers cannot be graded" in note for note in regrade(ran.run).notes)
    assert regraded(contains="done") == [(1, 1, 0)] * 3
