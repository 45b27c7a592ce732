"""Buying nothing twice, through the real engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from provider import Asked, Behaviour, Provider

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(8)]


def _helped(asked: Asked) -> Behaviour:
    return Behaviour(text="yes" if asked.has_skill else "no")


def _baselines(provider: Provider) -> int:
    return sum(not asked.has_skill for asked in provider.requests)


def test_five_versions_of_a_skill_buy_one_baseline(skill: Callable[..., Path], run: Callable[..., Any]) -> None:
    with Provider(_helped) as provider:
        for version in range(5):
            folder = skill(CASES, body=f"Version {version}.\n", name=f"v{version}")
            ran = run(folder, ["any"], base_url=provider.url, repeats=2, store=True)
            assert ran.evaluation.students[0].verdict == "helps"
            assert ran.evaluation.bought.reused == (0 if version == 0 else 16)
        assert _baselines(provider) == 16
        assert len(provider.requests) == 16 + 5 * 16, "160 in five separate evaluations"


def test_the_same_evaluation_again_buys_nothing_and_says_so(
    skill: Callable[..., Path], run: Callable[..., Any]
) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        first = run(folder, ["any"], base_url=provider.url, repeats=None, store=True)
        asked = len(provider.requests)
        again = run(folder, ["any"], base_url=provider.url, repeats=None, store=True)
        assert len(provider.requests) == asked
        assert again.evaluation.students[0].sentence == first.evaluation.students[0].sentence
        assert again.evaluation.bought.calls == 0
        assert again.evaluation.bought.reused == asked
        assert all(trial.stored_at for trial in again.trials)
        run(folder, ["any"], base_url=provider.url, repeats=None, store=False)
        assert len(provider.requests) == 2 * asked, "fresh buys anew"


def test_a_stored_trial_never_counts_as_a_new_repeat(skill: Callable[..., Path], run: Callable[..., Any]) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url, repeats=1, store=True)
        more = run(folder, ["any"], base_url=provider.url, repeats=3, store=True)
    assert more.evaluation.bought.reused == 16
    assert more.evaluation.bought.calls == 32


def test_a_stored_answer_is_graded_with_the_checks_as_they_are_now(
    skill: Callable[..., Path], run: Callable[..., Any]
) -> None:
    with Provider(_helped) as provider:
        run(skill(CASES), ["any"], base_url=provider.url, repeats=1, store=True)
        changed = skill([(prompt, {"contains": "no"}) for prompt, _ in CASES], name="changed")
        ran = run(changed, ["any"], base_url=provider.url, repeats=1, store=True)
    assert ran.evaluation.bought.reused == 8
    rates = {arm.arm: arm.pass_rate for arm in ran.evaluation.students[0].arms}
    assert rates["baseline"] == 1.0


def test_a_trial_that_is_too_old_is_not_used(skill: Callable[..., Path], run: Callable[..., Any]) -> None:
    folder = skill(CASES)
    with Provider(_helped) as provider:
        run(folder, ["any"], base_url=provider.url, repeats=1, store=True)
        again = run(folder, ["any"], base_url=provider.url, repeats=1, store=True, store_days=0.0)
    assert again.evaluation.bought.reused == 0
