"""The fault matrix, rows 1 to 7 and 15: a sick provider on loopback, and what must not come of it.

Times are shortened where the arithmetic is the same; `benchmarks/results/faults.md` has the figures.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calling import ask, endpoint_at, faults
from forking import run_program
from malformed import malformed_bodies
from on_engine import Make
from provider import Behave, Behaviour, Provider, ReceivedRequest, failing_evenly
from upskill.core.models import CallPolicy, MeteredClient
from upskill.core.models.retrying import honest_retry_after, least_patience, wait_after_fault, wait_after_refusal
from upskill.core.nouns import Errored, Scored

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]
CASES = 40
TRIALS = 2 * CASES
MALFORMED = 200


def _cases(count: int = CASES) -> list[tuple[str, dict[str, str]]]:
    return [(f"Question {number}?", {"contains": "7413"}) for number in range(count)]


def _number(asked: ReceivedRequest) -> int:
    return int("".join(filter(str.isdigit, asked.prompt)))


# Row 1


def test_silence_ends_at_the_deadline_and_is_errored_never_failed(skill: Make, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(fault="stall") if _number(asked) % 10 == 0 else Behaviour(text="7413")

    hasty = {"attempt_timeout_seconds": 2, "max_retries": 1, "max_retry_wait_seconds": 1}
    ran, provider = run_at(skill(_cases()), behave, concurrency=TRIALS, **hasty)
    assert time.monotonic() - provider.requests[0].at < 2 * 2 + 1 + 5
    assert len({(trial.case_id, trial.arm) for trial in ran.trials}) == TRIALS
    for trial in ran.trials:
        if int(trial.case_id[1:]) % 10 == 0:
            assert isinstance(trial.outcome, Errored)
            assert trial.outcome.fault == "timeout"
            assert 1 <= trial.calls <= 2  # so many failures in a row look like an outage: then nothing is sent again
        else:
            assert isinstance(trial.outcome, Scored)
            assert trial.outcome.passed
    (report,) = ran.evaluation.students
    assert all(4 <= arm.errored <= 12 for arm in report.arms), "put at most three times"
    assert [arm.pass_rate for arm in report.arms] == [1.0, 1.0]
    assert "went down" not in report.sentence, "everything was put once, and most of it was answered"


# Row 2


def test_a_slow_drip_and_an_endless_keep_alive_are_cut_at_the_wall_deadline() -> None:
    sick = {"Question 3?": "drip", "Question 13?": "keep-alive", "Question 23?": "drip", "Question 33?": "keep-alive"}
    client = MeteredClient(policy=CallPolicy(attempt_seconds=2.0, max_retries=0, concurrency=32))
    with Provider(lambda asked: Behaviour(text="7413", fault=sick.get(asked.prompt))) as provider:
        ask(MeteredClient(), endpoint_at(provider.url), ["warm up"])  # the first call of a process builds its client
        called = ask(client, endpoint_at(provider.url), [prompt for prompt, _ in _cases()])
    cut = [one for one in called if one.prompt in sick]
    assert [one.bill.fault for one in cut] == ["timeout"] * 4
    came = {asked.prompt: asked.at for asked in provider.requests}
    assert [one.ended - came[one.prompt] for one in cut] == pytest.approx([2.0] * 4, abs=0.5)
    assert faults([one for one in called if one.prompt not in sick]) == []


def test_the_deadline_of_a_call_cuts_its_last_attempt_too() -> None:
    client = MeteredClient(policy=CallPolicy(attempt_seconds=1.5, call_seconds=5, max_retries=50, max_wait_seconds=0.5))
    with Provider(lambda _: Behaviour(fault="keep-alive")) as provider:
        ask(
            MeteredClient(policy=CallPolicy(attempt_seconds=0.1, max_retries=0)), endpoint_at(provider.url), ["warm up"]
        )
        (one,) = ask(client, endpoint_at(provider.url), ["Q?"])
    assert one.bill.fault == "timeout"
    assert 4.0 < one.seconds < 5.5
    assert one.bill.calls == 3


# Row 3

STORM_SECONDS = 2.5
ASKED = {
    "a second": lambda: "1",
    "an honest date": lambda: formatdate(time.time() + 2, usegmt=True),
    "a date in 2099": lambda: "Thu, 31 Dec 2099 23:59:59 GMT",
    "nothing": lambda: None,
    "a negative number": lambda: "-30",
}


def _storm(value: Callable[[], str | None], seconds: float) -> Behave:
    began: list[float] = []

    def behave(asked: ReceivedRequest) -> Behaviour:
        began.append(asked.at)
        if asked.at - began[0] >= seconds:
            return Behaviour(text="7413", latency=0.02)
        asks = value()
        return Behaviour(status=429, headers={} if asks is None else {"retry-after": asks})

    return behave


@pytest.mark.parametrize("name", ASKED)
def test_a_storm_of_429_loses_no_call_and_no_wait_is_shorter_than_honestly_asked_or_longer_than_allowed(
    name: str,
) -> None:
    policy = CallPolicy(max_wait_seconds=1.5, concurrency=8)
    client, prompts = MeteredClient(policy=policy), [prompt for prompt, _ in _cases(16)]
    with Provider(_storm(ASKED[name], STORM_SECONDS)) as provider:
        called = ask(client, endpoint_at(provider.url), prompts)
    assert faults(called) == []
    assert max(one.bill.calls for one in called) <= 1 + policy.patience
    ended = provider.requests[-1].at - provider.requests[0].at
    assert ended < STORM_SECONDS + policy.max_wait_seconds + 1.5, "waits are capped"
    if name == "a second":
        refused = [asked.at for asked in provider.requests if asked.at - provider.requests[0].at < STORM_SECONDS]
        for asked in provider.requests:
            # What was under way when the refusal came could not know of it.
            assert not [at for at in refused if 0.4 < asked.at - at < 1.0], "others wait as well"
    for prompt in prompts:
        times = [asked.at for asked in provider.requests if asked.prompt == prompt]
        least = 1.0 if name == "a second" else 0.75 * 1.0 - 0.05
        assert all(later - earlier >= least for earlier, later in pairwise(times))


def test_the_patience_of_a_call_outlasts_a_storm_of_a_minute_by_far() -> None:
    policy = CallPolicy()
    waits = [least_patience(number, most=policy.max_wait_seconds) for number in range(1, policy.patience + 1)]
    assert policy.patience == 12
    assert sum(waits) == pytest.approx(0.75 * (1 + 2 + 4 + 8 + 16 + 32 + 6 * 60))
    assert sum(waits) > 5 * 60
    assert sum(waits) / 0.75 < policy.call_seconds, "the longest waits fit into a call"
    requests_in_a_minute = 1 + next(number for number in range(1, 13) if sum(waits[:number]) >= 60)
    assert requests_in_a_minute == 8


@pytest.mark.parametrize(
    ("headers", "told", "asked"),
    [
        ({"retry-after": "7"}, True, 7.0),
        ({"retry-after": "0.25"}, True, 0.25),
        ({"retry-after": "Sun, 01 Nov 2026 10:00:09 GMT", "date": "Sun, 01 Nov 2026 10:00:00 GMT"}, True, 9.0),
        ({"retry-after": "Sun, 01 Nov 2026 10:00:00 GMT", "date": "Sun, 01 Nov 2026 10:00:09 GMT"}, True, None),
        ({"retry-after": "Thu, 31 Dec 2099 23:59:59 GMT"}, True, None),
        ({"retry-after": "-3"}, True, None),
        ({"retry-after": "0"}, True, None),
        ({"retry-after": "nan"}, True, None),
        ({"retry-after": "inf"}, True, None),
        ({"retry-after": "1e400"}, True, None),
        ({"retry-after": "soon"}, True, None),
        ({"retry-after": "٣"}, True, 3.0),
        ({"retry-after": ""}, True, None),
        ({}, False, None),
    ],
)
def test_only_an_honest_retry_after_is_obeyed(headers: dict[str, str], told: bool, asked: float | None) -> None:
    error = RuntimeError()
    error.response = SimpleNamespace(headers=headers)  # type: ignore[attr-defined]
    assert honest_retry_after(error) == (told, asked)


def test_waits_are_never_shorter_than_asked_nor_longer_than_allowed() -> None:
    for wait in (wait_after_fault, wait_after_refusal):
        for number in range(1, 40):
            for asked in (None, 0.5, 20.0, 59.9, 60.0, 600.0):
                seconds = wait(number, asked=asked, most=60.0)
                assert 0.5 <= seconds <= 60.0
                assert seconds >= min(asked or 0.0, 60.0)


def test_an_endpoint_that_only_ever_asks_to_slow_down_is_left_alone_in_the_end(skill: Make, run_at: Any) -> None:
    ran, provider = run_at(skill(_cases()), lambda _: Behaviour(status=429), max_retries=1, max_retry_wait_seconds=1)
    assert "went down" in ran.evaluation.notes[-1]
    assert len(provider.requests) <= 8 * (1 + 3), "eight calls in flight, each sent again three times"
    assert {trial.outcome.fault for trial in ran.trials} <= {"rate limit", "provider"}


def test_an_empty_account_is_no_rate_limit() -> None:
    error = {"message": "You exceeded your current quota", "code": "insufficient_quota"}
    with Provider(lambda _: Behaviour(status=429, error=error)) as provider:
        (one,) = ask(MeteredClient(), endpoint_at(provider.url), ["Q?"])
    assert (one.bill.fault, one.bill.calls) == ("provider", 1)


# Row 4


def test_a_third_of_requests_failing_at_random_leaves_every_trial_accounted_for(skill: Make, run_at: Any) -> None:
    sick = ("500", "502", "503", "reset", "cut", "truncated")
    behave = failing_evenly(0.3, seed=11, faults=sick, text=lambda _: "7413")
    ran, provider = run_at(skill(_cases()), behave, max_retry_wait_seconds=1)
    assert len(ran.trials) == len({(trial.case_id, trial.arm) for trial in ran.trials}) == TRIALS
    scored = [trial.outcome for trial in ran.trials if isinstance(trial.outcome, Scored)]
    assert all(outcome.passed for outcome in scored), "no fault was counted as a failed answer"
    assert len(scored) >= TRIALS - 2
    assert len(provider.requests) <= 1.5 * TRIALS
    retries = sum(trial.calls for trial in ran.trials) - TRIALS
    assert retries >= len(provider.requests) - TRIALS > 0, "retries are on record"


# Row 5


@pytest.mark.parametrize("sick", [Behaviour(status=500), Behaviour(fault="reset"), Behaviour(fault="empty")])
def test_a_total_outage_is_noticed_within_ten_failures_and_twenty_requests(
    sick: Behaviour, skill: Make, run_at: Any
) -> None:
    healthy = 12

    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text="7413") if asked.number <= healthy else sick

    ran, provider = run_at(skill(_cases()), behave, max_retry_wait_seconds=1)
    assert len(provider.requests) - healthy <= 20
    assert sum(isinstance(trial.outcome, Scored) for trial in ran.trials) == healthy
    assert any("went down" in note for note in ran.evaluation.notes)
    assert sum(arm.passed for arm in ran.evaluation.students[0].arms) == healthy, "what there is, is shown"


# Row 6


def test_malformed_answers_are_errored_never_scored_and_nothing_breaks(
    skill: Make, run_at: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    bodies = malformed_bodies("It is 7413.", count=MALFORMED, seed=5)

    def behave(asked: ReceivedRequest) -> Behaviour:
        # The healthy half keeps the endpoint from being called down.
        return Behaviour(raw=bodies[_number(asked)]) if asked.has_skill else Behaviour(text="7413")

    ran, _ = run_at(skill(_cases(MALFORMED)), behave, max_retries=0, concurrency=4)
    assert len({(trial.case_id, trial.arm) for trial in ran.trials}) == 2 * MALFORMED
    for trial in ran.trials:
        if trial.arm == "baseline":
            assert isinstance(trial.outcome, Scored)
            assert trial.outcome.passed
        else:
            body = bodies[int(trial.case_id[1:])][:300]
            if isinstance(trial.outcome, Scored):
                assert trial.outcome.end == "empty", body  # a message with nothing in it says nothing
                assert not trial.outcome.passed
            else:
                assert trial.outcome.fault in ("transport", "provider"), (trial.outcome, body)
                assert "Traceback" not in trial.outcome.message
    assert "Traceback" not in "".join(capfd.readouterr())


# Row 7


@pytest.mark.parametrize("fault", ["bomb", "bulk", "flood"])
def test_a_body_over_the_cap_is_not_read_into_memory_and_is_asked_for_once_more_at_most(
    fault: str, tmp_path: Path
) -> None:
    with Provider(lambda asked: Behaviour(fault=None if asked.prompt == "healthy" else fault)) as provider:
        measured = _watched(tmp_path, "big_bodies", provider.url, "2")
    assert measured["rise"] < 64
    assert measured["faults"] == ["transport"]
    assert "the limit is 8,388,608" in measured["messages"][0]
    assert measured["calls"] == 4


def test_an_answer_just_under_the_cap_is_read() -> None:
    text = "é" * 100_000
    with Provider(lambda _: Behaviour(text=text)) as provider:
        near = MeteredClient(policy=CallPolicy(max_body_bytes=700_000, max_retries=0))
        over = MeteredClient(policy=CallPolicy(max_body_bytes=500_000, max_retries=0))
        assert [one.answer for one in ask(near, endpoint_at(provider.url), ["Q?"])] == [text]
        assert faults(ask(over, endpoint_at(provider.url), ["Q?"])) == ["transport"]


# Row 15


@pytest.fixture(scope="module")
def two_hundred_at_once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process says of itself that had 200 trials in flight, 400 in all."""
    here = tmp_path_factory.mktemp("row15")
    folder = here / "thing"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: thing\ndescription: Does a thing.\n---\nSay so.\n")
    cases = [{"input": prompt, "expected": expected} for prompt, expected in _cases(100)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    with Provider(lambda _: Behaviour(text="7413", latency=2.0)) as provider:
        return _watched(here, "evaluation", provider.url, str(folder), "200")


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_two_hundred_trials_at_once_stay_small(two_hundred_at_once: dict[str, Any]) -> None:
    assert two_hundred_at_once["scored"] == 400
    assert two_hundred_at_once["peak"] < 400
    assert two_hundred_at_once["descriptors"] < 512


def test_two_hundred_trials_at_once_do_not_stop_the_event_loop(two_hundred_at_once: dict[str, Any]) -> None:
    """The matrix asks for 0.2 s, which the engine does not allow: it takes many trials through one step at once."""
    assert two_hundred_at_once["lag_p99"] < 2.0, two_hundred_at_once


def _watched(here: Path, *words: str) -> dict[str, Any]:
    """What a process of its own measured of itself; loopback is all it is given."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    done = run_program(
        [sys.executable, "-m", "evaluation.engine.watched", *words],
        cwd=here,
        env={"PYTHONPATH": path, "HOME": str(here), "PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured
