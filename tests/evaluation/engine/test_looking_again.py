"""Looks are counted: the same commands typed again, edited, or with fewer cases, at a loopback student."""

import json
import multiprocessing
import secrets
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_looks import LOOK
from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from typing_again import typed_again
from upskill.core.nouns.look import Look
from upskill.core.runs.look_ledger import LookLedger
from upskill.evaluation.resume import resume

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(12)]


def _helped(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text="yes" if asked.has_skill else "no")


def _varied(asked: ReceivedRequest) -> Behaviour:
    """The same grades in other words each time, as a student that samples gives."""
    return Behaviour(text=f"{'yes' if asked.has_skill else 'no'} {secrets.token_hex(4)}")


def _looks(tmp_path: Path) -> tuple[Look, ...]:
    return LookLedger(tmp_path / "cache" / "upskill" / "looks.jsonl").read()


def _is_told(notes: tuple[str, ...], what: str) -> bool:
    return any(what in note for note in notes)


def test_an_unchanged_skill_asks_nothing_and_comes_to_the_same_verdict(skill: Make, run: Any, tmp_path: Path) -> None:
    folder = skill(CASES)
    with Provider(_varied) as provider:
        first = run(folder, ["any"], base_url=provider.url, repeats=None, min_lift=0.1, store=True)
        asked = len(provider.requests)
        shutil.rmtree(tmp_path / "runs")
        again = run(folder, ["any"], base_url=provider.url, repeats=None, min_lift=0.1, store=True)
        assert len(provider.requests) == asked
    assert not list((again.run / "logs").glob("*.eval")), "the engine was not needed"
    (one,), (other,) = again.evaluation.students, first.evaluation.students
    assert (one.sentence, one.lifts, one.end, one.clears) == (other.sentence, other.lifts, other.end, other.clears)
    assert again.evaluation.exit_code() == first.evaluation.exit_code() == 0
    assert (again.evaluation.bought.calls, again.evaluation.bought.reused) == (0, 24)
    assert _is_told(again.evaluation.notes, "unchanged since 2")
    assert not _is_told(first.evaluation.notes, "unchanged")
    (look,) = _looks(tmp_path)
    assert look.level == 0.025, "it is the same look"


def test_a_verdict_in_the_ledger_is_believed_by_nobody_who_lacks_its_answers(
    skill: Make, run: Any, tmp_path: Path
) -> None:
    folder = skill(CASES)
    with Provider(_varied) as provider:
        run(folder, ["any"], base_url=provider.url, store=True)
        (tmp_path / "cache" / "upskill" / "trials.sqlite3").unlink()
        again = run(folder, ["any"], base_url=provider.url, store=True)
        assert len(provider.requests) == 48
    assert again.evaluation.bought.calls == 24
    assert [look.level for look in _looks(tmp_path)] == pytest.approx([0.025, 0.0025])


def test_a_gate_asks_again_after_a_day_on_which_the_server_was_ill(skill: Make, run: Any) -> None:
    folder, ill = skill(CASES), [True]

    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(status=500) if ill and int(asked.prompt[9:-1]) % 2 else _varied(asked)

    with Provider(behave) as provider:
        first = run(folder, ["any"], base_url=provider.url, ledger="looks.jsonl", max_retries=0)
        ill.clear()
        again = run(folder, ["any"], base_url=provider.url, ledger="looks.jsonl", max_retries=0)
    assert first.evaluation.students[0].sentence == "no verdict: 6 of 12 pairs were dropped because an answer errored"
    assert again.evaluation.students[0].verdict == "helps"


def test_only_the_student_that_is_new_is_asked(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["one"], base_url=provider.url, store=True)
        asked = len(provider.requests)
        both = run(folder, ["two", "one"], base_url=provider.url, store=True)
        assert len(provider.requests) == 2 * asked
    assert [report.student.name for report in both.evaluation.students] == ["two", "one"]
    assert {trial.student for trial in both.trials if trial.calls} == {"two"}
    assert _is_told(both.evaluation.notes, "one: unchanged since 2")


def test_a_case_file_that_was_only_reformatted_is_unchanged(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url, store=True)
        asked = len(provider.requests)
        meta = folder / "skill_meta.json"
        cases = json.loads(meta.read_text())["cases"]
        changed = [
            {"expected": case["expected"], "id": f"new-{n}", "input": case["input"]}
            for n, case in enumerate(reversed(cases))
        ]
        meta.write_text(json.dumps({"cases": changed}, indent=4))
        run(folder, ["any"], base_url=provider.url, store=True)
        assert len(provider.requests) == asked


def test_what_was_cut_short_is_asked_again(skill: Make, run: Any, tmp_path: Path) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url, max_calls=8, concurrency=1, store=True)
        assert _looks(tmp_path)[0].end == "cap reached"
        again = run(folder, ["any"], base_url=provider.url, store=True)
    assert again.evaluation.students[0].verdict == "helps"
    (look,) = _looks(tmp_path)
    assert (look.level, look.end) == (0.025, "plan finished"), "it continues the look, and is no second one"


