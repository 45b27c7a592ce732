"""Judges, commands and crashing checks on the real engine: what is bought, what is blamed, what is graded again."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from on_engine import CommandResult, Make, Run
from provider import Behaviour, Provider, ReceivedRequest
from typing_again import typed_again
from upskill.core.nouns import Errored, Scored
from upskill.errors import SkillInvalid, UsageError
from upskill.evaluation.regrade import regrade
from upskill.evaluation.resume import resume
from upskill.report.result_notes import result_notes

JUDGED = [("Which port?", {"contains": "7413", "judge": "is polite"})]
ITSELF = {"judge": "any", "judge_is_student": True}


def _is_judge(asked: ReceivedRequest) -> bool:
    return asked.system.startswith("You grade one answer")


def _reply(met: bool) -> str:
    return json.dumps({"criteria": [{"number": 1, "met": met, "why": "so"}]})


def _polite(asked: ReceivedRequest) -> Behaviour:
    if _is_judge(asked):
        return Behaviour(text=_reply("please" in asked.prompt))
    return Behaviour(text="7413, please" if asked.has_skill else "7413")


def _judged(run: Run, folder: Path, provider: Provider, **settings: Any) -> CommandResult:
    return run(folder, ["any"], base_url=provider.url, **ITSELF, repeats=2, **settings)


def test_a_judge_is_paid_through_the_client_and_never_by_the_trial(skill: Make, run: Run) -> None:
    with Provider(_polite) as provider:
        ran = _judged(run, skill(JUDGED), provider)
    assert [trial.calls for trial in ran.trials] == [1] * 4
    assert {trial.arm: trial.outcome.passed for trial in ran.trials if isinstance(trial.outcome, Scored)} == {
        "baseline": False,
        "with_skill": True,
    }
    judge = ran.evaluation.judge
    assert judge is not None
    assert (judge.judged, judge.compared, judge.agreed, judge.calls) == (4, 4, 2, 4)
    assert ran.evaluation.bought.calls == len(provider.requests) == 8


def test_a_reply_that_is_no_judgement_is_asked_for_again_and_then_measures_nothing(skill: Make, run: Run) -> None:
    with Provider(lambda asked: Behaviour(text="7413")) as provider:
        ran = run(skill(JUDGED), ["any"], base_url=provider.url, **ITSELF)
    assert len(provider.requests) == 6
    for trial in ran.trials:
        assert isinstance(trial.outcome, Errored)
        assert trial.outcome.fault == "check"
        assert "could not be used twice" in trial.outcome.message


def test_a_judge_that_is_down_is_no_fault_of_the_check_and_no_failed_answer(skill: Make, run: Run) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(status=400, text="no") if _is_judge(asked) else Behaviour(text="7413")

    with Provider(behave) as provider:
        ran = run(skill(JUDGED), ["any"], base_url=provider.url, **ITSELF, max_retries=0)
    assert ran.trials
    for trial in ran.trials:
        assert isinstance(trial.outcome, Errored)
        assert trial.outcome.fault == "provider"
        assert trial.outcome.message.startswith("the judge: ")


def test_a_cap_that_the_judge_reaches_calls_the_trial_off(skill: Make, run: Run) -> None:
    with Provider(_polite) as provider:
        ran = _judged(run, skill(JUDGED), provider, max_calls=3, concurrency=1)
    assert len(provider.requests) == 3
    faults = {trial.outcome.fault for trial in ran.trials if isinstance(trial.outcome, Errored)}
    assert faults <= {"budget"}


def test_grading_again_keeps_judgements_and_refuses_to_need_new_ones(skill: Make, run: Run) -> None:
    folder = skill(JUDGED)
    meta = folder / "skill_meta.json"
    with Provider(_polite) as provider:
        ran = _judged(run, folder, provider)
        asked = len(provider.requests)
        again = regrade(ran.run)
        assert [report.arms for report in again.students] == [report.arms for report in ran.evaluation.students]
        assert again.judge is not None
        assert (again.judge.agreed, again.judge.calls) == (2, 0)
        meta.write_text(meta.read_text().replace('"7413"', '"9999"'))
        changed = regrade(ran.run)
        assert "2 of 4 grades changed" in changed.notes[0]
        meta.write_text(meta.read_text().replace("is polite", "is rude"))
        with pytest.raises(UsageError, match="1 of 1 cases need a new judgement") as caught:
            regrade(ran.run)
        assert "--judge" in str(caught.value.hint)
        assert len(provider.requests) == asked


def test_a_stored_trial_comes_back_with_its_judgement_or_is_bought_again(skill: Make, run: Run) -> None:
    folder = skill(JUDGED)
    meta = folder / "skill_meta.json"
    with Provider(_polite) as provider:
        _judged(run, folder, provider, store=True)
        asked = len(provider.requests)
        again = _judged(run, folder, provider, store=True, ledger="another.jsonl")
        assert len(provider.requests) == asked
        assert again.evaluation.bought.reused == 4
        meta.write_text(meta.read_text().replace("is polite", "is kind"))
        _judged(run, folder, provider, store=True)
        assert len(provider.requests) == 2 * asked


def test_without_a_judge_nothing_is_bought(skill: Make, run: Run) -> None:
    with Provider(_polite) as provider:
        with pytest.raises(SkillInvalid) as caught:
            run(skill(JUDGED), ["any"], base_url=provider.url)
        assert not provider.requests
    assert any("--judge" in problem for problem in caught.value.problems)


def test_statements_of_a_community_file_are_judged_once_a_judge_is_named(skill: Make, run: Run) -> None:
    folder = skill([])
    (folder / "skill_meta.json").unlink()
    (folder / "evals").mkdir()
    item = {"id": 1, "prompt": "Which port?", "expected_output": "7413", "assertions": ["is polite"]}
    (folder / "evals" / "evals.json").write_text(json.dumps({"skill_name": "thing", "evals": [item]}))
    with Provider(_polite) as provider:
        ran = run(folder, ["any"], base_url=provider.url, **ITSELF)
    assert [trial.outcome.passed for trial in ran.trials if isinstance(trial.outcome, Scored)].count(True) == 1
    judge = ran.evaluation.judge
    assert judge is not None
    assert (judge.judged, judge.agreement) == (2, None)


@pytest.mark.parametrize("judge", ["any", "another-name-for-the-one-model-of-this-server"])
def test_a_student_that_would_judge_itself_is_refused_before_anything_is_bought(
    judge: str, skill: Make, run: Run
) -> None:
    folder = skill(JUDGED)
    with Provider(_polite) as provider:
        with pytest.raises(UsageError, match="any would judge its own answers") as caught:
            run(folder, ["any"], base_url=provider.url, judge=judge)
        with pytest.raises(UsageError, match="any would judge its own answers"):
            run(folder, ["any"], base_url=provider.url.replace("127.0.0.1", "localhost"), judge=judge)
        assert not provider.requests
    assert "UPSKILL_JUDGE_IS_STUDENT=true" in str(caught.value.hint)


def test_a_student_may_judge_itself_where_that_is_asked_for_and_every_result_says_so(skill: Make, run: Run) -> None:
    note = "any judged its own answers (setting: judge_is_student); models rate their own answers too high"
    with Provider(_polite) as provider:
        ran = _judged(run, skill(JUDGED), provider)
        assert note in ran.evaluation.notes
        assert note in regrade(ran.run).notes
        assert note in resume(ran.run, typed=typed_again(ran.run)).notes


def test_a_judge_that_is_served_elsewhere_is_no_student(skill: Make, run: Run, tmp_path: Path) -> None:
    script = tmp_path / "judge.yaml"
    script.write_text(json.dumps({"rules": [{"replies": [_reply(True)]}]}))
    with Provider(_polite) as provider:
        ran = run(skill(JUDGED), ["any"], base_url=provider.url, judge=f"scripted/{script}")
    assert ran.evaluation.judge is not None
    assert not any("judged its own" in note for note in ran.evaluation.notes)


def test_a_judge_that_passes_whatever_is_verbose_is_seen_beside_the_verdict(skill: Make, run: Run) -> None:
    rng = random.Random(4)

    def behave(asked: ReceivedRequest) -> Behaviour:
        if _is_judge(asked):
            return _polite(asked)
        return Behaviour(text=rng.choice(("7413", "9999")) + (", please" if asked.has_skill else ""))

    cases = [(f"Which port has {n}?", {"contains": "7413", "judge": "is right"}) for n in range(16)]
    with Provider(behave) as provider:
        ran = run(skill(cases), ["any"], base_url=provider.url, **ITSELF, repeats=3, concurrency=1)
    (report,) = ran.evaluation.students
    assert report.verdict == "helps", "as judged"
    assert ran.evaluation.judge is not None
    assert ran.evaluation.judge.compared == 96
    (said,) = (note for note in result_notes(ran.evaluation) if note.text.startswith("judge: "))
    assert said.must_show
    assert said.text.endswith("; the interval does not include its errors")
    assert regrade(ran.run).judge is not None


def test_a_judge_that_nobody_asked_for_is_said(skill: Make, run: Run) -> None:
    with Provider(_polite) as provider:
        ran = run(skill([("Which port?", {"contains": "7413"})]), ["any"], base_url=provider.url, judge="any")
    assert ran.evaluation.judge is None
    assert "no case needs a judge, so --judge is not used" in ran.evaluation.notes


COMMAND = {"command": {"run": ["python3", "-I", "-B", "solve.py"], "block": "solve.py"}}


def _solves(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"Sure.\n```python\nraise SystemExit({0 if asked.has_skill else 3})\n```")


def test_a_command_runs_on_what_a_chat_student_fenced_and_again_when_graded_again(skill: Make, run: Run) -> None:
    folder = skill([("Write it.", COMMAND)])
    with Provider(_solves) as provider:
        ran = run(folder, ["any"], base_url=provider.url, harness="chat")
    seen = {trial.arm: trial.outcome.grade.results[0].saw for trial in ran.trials if isinstance(trial.outcome, Scored)}
    assert seen == {"baseline": "exit 3 instead of 0", "with_skill": "exit 0"}
    meta = folder / "skill_meta.json"
    meta.write_text(meta.read_text().replace('"block"', '"exit_code": 3, "block"'))
    assert "2 of 2 grades changed" in regrade(ran.run).notes[0]


def test_a_program_that_is_missing_is_said_before_anything_is_bought(skill: Make, run: Run) -> None:
    folder = skill([("Write it.", {"command": {"run": ["no-such-program"], "take": []}})])
    with Provider(_solves) as provider:
        with pytest.raises(SkillInvalid) as caught:
            run(folder, ["any"], base_url=provider.url, harness="chat")
        assert not provider.requests
    assert any("'no-such-program' is not in the sandbox" in problem for problem in caught.value.problems)


def test_a_check_that_crashes_on_an_answer_measures_nothing(skill: Make, run: Run) -> None:
    # It looks like a pattern that cannot run away, until an answer shows that it can.
    folder = skill([("Which port?", {"file": {"path": "a.txt", "matches": "(?:a|aa)+$"}})])
    hostile = f"```txt a.txt\n{'a' * 100}!\n```"
    with Provider(lambda asked: Behaviour(text=hostile if asked.has_skill else "none")) as provider:
        ran = run(folder, ["any"], base_url=provider.url, harness="chat")
    outcomes = {trial.arm: trial.outcome for trial in ran.trials}
    assert isinstance(outcomes["baseline"], Scored)
    errored = outcomes["with_skill"]
    assert isinstance(errored, Errored)
    assert (errored.fault, errored.message.startswith("TimeoutError")) == ("check", True)
