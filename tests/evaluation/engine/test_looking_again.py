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
from upskill.report.json_report import evaluation_json

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


def test_an_unchanged_skill_asks_nothing_and_has_its_recorded_verdict(skill: Make, run: Any, tmp_path: Path) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        first = run(folder, ["any"], base_url=provider.url, repeats=None, min_lift=0.1, ledger="looks.jsonl")
        asked = len(provider.requests)
        shutil.rmtree(tmp_path / "runs")
        again = run(folder, ["any"], base_url=provider.url, repeats=None, min_lift=0.1, ledger="looks.jsonl")
        assert len(provider.requests) == asked
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "cache").exists()
    assert evaluation_json(again.evaluation)["students"] == evaluation_json(first.evaluation)["students"]
    assert again.evaluation.exit_code() == first.evaluation.exit_code() == 0
    assert again.evaluation.bought.calls == 0
    assert _is_told(again.evaluation.notes, "unchanged since 2")
    assert not _is_told(first.evaluation.notes, "unchanged")
    assert set(first.evaluation.notes) <= set(again.evaluation.notes)
    assert _is_told(again.evaluation.notes, "cannot rule out that the skill breaks")


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


def test_the_cases_of_earlier_looks_count_among_those_that_were_compared(skill: Make, run: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "yes"}) for n in range(24)])
    with Provider(_varied) as provider:
        run(folder, ["any"], base_url=provider.url)
        again = run(folder, ["any"], base_url=provider.url, repeats=None, fresh=True)
    assert again.evaluation.bought.calls < 2 * 20, "it stops before it has compared 20 cases itself"
    assert _is_told(again.evaluation.notes, "24 earlier pairs count too")
    assert not _is_told(again.evaluation.notes, "cannot exclude")


def test_only_the_student_that_is_new_is_asked(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["one"], base_url=provider.url)
        asked = len(provider.requests)
        both = run(folder, ["two", "one"], base_url=provider.url)
        assert len(provider.requests) == 2 * asked
    assert [report.student.name for report in both.evaluation.students] == ["two", "one"]
    assert {trial.student for trial in both.trials} == {"two"}
    assert _is_told(both.evaluation.notes, "one: unchanged since 2")
    assert {report.holds_among for report in both.evaluation.students} == {None}, "never tested among two"


def test_a_case_file_that_was_only_reformatted_is_unchanged(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url)
        asked = len(provider.requests)
        meta = folder / "skill_meta.json"
        cases = json.loads(meta.read_text())["cases"]
        changed = [
            {"expected": case["expected"], "id": f"new-{n}", "input": " " + case["input"].replace(" ", "\n\n") + " \n"}
            for n, case in enumerate(reversed(cases))
        ]
        meta.write_text(json.dumps({"cases": changed}, indent=4))
        run(folder, ["any"], base_url=provider.url)
        assert len(provider.requests) == asked


def test_what_was_cut_short_is_asked_again(skill: Make, run: Any, tmp_path: Path) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url, max_calls=8, concurrency=1, store=True)
        assert _looks(tmp_path)[0].end == "cap reached"
        again = run(folder, ["any"], base_url=provider.url, store=True)
    assert again.evaluation.students[0].verdict == "helps"
    assert _looks(tmp_path)[1].level == 0.025, "it continues the look, and is no second one"


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
    assert _is_told(resumed.notes, "2nd look at this skill with this model, after 1 at another version")


def test_more_repeats_and_fresh_answers_are_pooled_with_the_earlier_ones(skill: Make, run: Any, tmp_path: Path) -> None:
    folder = skill(CASES)
    with Provider(_varied) as provider:
        run(folder, ["any"], base_url=provider.url)
        fresh = run(folder, ["any"], base_url=provider.url, fresh=True)
        more = run(folder, ["any"], base_url=provider.url, repeats=2)
    assert fresh.evaluation.students[0].lifts[0].pairs == 24
    assert fresh.evaluation.students[0].earlier_pairs == 12
    assert more.evaluation.students[0].lifts[0].pairs == 48
    assert _is_told(
        fresh.evaluation.notes,
        "2nd look at this skill with this model, after 1 on these cases; threshold 0.25% instead of 2.5%",
    )
    assert [look.level for look in _looks(tmp_path)] == pytest.approx([0.025, 0.0025, 0.00225])


def test_answers_from_the_store_are_not_pooled_with_themselves(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_varied) as provider:
        run(folder, ["any"], base_url=provider.url, store=True)
        more = run(folder, ["any"], base_url=provider.url, repeats=2, store=True)
    assert more.evaluation.bought.reused == 24
    assert more.evaluation.students[0].lifts[0].pairs == 24


def test_copies_of_earlier_answers_are_not_pooled(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url)
        for repeats in (1, None):
            again = run(folder, ["any"], base_url=provider.url, repeats=repeats, fresh=True)
            assert again.evaluation.students[0].lifts[0].pairs == 12
            assert again.evaluation.students[0].sentence.endswith("copies of earlier ones and count once")


def test_an_edited_or_renamed_skill_is_a_further_version(skill: Make, run: Any, tmp_path: Path) -> None:
    body = "First do this.\nThen do that.\n"
    with Provider(lambda _: Behaviour(text="no")) as provider:
        run(skill(CASES, body=body), ["any"], base_url=provider.url)
        edited = run(skill(CASES, body=body + "At last, this.\n", name="renamed"), ["any"], base_url=provider.url)
        run(skill(CASES, body="Of other things.\nNot of those.\n", name="another"), ["any"], base_url=provider.url)
    assert _is_told(edited.evaluation.notes, "after 1 at another version; threshold 0.25% instead of 2.5%")
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
    assert report.lifts[0].pairs == 14, "the removed cases count on"
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
    assert len(LookLedger(tmp_path / "ci" / "looks.jsonl").read()) == 1
    again = run(folder, [student], ledger="ci/looks.jsonl")
    assert _is_told(again.evaluation.notes, "no model was asked")


def _append(path: Path, look: Look, name: str) -> None:
    for number in range(50):
        LookLedger(path).append(replace(look, run=f"runs/{name}-{number}", sentence=name * 3_000))


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