def test_a_resumed_run_is_one_look_under_the_terms_it_was_begun_with(skill: Make, run: Any, tmp_path: Path) -> None:
    body = "Say so.\nAnd no more.\n"
    with Provider(_varied) as provider:
        run(skill(CASES, body=body), ["any"], base_url=provider.url)
        edited = skill(CASES, body=body + "Or less.\n", name="edited")
        cut = run(edited, ["any"], base_url=provider.url, max_calls=8, concurrency=1)
        resumed = resume(cut.run, typed=typed_again(cut.run))
    assert len(_looks(tmp_path)) == 2
    last = _looks(tmp_path)[1]
    assert last.level == pytest.approx(0.0025)
    assert last.verdict == resumed.students[0].verdict
    assert sum(len(case.pairs) for case in last.cases) > 4
    assert _is_told(resumed.notes, "2nd look at this skill with this model")


def test_more_repeats_and_fresh_answers_are_further_looks(skill: Make, run: Any, tmp_path: Path) -> None:
    folder = skill(CASES)
    with Provider(_varied) as provider:
        run(folder, ["any"], base_url=provider.url)
        fresh = run(folder, ["any"], base_url=provider.url, fresh=True)
        more = run(folder, ["any"], base_url=provider.url, repeats=2)
    assert fresh.evaluation.students[0].lifts[0].pairs == 12
    assert more.evaluation.students[0].lifts[0].pairs == 24
    assert _is_told(fresh.evaluation.notes, "2nd look at this skill with this model")
    assert [look.level for look in _looks(tmp_path)] == pytest.approx([0.025, 0.0025, 0.00225])


def test_an_edited_or_renamed_skill_is_a_further_version(skill: Make, run: Any, tmp_path: Path) -> None:
    body = "First do this.\nThen do that.\n"
    with Provider(lambda _: Behaviour(text="no")) as provider:
        run(skill(CASES, body=body), ["any"], base_url=provider.url)
        edited = run(skill(CASES, body=body + "At last, this.\n", name="renamed"), ["any"], base_url=provider.url)
        run(skill(CASES, body="Of other things.\nNot of those.\n", name="another"), ["any"], base_url=provider.url)
    assert _is_told(edited.evaluation.notes, "2nd look at this skill with this model")
    assert [look.level for look in _looks(tmp_path)] == pytest.approx([0.025, 0.0025, 0.025])


def test_deleting_the_worst_cases_does_not_make_a_skill_helpful(skill: Make, run: Any) -> None:
    """Eight cases are won and six lost; without the lost ones the rest would be a clear win."""
    lost = {f"Question {n}?" for n in range(8, 14)}

    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text="yes" if asked.has_skill != (asked.prompt in lost) else "no")

    cases = [(f"Question {n}?", {"contains": "yes"}) for n in range(14)]
    with Provider(behave) as provider:
        folder = skill(cases)
        assert run(folder, ["any"], base_url=provider.url).evaluation.students[0].verdict == "undecided"
        meta = folder / "skill_meta.json"
        meta.write_text(json.dumps({"cases": json.loads(meta.read_text())["cases"][:8]}))
        fewer = run(folder, ["any"], base_url=provider.url)
        report = fewer.evaluation.students[0]
        unknown = run(folder, ["any"], base_url=provider.url, ledger="new.jsonl").evaluation.students[0]
    assert report.verdict == "undecided"
    assert "not shown with the 6 removed or changed cases included" in report.sentence
    assert _is_told(fewer.evaluation.notes, "6 cases fewer than last time")
    assert unknown.verdict == "helps", "to a student that never saw the deleted cases this is a first look"


def test_scripted_students_have_looks_only_where_a_ledger_is_named(
    skill: Make, run: Any, script: Any, tmp_path: Path
) -> None:
    student = script({"replies": ["no"]})
    folder = skill(CASES)
    run(folder, [student])
    assert not _looks(tmp_path)
    run(folder, [student], ledger="ci/looks.jsonl")
    run(folder, [student], ledger="ci/looks.jsonl")
    looks = LookLedger(tmp_path / "ci" / "looks.jsonl").read()
    assert [look.level for look in looks] == pytest.approx([0.025, 0.0025]), "a script is asked anew each time"


def _append(path: Path, look: Look, name: str) -> None:
    for number in range(50):
        LookLedger(path).append(replace(look, id=f"{name}-{number}", sentence=name * 3_000))


def test_two_processes_append_at_once(tmp_path: Path) -> None:
    path = tmp_path / "looks.jsonl"
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_append, args=(path, LOOK, name)) for name in ("one", "two")]
    for process in both:
        process.start()
    for process in both:
        process.join()
    ledger = LookLedger(path)
    assert len(ledger.read()) == 100
    assert ledger.notes == ()


def test_checks_that_changed_after_the_answers_claim_nothing_until_both_arms_are_asked_again(
    skill: Make, run: Any
) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text="perhaps" if asked.has_skill else "no")

    folder = skill(CASES)
    with Provider(behave) as provider:
        first = run(folder, ["any"], base_url=provider.url, repeats=1, store=True)
        meta = folder / "skill_meta.json"
        meta.write_text(meta.read_text().replace('"yes"', '"perhaps"'))
        asked = len(provider.requests)
        loosened = run(folder, ["any"], base_url=provider.url, repeats=1, store=True)
        assert len(provider.requests) == asked, "the same answers, by other checks"
        fresh = run(folder, ["any"], base_url=provider.url, repeats=1, fresh=True)
    assert first.evaluation.students[0].verdict != "helps"
    (report,) = loosened.evaluation.students
    assert (report.verdict, report.claim, report.lifts[0].mean) == ("undecided", None, 1)
    assert _is_told(loosened.evaluation.notes, "the checks of 12 cases changed after these answers were seen")
    assert fresh.evaluation.students[0].verdict == "helps"
    assert not _is_told(fresh.evaluation.notes, "changed after")
