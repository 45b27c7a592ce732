"""Ways to look again without paying for it, at a loopback student: each was open once."""

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from typing_again import typed_again
from upskill.core.nouns.look import Look
from upskill.core.runs.look_ledger import LookLedger
from upskill.evaluation.resume import resume

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(12)]


def _varied(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"{'yes' if asked.has_skill else 'no'} {secrets.token_hex(4)}")


def _looks(tmp_path: Path) -> tuple[Look, ...]:
    return LookLedger(tmp_path / "cache" / "upskill" / "looks.jsonl").read()


def test_fresh_answers_up_to_a_cap_are_a_look_each_time(skill: Make, run: Any, tmp_path: Path) -> None:
    folder = skill(CASES)
    with Provider(lambda _: Behaviour(text=f"no {secrets.token_hex(4)}")) as provider:
        for _ in range(3):
            run(folder, ["any"], base_url=provider.url, repeats=None, fresh=True, max_calls=8, concurrency=1)
    assert [look.end for look in _looks(tmp_path)] == ["cap reached"] * 3
    assert [look.level for look in _looks(tmp_path)] == pytest.approx([0.025, 0.0025, 0.00225])


def test_a_result_that_allowed_no_verdict_is_asked_again_and_costs_no_level(
    skill: Make, run: Any, tmp_path: Path
) -> None:
    """A provider that had a bad day must not leave a gate without a verdict for ever."""
    sick = True

    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(status=400) if sick and int(asked.prompt[9:-1]) % 2 else _varied(asked)

    folder = skill(CASES)
    with Provider(behave) as provider:
        first = run(folder, ["any"], base_url=provider.url, store=True, max_retries=0)
        assert first.evaluation.students[0].verdict == "invalid"
        sick = False
        again = run(folder, ["any"], base_url=provider.url, store=True)
    assert again.evaluation.students[0].verdict == "helps"
    (look,) = _looks(tmp_path)
    assert look.level == 0.025, "what was answered on the bad day is still the first look"


def test_a_fixed_plan_that_a_cap_ended_is_tested_as_one_that_may_stop_early(skill: Make, run: Any) -> None:
    """Whoever raises the cap until it helps looks once for each: `--runs 5 --max-calls 20`, 40, 60 …"""

    def behave(asked: ReceivedRequest) -> Behaviour:
        return _varied(asked) if int(asked.prompt[9:-1]) < 5 else Behaviour(text=f"no {secrets.token_hex(4)}")

    folder = skill(CASES)
    with Provider(behave) as provider:
        settings: dict[str, Any] = {"base_url": provider.url, "store": True}
        capped = run(folder, ["any"], repeats=2, max_calls=24, concurrency=1, **settings).evaluation.students[0]
        whole = run(folder, ["any"], repeats=1, ledger="new.jsonl", **settings).evaluation.students[0]
    assert (capped.lifts[0].pairs, capped.end) == (12, "cap reached")
    assert capped.claim != "new cases"
    assert (whole.verdict, whole.claim) == ("helps", "new cases")


def test_another_judge_does_not_make_removed_cases_forgotten(skill: Make, run: Any, tmp_path: Path) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        grade = json.dumps({"criteria": [{"number": 1, "met": True, "why": "so"}]})
        return Behaviour(text=grade) if asked.body["model"].startswith("judge") else _varied(asked)

    judged = [("Question 12?", {"contains": "yes", "judge": "is polite"})]
    with Provider(behave) as provider:
        folder = skill([*CASES, *judged])
        run(folder, ["any"], base_url=provider.url, judge="judge-1", judge_is_student=True)
        meta = folder / "skill_meta.json"
        meta.write_text(json.dumps({"cases": json.loads(meta.read_text())["cases"][2:]}))
        again = run(folder, ["any"], base_url=provider.url, judge="judge-2", judge_is_student=True)
    assert any("2 cases fewer than last time" in note for note in again.evaluation.notes)
    assert [look.level for look in _looks(tmp_path)] == pytest.approx([0.025, 0.0025])


