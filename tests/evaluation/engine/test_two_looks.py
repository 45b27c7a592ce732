"""The default design: every case once, and once more only where that decides nothing, whatever order answers have."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from on_engine import Make
from provider import Behaviour, ReceivedRequest
from upskill.core.nouns import Errored
from upskill.evaluation.resume import resume

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(20)]


def _student(lift: float, *, seed: int = 0, latency: float = 0.0) -> Callable[[ReceivedRequest], Behaviour]:
    """Fails without the skill; with it, passes at this rate, drawn per prompt and number of times asked."""
    asked_before: dict[str, int] = {}

    def behave(asked: ReceivedRequest) -> Behaviour:
        times = asked_before[asked.prompt] = asked_before.get(asked.prompt, 0) + asked.has_skill
        draw = random.Random(f"{seed}/{asked.prompt}/{times}")
        passes = asked.has_skill and draw.random() < lift
        return Behaviour(text=f"{'yes' if passes else 'no'} {times}", latency=latency * random.random())

    return behave


def test_a_clear_lift_is_found_by_asking_every_case_once(skill: Make, run_at: Any) -> None:
    ran, provider = run_at(skill(CASES), _student(1.0), repeats=None)
    (report,) = ran.evaluation.students
    assert (report.verdict, report.claim, report.end) == ("helps", "new cases", "decided")
    assert report.lifts[0].confidence == pytest.approx(0.975)
    assert len(provider.requests) == len(ran.trials) == 40, "120 were planned"


def test_no_lift_is_given_up_after_the_first_look(skill: Make, run_at: Any) -> None:
    ran, provider = run_at(skill(CASES), _student(0.0), repeats=None)
    (report,) = ran.evaluation.students
    assert (report.verdict, report.end) == ("undecided", "futile")
    assert len(provider.requests) == 40


def test_an_open_first_look_is_followed_by_one_more(skill: Make, run_at: Any) -> None:
    ran, provider = run_at(skill(CASES), _student(0.15, seed=3), repeats=None)
    (report,) = ran.evaluation.students
    assert (report.end, report.lifts[0].pairs, len(provider.requests)) == ("plan finished", 60, 120)
    assert report.lifts[0].confidence == pytest.approx(0.975)


def test_grades_that_repeat_end_it_with_the_first_look_although_the_texts_differ(skill: Make, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        knows = asked.has_skill and int(asked.prompt[9:-1]) < 3
        return Behaviour(text=f"{'yes' if knows else 'no'} {asked.number}")

    ran, provider = run_at(skill(CASES), behave, repeats=None)
    (report,) = ran.evaluation.students
    assert (report.end, report.lifts[0].pairs, len(provider.requests)) == ("copies", 20, 56)
    assert report.lifts[0].confidence == pytest.approx(0.95)
    assert any("answers repeat themselves" in note for note in ran.evaluation.notes)


def test_at_temperature_zero_every_case_is_asked_once(skill: Make, run_at: Any) -> None:
    ran, provider = run_at(skill(CASES), _student(0.15, seed=3), repeats=None, temperature=0.0)
    (report,) = ran.evaluation.students
    assert (ran.evaluation.design, report.end, len(provider.requests)) == ("fixed", "plan finished", 40)
    assert report.lifts[0].confidence == pytest.approx(0.95)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_verdict_does_not_depend_on_the_order_in_which_answers_arrive(
    concurrency: int, skill: Make, run_at: Any
) -> None:
    ran, _ = run_at(skill(CASES), _student(0.6, latency=0.05), repeats=None, concurrency=concurrency)
    report = ran.evaluation.students[0]
    assert (report.verdict, report.sentence) == _REFERENCE.setdefault("first", (report.verdict, report.sentence))


_REFERENCE: dict[str, tuple[Any, Any]] = {}


def test_an_errored_pair_is_bought_again_at_the_end_in_both_arms(skill: Make, run_at: Any) -> None:
    failed: list[str] = []

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.prompt == "Question 3?" and asked.has_skill and not failed:
            failed.append(asked.prompt)
            return Behaviour(status=400)
        return Behaviour(text=f"{'yes' if asked.has_skill else 'no'} {asked.number}")

    ran, provider = run_at(skill(CASES[:6]), behave, repeats=2)
    assert [trial.case_id for trial in ran.trials if isinstance(trial.outcome, Errored)] == ["c3"]
    assert ran.evaluation.students[0].lifts[0].pairs == 12
    assert ran.evaluation.students[0].lifts[0].dropped == 1
    assert len(provider.requests) == 26
    assert {asked.prompt for asked in provider.requests[-2:]} == {"Question 3?"}


def test_a_pair_that_always_errors_is_not_bought_for_ever(skill: Make, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        broken = asked.prompt == "Question 3?"
        return Behaviour(status=400) if broken else Behaviour(text="yes" if asked.has_skill else "no")

    _, provider = run_at(skill(CASES[:6]), behave, repeats=1)
    assert sum(asked.prompt == "Question 3?" for asked in provider.requests) == 6


def test_a_lift_that_is_asked_for_changes_what_is_required_and_not_what_is_asked(skill: Make, run_at: Any) -> None:
    plain, first = run_at(skill(CASES), _student(0.7), repeats=None)
    asked, second = run_at(skill(CASES, name="again"), _student(0.7), repeats=None, min_lift=0.3, ledger="l.jsonl")
    assert plain.evaluation.students[0].verdict == asked.evaluation.students[0].verdict == "helps"
    assert asked.evaluation.students[0].clears
    assert len(second.requests) == len(first.requests)
    more, _ = run_at(skill(CASES, name="more"), _student(0.3), repeats=None, min_lift=0.9, ledger="m.jsonl")
    assert (more.evaluation.students[0].clears, more.evaluation.exit_code()) == (False, 1)


def test_a_run_that_was_interrupted_goes_on_and_buys_nothing_twice(skill: Make, run: Any, tmp_path: Path) -> None:
    script = tmp_path / "student.yaml"
    replies = "[yes, {text: never, weight: 0.5}]".replace("yes", "'yes'")
    script.write_text(f"seed: 2\nrules:\n- arm: with_skill\n  replies: {replies}\n- replies: [never]\n")
    whole = run(skill(CASES), [f"scripted/{script}"], repeats=None)
    lines = (whole.run / "trials.jsonl").read_text().splitlines(keepends=True)
    for cut in (0, 1, 5, len(lines) // 2, len(lines)):
        (whole.run / "trials.jsonl").write_text("".join(lines[:cut]))
        again = resume(whole.run)
        assert again.students == whole.evaluation.students
        kept = (whole.run / "trials.jsonl").read_text().splitlines()
        assert len(kept) == len(lines), "nothing lost, nothing doubled"


def test_a_cap_on_calls_holds_and_what_was_run_is_judged(skill: Make, run_at: Any) -> None:
    ran, provider = run_at(skill(CASES), _student(0.5), repeats=3, max_calls=41, concurrency=8)
    report = ran.evaluation.students[0]
    assert len(provider.requests) == ran.evaluation.bought.calls == 41
    assert report.verdict in ("helps", "undecided")
    assert "the cap of 41 calls" in ran.evaluation.notes[-1]
    assert report.lifts[0].dropped == 0, "a pair that the cap called off was not lost to an error"


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_plan_that_ends_exactly_at_the_cap_was_not_stopped_by_it(skill: Make, run_at: Any, concurrency: int) -> None:
    whole, _ = run_at(skill(CASES), _student(0.5), repeats=1, max_calls=2 * len(CASES), concurrency=concurrency)
    short, _ = run_at(
        skill(CASES, name="short"), _student(0.5), repeats=1, max_calls=2 * len(CASES) - 1, concurrency=concurrency
    )
    assert whole.evaluation.bought.calls == 2 * len(CASES)
    assert not any("cap" in note for note in whole.evaluation.notes)
    assert any("the cap of" in note for note in short.evaluation.notes)


def test_a_turn_that_the_cap_leaves_no_room_for_is_noted(skill: Make, run_at: Any) -> None:
    ran, _ = run_at(skill(CASES), _student(0.5), repeats=1, max_calls=2 * len(CASES) - 2, concurrency=1)
    assert any(f"the cap of {2 * len(CASES) - 2} calls" in note for note in ran.evaluation.notes)
