"""Lost answers through the command: a student whose failing answers are lost more often never becomes a `helps`."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from forking import Done
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill
from upskill.core.models import CallPolicy
from upskill.core.nouns.text import points

CASES = 12
HASTY = {
    "UPSKILL_ATTEMPT_TIMEOUT_SECONDS": "4",  # shorter ones run out on a busy machine, in either arm
    "UPSKILL_MAX_RETRY_WAIT_SECONDS": "1",
    "UPSKILL_CONCURRENCY": "24",
}


@pytest.fixture
def even_skill(here: Path) -> Path:
    folder = here / "skills" / "even"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: even\ndescription: Says yes.\n---\nSay yes.\n")
    cases = [{"id": f"c{n}", "input": f"Question {n}?", "expected": {"contains": "yes"}} for n in range(CASES)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return folder


class SlowToFail:
    """Fails one case in `every` without the skill. With it, the first answers there fail too, and never arrive."""

    def __init__(self, *, fault: str, lost: int, every: int = 2) -> None:
        self._fault = fault
        self._every = every
        self.lost = lost
        self._asked: Counter[str] = Counter()

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        if (int(asked.prompt.split()[1].rstrip("?")) + 1) % self._every:
            return Behaviour(text="yes")
        if not asked.has_skill:
            return Behaviour(text="no")
        self._asked[asked.prompt] += 1
        return Behaviour(fault=self._fault) if self._asked[asked.prompt] <= self.lost else Behaviour(text="yes")


def _report(done: Done, *, code: int = 3) -> tuple[Any, list[int]]:
    """The student of a result that is invalid, and how many answers each arm lost."""
    assert done.returncode == code, done.stderr
    (report,) = json.loads(done.stdout)["students"]
    assert report["verdict"] == "invalid", report["sentence"]
    return report, [report["arms"][arm]["lost"] for arm in ("baseline", "with_skill")]


@pytest.mark.parametrize("runs", ["auto", "1"])
def test_failing_answers_that_time_out_and_are_retried_until_fast_are_no_lift(
    upskill: Upskill, even_skill: Path, runs: str
) -> None:
    words = ("eval", str(even_skill), "-m", "any", "--runs", runs, "--base-url")
    with Provider(SlowToFail(fault="stall", lost=1)) as provider:
        done = upskill(*words, provider.url, "--json", **HASTY)
    report, (lost_in_baseline, lost_with_skill) = _report(done)
    assert lost_in_baseline == 0
    assert 0 < lost_with_skill <= CASES // 2, "each is lost once, then answered"
    assert f"{lost_with_skill} answers were lost with the skill, 0 without the skill" in report["sentence"]
    assert report["arms"]["with_skill"]["pass_rate"] == 1.0, "before they were counted, this helped"


def test_an_invalid_run_stays_invalid_when_it_is_resumed(upskill: Upskill, even_skill: Path) -> None:
    variables = {**HASTY, "UPSKILL_MAX_RETRIES": "0"}
    student = SlowToFail(fault="reset", lost=3)
    with Provider(student) as provider:
        words = ("eval", str(even_skill), "-m", "any", "--base-url", provider.url, "--fresh", "--json")
        first, lost = _report(upskill(*words, **variables))
        assert first["lifts"][0]["dropped"]
        student.lost = 0
        asked = len(provider.requests)
        run = json.loads(upskill("runs", "--json").stdout)["runs"][0]["folder"]
        again, lost_again = _report(upskill("eval", "--resume", run, "--base-url", provider.url, "--json", **variables))
        assert len(provider.requests) > asked, "what errored was run again"
        assert again["arms"]["with_skill"]["pass_rate"] == 1.0
    assert lost_again == lost
    assert f"{lost[1]} answers were lost with the skill, 0 without the skill" in again["sentence"]
    regraded, lost_regraded = _report(upskill("regrade", run, "--json"), code=0)
    assert (lost_regraded, regraded["sentence"]) == (lost, again["sentence"])


def test_an_invalid_design_typed_again_stays_invalid_and_says_why_each_time(upskill: Upskill, even_skill: Path) -> None:
    # Patient: on a busy machine an attempt that timed out would be lost as well. Three cases, tried three times each,
    # fail less often than it takes for the endpoint to count as down, in whatever order their answers come.
    variables = {**HASTY, "UPSKILL_MAX_RETRIES": "0", "UPSKILL_ATTEMPT_TIMEOUT_SECONDS": "60"}
    every, tries = 4, 3
    failures = CASES // every * tries
    assert failures < CallPolicy().failures_until_down
    with Provider(SlowToFail(fault="cut", lost=tries, every=every)) as provider:
        words = ("eval", str(even_skill), "-m", "any", "--base-url", provider.url, "--runs", "1")
        _, lost = _report(upskill(*words, "--json", **variables))
        assert lost == [0, failures]
        for _ in range(2):
            asked = len(provider.requests)
            done = upskill(*words, **variables)
            assert done.returncode == 3
            assert f"lost answers: 0 without, {lost[1]} with the skill" in done.stdout.splitlines()
            assert f"answers were lost: 0 without, {lost[1]} with the skill" in done.stdout
        assert len(provider.requests) == asked, "all of it is in the store by now"
        fresh = upskill(*words, "--fresh", "--json", **variables)
        assert json.loads(fresh.stdout)["students"][0]["verdict"] != "invalid", "none of the new draws was lost"


class Crashes:
    """Knows the first cases with the skill only. The first answers to some cases are cut, in these arms."""

    def __init__(self, *, known_without: int, cut: int, arms: tuple[bool, ...]) -> None:
        self._known_without, self._cut, self._arms = known_without, cut, arms
        self._asked: Counter[tuple[str, bool]] = Counter()

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        number, key = int(asked.prompt.split()[1].rstrip("?")), (asked.prompt, asked.has_skill)
        self._asked[key] += 1
        if number < self._cut and asked.has_skill in self._arms and self._asked[key] == 1:
            return Behaviour(fault="cut")
        return Behaviour(text="yes" if asked.has_skill or number >= self._known_without else "no")


def test_an_answer_that_both_arms_lost_and_gave_when_asked_again_is_no_loss(upskill: Upskill, even_skill: Path) -> None:
    words = ("eval", str(even_skill), "-m", "any", "--runs", "1", "--base-url")
    with Provider(Crashes(known_without=8, cut=3, arms=(True, False))) as provider:
        done = upskill(*words, provider.url, "--json", **HASTY)
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)["students"]
    assert [report["arms"][arm]["lost"] for arm in ("baseline", "with_skill")] == [3, 3], "they are still counted"
    assert report["verdict"] == "helps", report["sentence"]
    assert report["lifts"][0]["supposes"] is None


def test_where_losses_decide_the_first_line_says_so_with_the_interval_that_decided(
    upskill: Upskill, even_skill: Path
) -> None:
    cases = [{"id": f"c{n}", "input": f"Question {n}?", "expected": {"contains": "yes"}} for n in range(20)]
    (even_skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    words = ("eval", str(even_skill), "-m", "any", "--runs", "1", "--base-url")
    with Provider(Crashes(known_without=6, cut=3, arms=(True,))) as provider:
        done = upskill(*words, provider.url, **HASTY)
        again = json.loads(upskill(*words, provider.url, "--json", **HASTY).stdout)
    (report,) = again["students"]
    low, high = report["lifts"][0]["interval"]
    assert low < 0 < high
    ends = f"{points(low)} to {points(high)}"
    assert done.stdout.splitlines()[0] == (
        "Undecided because of lost answers: any goes from 70% to 100% of 20 cases, "
        f"+30 points (95% CI {ends} if the 3 lost answers with the skill had failed)."
    )
    assert f"+30 ({ends})" in done.stdout.splitlines()[1]