def test_cases_that_are_put_into_families_are_looked_at_again(skill: Make, run: Any) -> None:
    """Twelve cases of one document are one draw from all documents, whatever was said of twelve."""
    folder = skill(CASES)
    with Provider(_varied) as provider:
        assert run(folder, ["any"], base_url=provider.url, store=True).evaluation.students[0].verdict == "helps"
        meta = folder / "skill_meta.json"
        cases = json.loads(meta.read_text())["cases"]
        meta.write_text(json.dumps({"cases": [{**case, "family": "one document"} for case in cases]}))
        again = run(folder, ["any"], base_url=provider.url, store=True).evaluation
    assert again.students[0].claim != "new cases"
    assert again.bought.calls == 0


def test_deleting_the_worst_cases_does_not_meet_a_lift_below_zero_either(skill: Make, run: Any) -> None:
    """All that is claimed is that at least -30 points are shown, and that must hold with all cases."""
    lost = {f"Question {n}?" for n in range(30, 44)}

    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text=f"{'no' if asked.has_skill and asked.prompt in lost else 'yes'} {secrets.token_hex(4)}")

    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(44)])
    with Provider(behave) as provider:
        settings: dict[str, Any] = {"base_url": provider.url, "store": True, "min_lift": -0.3}
        assert run(folder, ["any"], **settings).evaluation.exit_code() == 1
        meta = folder / "skill_meta.json"
        meta.write_text(json.dumps({"cases": json.loads(meta.read_text())["cases"][:30]}))
        fewer = run(folder, ["any"], **settings).evaluation
    assert fewer.students[0].clears is None
    assert fewer.exit_code() == 1


def test_runs_that_were_begun_and_stopped_were_looks_from_their_beginning(
    skill: Make, run: Any, tmp_path: Path
) -> None:
    folder = skill(CASES)
    with Provider(_varied) as provider:
        settings: dict[str, Any] = {"base_url": provider.url, "repeats": None, "fresh": True}
        cut = run(folder, ["any"], max_calls=8, concurrency=1, **settings)
        ended = run(folder, ["any"], **settings)
        resumed = resume(cut.run, typed=typed_again(cut.run))
        resume(ended.run, typed=typed_again(ended.run))
    levels = {look.run: look.level for look in _looks(tmp_path)}
    assert levels[resumed.run] == 0.025, "the one that was begun first is the first look, whenever it ends"
    assert levels[ended.evaluation.run] == pytest.approx(0.0025)


def test_answers_with_the_skill_alone_are_a_look_and_cases_that_are_deleted_after_it_count(
    skill: Make, run: Any, tmp_path: Path
) -> None:
    """`eval --no-baseline`, delete what failed, `eval`: the plainest way to a lift that is not there."""

    def coin(asked: ReceivedRequest) -> Behaviour:
        heads = (int(asked.prompt[9:-1]) + asked.has_skill) % 2
        return Behaviour(text=f"{'yes' if heads else 'no'} {secrets.token_hex(4)}")

    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(24)])
    with Provider(coin) as provider:
        alone = run(folder, ["any"], base_url=provider.url, baseline=False, store=True)
        failed = {trial.case_id for trial in alone.trials if not trial.passed}
        meta = folder / "skill_meta.json"
        cases = json.loads(meta.read_text())["cases"]
        meta.write_text(json.dumps({"cases": [case for case in cases if case["id"] not in failed]}))
        (report,) = run(folder, ["any"], base_url=provider.url, store=True).evaluation.students
    assert report.lifts[0].mean == 1.0
    assert report.verdict == "undecided"
    assert [look.level for look in _looks(tmp_path)] == pytest.approx([0.025, 0.0025])


def test_practice_is_written_down_and_counts_where_its_cases_are_to_prove_something(
    skill: Make, run: Any, tmp_path: Path
) -> None:
    folder = skill(CASES)
    meta = folder / "skill_meta.json"
    cases = json.loads(meta.read_text())["cases"]
    meta.write_text(json.dumps({"cases": [{**case, "use": "learn"} for case in cases]}))
    with Provider(_varied) as provider:
        run(folder, ["any"], base_url=provider.url, baseline=False, practice=True)
        (practised,) = _looks(tmp_path)
        assert (practised.practice, practised.verdict, len(practised.keys)) == (True, None, len(CASES))
        proof = run(folder, ["any"], base_url=provider.url)
    assert any(note.startswith("2nd look at this skill") for note in proof.evaluation.notes)
    assert _looks(tmp_path)[-1].level < practised.level
