"""Buying nothing twice, through the real engine."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from tool_students import is_first, tool_call
from upskill.core.runs.sqlite_file import COLUMNS, row_of, trial_of
from upskill.core.runs.trial_store import default_store_path

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(8)]


def _helped(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text=f"{'yes' if asked.has_skill else 'no'} {asked.number}")


def _baselines(provider: Provider) -> int:
    return sum(not asked.has_skill for asked in provider.requests)


def test_five_versions_of_a_skill_buy_one_baseline(skill: Make, run: Any) -> None:
    with Provider(_helped) as provider:
        for version in range(5):
            folder = skill(CASES, body=f"Version {version}.\n", name=f"v{version}")
            ran = run(folder, ["any"], base_url=provider.url, repeats=2, store=True)
            assert ran.evaluation.students[0].verdict == "helps"
            assert ran.evaluation.bought.reused == (0 if version == 0 else 16)
        assert _baselines(provider) == 16
        assert len(provider.requests) == 16 + 5 * 16, "160 in five separate evaluations"


@pytest.mark.parametrize(("weights", "baselines"), [("weights of any", 16), (None, 32)])
def test_a_later_version_counts_the_baseline_of_another_day_only_where_the_server_says_what_it_serves(
    skill: Make, run: Any, weights: str | None, baselines: int
) -> None:
    with Provider(_helped, weights=weights) as provider:
        options: dict[str, Any] = {"base_url": provider.url, "repeats": 2, "store": True}
        run(skill(CASES, body="One.\n", name="one"), ["any"], **options)
        _grow_older(timedelta(days=2))
        run(skill(CASES, body="Two.\n", name="two"), ["any"], **options)
        assert _baselines(provider) == baselines
        again = run(skill(CASES, body="Three.\n", name="three"), ["any"], **options)
        assert _baselines(provider) == baselines, "within the hour a baseline is bought once"
        assert again.evaluation.bought.reused == 16


def test_pairs_of_another_day_count_where_both_answers_are_of_it(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        options: dict[str, Any] = {"base_url": provider.url, "store": True}
        run(folder, ["any"], repeats=1, **options)
        _grow_older(timedelta(days=2))
        more = run(folder, ["any"], repeats=3, **options)
    assert (more.evaluation.bought.reused, more.evaluation.bought.calls) == (16, 32)


def _grow_older(age: timedelta) -> None:
    """The answers in the store, as if they had been stored so long ago."""
    with closing(sqlite3.connect(default_store_path())) as file, file:
        for row in file.execute(f"SELECT {COLUMNS} FROM trials").fetchall():
            stored = trial_of(row)
            assert stored is not None
            older = row_of(stored.trial, fingerprint=row[1], stored_at=row[2] - age // timedelta(microseconds=1))
            assert older is not None
            file.execute(f"UPDATE trials SET ({COLUMNS}) = (?, ?, ?, ?, ?) WHERE id = ?", (*older, row[0]))


def test_the_same_evaluation_again_buys_nothing_and_says_so(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        first = run(folder, ["any"], base_url=provider.url, repeats=None, store=True)
        asked = len(provider.requests)
        again = run(folder, ["any"], base_url=provider.url, repeats=None, store=True, ledger="another.jsonl")
        assert len(provider.requests) == asked
        assert again.evaluation.students[0].sentence == first.evaluation.students[0].sentence
        assert again.evaluation.bought.calls == 0
        assert again.evaluation.bought.reused == asked
        assert all(trial.stored_at for trial in again.trials)
        run(folder, ["any"], base_url=provider.url, repeats=None, store=False, ledger="a-third.jsonl")
        assert len(provider.requests) == 2 * asked, "fresh buys anew"


def test_a_stored_trial_never_counts_as_a_new_repeat(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url, repeats=1, store=True)
        more = run(folder, ["any"], base_url=provider.url, repeats=3, store=True)
    assert more.evaluation.bought.reused == 16
    assert more.evaluation.bought.calls == 32


def test_an_answer_of_this_run_is_not_called_reused_when_its_pair_is_run_again(skill: Make, run: Any) -> None:
    lost: set[str] = set()

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.has_skill and len(lost) < 4 and asked.prompt not in lost:
            lost.add(asked.prompt)
            return Behaviour(fault="reset")
        return _helped(asked)

    with Provider(behave) as provider:
        ran = run(skill(CASES), ["any"], base_url=provider.url, repeats=1, store=True, max_retries=0)
    assert ran.evaluation.bought.calls == 16 + 4
    assert ran.evaluation.bought.reused == 0


def test_a_stored_answer_is_graded_with_the_checks_as_they_are_now(skill: Make, run: Any) -> None:
    with Provider(_helped) as provider:
        run(skill(CASES), ["any"], base_url=provider.url, repeats=1, store=True)
        changed = skill([(prompt, {"contains": "no"}) for prompt, _ in CASES], name="changed")
        ran = run(changed, ["any"], base_url=provider.url, repeats=1, store=True)
    assert ran.evaluation.bought.reused == 8
    rates = {arm.arm: arm.pass_rate for arm in ran.evaluation.students[0].arms}
    assert rates["baseline"] == 1.0


def test_a_trial_that_is_too_old_is_not_used(skill: Make, run: Any) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url, repeats=1, store=True)
        again = run(folder, ["any"], base_url=provider.url, repeats=1, store=True, store_days=0.0)
    assert again.evaluation.bought.reused == 0


def test_a_version_that_was_the_newest_is_the_older_one_of_the_next_comparison(skill: Make, run: Any) -> None:
    old, new = skill(CASES, body="Old.\n", name="old"), skill(CASES, body="New.\n", name="new")
    with Provider(lambda asked: Behaviour(text="yes" if "New." in asked.system else "no")) as provider:
        run(old, ["any"], base_url=provider.url, repeats=1, store=True)
        ran = run(new, ["any"], base_url=provider.url, repeats=1, store=True, previous=old)
    assert ran.evaluation.bought.reused == 8
    report = ran.evaluation.students[0]
    assert {arm.arm: (arm.trials, arm.pass_rate) for arm in report.arms} == {
        "previous": (8, 0.0),
        "with_skill": (8, 1.0),
    }
    assert report.lifts[0].pairs == 8


def test_a_stored_trial_with_tools_brings_its_files_and_is_graded_on_them(skill: Make, run: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        if is_first(asked):
            return tool_call(
                asked, "shell", command="cat /skills/*/SKILL.md; echo 7413 > port.txt; printf '\\377' > raw"
            )
        return Behaviour(text="done")

    def checked(word: str) -> list[tuple[str, Any]]:
        return [("Write.", {"file": {"path": "port.txt", "contains": word}, "command": f"grep -q {word} port.txt"})]

    first, second = skill(checked("7413")), skill(checked("80"), name="second")
    with Provider(behave) as provider:
        bought = run(first, ["any"], base_url=provider.url, store=True)
        again = run(first, ["any"], base_url=provider.url, store=True, ledger="another.jsonl")
        changed = run(second, ["any"], base_url=provider.url, store=True)
    assert again.evaluation.bought.calls == 0
    assert again.evaluation.bought.reused == 3
    by_arm = {trial.arm: trial for trial in again.trials}
    for trial in bought.trials:
        assert by_arm[trial.arm].files == trial.files == {"port.txt": b"7413\n", "raw": b"\xff"}
        assert by_arm[trial.arm].skill_use == trial.skill_use
        assert by_arm[trial.arm].outcome.passed
    assert changed.evaluation.bought.reused == 1, "a baseline serves every skill"
    assert not any(trial.outcome.passed for trial in changed.trials)
