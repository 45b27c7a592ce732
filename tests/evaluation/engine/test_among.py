"""Other skills beside the measured one: in every arm, seen when they are loaded, recorded and held on resuming."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from on_engine import Make, Run
from provider import Behaviour, ReceivedRequest
from tool_students import is_first, tool_call
from typing_again import typed_again
from upskill.core.nouns import Errored
from upskill.core.nouns.skill import Among
from upskill.core.runs.records import read_run
from upskill.errors import UsageError
from upskill.evaluation.report import read_report
from upskill.evaluation.resume import resume
from upskill.report.json_report import evaluation_json
from upskill.report.result_notes import others_words

CASE = [("Which port?", {"contains": "done"})]
LOOK = "cat /skills/beside/SKILL.md; /skills/beside/say.sh; ls /skills | wc -l"


def load_another(asked: ReceivedRequest) -> Behaviour:
    return tool_call(asked, "shell", command=LOOK) if is_first(asked) else Behaviour(text="done")


def test_other_skills_lie_in_every_arm_and_their_loads_are_seen_and_told(
    skill: Make, run_at: Any, tmp_path: Path
) -> None:
    folder = skill(CASE, body="The port of the tarn is 7413.\n")
    beside = tmp_path / "mine" / "beside"
    beside.mkdir(parents=True)
    (beside / "SKILL.md").write_text("---\nname: beside\ndescription: Lies beside.\n---\nMeasure the depth twice.\n")
    (beside / "say.sh").write_text("#!/bin/sh\necho it ran\n")
    (beside / "say.sh").chmod(0o755)
    among = Among(shipped=20, folders=(str(tmp_path / "mine"), str(folder.parent)))
    ran, provider = run_at(folder, load_another, harness="auto", concurrency=1, among=among)

    assert [len(asked.body["messages"][0]["content"].split("\n- ")) - 1 for asked in provider.requests[::2]] == [
        21,
        22,
        21,
    ]
    results = [asked.body["messages"][-1]["content"] for asked in provider.requests[1::2]]
    assert [result.splitlines()[-2:] for result in results] == [["21", "[exit code 0]"], *[["22", "[exit code 0]"]] * 2]
    assert all("it ran" in result for result in results)
    uses = {trial.arm: trial.skill_use for trial in ran.trials}
    assert {arm: (use.listed, use.loaded, use.others) for arm, use in uses.items() if use is not None} == {
        "baseline": (False, False, ("beside",)),
        "offered": (True, False, ("beside",)),
        "with_skill": (False, True, ("beside",)),
    }

    told: Any = evaluation_json(ran.evaluation)
    assert told["others"]["count"] == 21
    assert [one["other_skills"] for one in told["students"][0]["arms"].values()] == [{"beside": 1}] * 3
    assert [arm.loaded for arm in ran.evaluation.students[0].arms] == [None, 0, 1]
    assert others_words(ran.evaluation) == (
        "measured among 21 other skills; other skills loaded: without the skill (beside 1), "
        "skill offered (beside 1), skill given (beside 1)"
    )
    record = read_run(ran.run)
    assert record.others == ran.evaluation.others
    assert record.other_sources == ("../../mine", "../../skills")
    page = read_report(ran.run)
    assert page.evaluation.others == record.others
    assert "among 21 other skills: accessibility-audit, api-documentation" in page.page()


def test_a_run_among_others_is_resumed_among_the_same_and_not_among_changed_ones(
    skill: Make, run: Run, script: Any, tmp_path: Path
) -> None:
    folder = skill(CASE)
    beside = tmp_path / "mine" / "beside"
    beside.mkdir(parents=True)
    (beside / "SKILL.md").write_text("---\nname: beside\ndescription: Lies beside.\n---\nBody.\n")
    among = Among(shipped=2, folders=(str(tmp_path / "mine"),))
    ran = run(folder, [script({"replies": ["done"]})], harness="agent", among=among)
    assert not any(isinstance(trial.outcome, Errored) for trial in ran.trials)

    again = resume(ran.run, typed=typed_again(ran.run))
    assert (again.others, again.students) == (ran.evaluation.others, ran.evaluation.students)
    (tmp_path / "mine").rename(tmp_path / "moved")
    moved = replace(typed_again(ran.run), among=Among(folders=(str(tmp_path / "moved"),)))
    assert resume(ran.run, typed=moved).others == ran.evaluation.others
    (tmp_path / "moved" / "beside" / "SKILL.md").write_text("---\nname: beside\ndescription: Changed.\n---\nBody.\n")
    with pytest.raises(UsageError, match="cannot be resumed") as caught:
        resume(ran.run, typed=moved)
    assert caught.value.problems == ("the other skills (--among) have changed since this run started",)


def test_a_run_folder_cannot_choose_which_folder_of_skills_is_read(
    skill: Make, run: Run, script: Any, tmp_path: Path
) -> None:
    ran = run(skill(CASE), [script({"replies": ["done"]})], harness="agent", among=Among(shipped=2), baseline=False)
    record = tmp_path / ran.run / "run.json"
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    own = record.read_text()
    record.write_text(own.replace('"other_sources": []', f'"other_sources": ["{outside}"]'))
    with pytest.raises(UsageError, match="is not known as a run of yours") as caught:
        resume(ran.run, typed=typed_again(ran.run))
    assert any("--among" in problem for problem in caught.value.problems)
    assert str(outside) not in str(caught.value)
    record.write_text(own)
    for among in (Among(shipped=3), Among(bundled=True)):
        with pytest.raises(UsageError, match="was started among other skills"):
            resume(ran.run, typed=replace(typed_again(ran.run), among=among))
