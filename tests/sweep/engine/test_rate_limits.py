"""Requests keep a provider's rate limit: in several processes at once, and at no cost of anybody's deadline."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai.model import GenerateConfig
from inspect_ai.model._model import init_active_model

from calling import ask, endpoint_at, faults
from on_engine import Make
from provider import Behaviour, Provider, RateLimited, ReceivedRequest
from sweep.engine.paced_workers import share
from tool_students import shell, tool_call, turns
from upskill.agents.engine_bridge import EngineBridge
from upskill.core.models import Budget, CallPolicy, MeteredClient, Purpose, billing
from upskill.core.models.retrying import RateLimit
from upskill.core.nouns import Scored, Trial
from upskill.core.settings import resolve_settings
from upskill.evaluation.estimate import client_for
from upskill.evaluation.evaluate import evaluate_opened
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.past_runs import trials_of
from upskill.interruption import Interruption, run_interruptibly

WORKERS = 4
HOURLY = {"any": RateLimit(requests_per_minute=1 / 60)}
"""Whoever keeps it waits for an hour, if nothing ends the wait."""
MOMENT = 8.0
"""Seconds: long for something that happens at once, on a busy machine."""


def _per_second(requests: float) -> RateLimit:
    return RateLimit(requests_per_minute=60 * requests)


# Several processes that share a limit


def test_four_processes_share_a_limit_on_requests_and_use_it() -> None:
    limit, seconds = _per_second(15), 9.0
    limited = RateLimited(seconds=6.0, requests=6 * 15)
    shared = share(limited, [limit.share(WORKERS)] * WORKERS, seconds=seconds, calls=50)
    assert shared.refusals < 0.03
    assert shared.accepted / seconds >= 0.8 * 0.9 * 15
    assert shared.unanswered == 0


@pytest.mark.full
def test_four_processes_share_a_limit_on_output_tokens_and_use_it() -> None:
    sizes = (10, 50, 200)
    limited = RateLimited(
        seconds=10.0,
        tokens=10_000,
        answer=lambda asked: Behaviour(text="word" * sizes[asked.number % 3], latency=0.3),
    )
    limit = RateLimit(output_tokens_per_minute=60_000)
    shared = share(limited, [limit.share(WORKERS)] * WORKERS, seconds=30.0, calls=150)
    assert shared.refusals < 0.03
    assert shared.tokens / 30.0 >= 0.8 * 0.9 * 1_000
    assert shared.unanswered == 0


def test_output_tokens_are_kept_from_what_answers_report() -> None:
    limited = RateLimited(seconds=3.0, tokens=1_500, answer=lambda _: Behaviour(text="word" * 49))
    client = MeteredClient(limits={"any": RateLimit(output_tokens_per_minute=60 * 450)})
    with Provider(limited) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 36)
        seconds = provider.requests[-1].at - provider.requests[0].at
    assert faults(asked) == []
    assert len(limited.refused) <= 1
    assert 2.5 < seconds < 2 * MOMENT, "about 4 s: 36 answers of 50 tokens at 450 a second"


def test_a_limit_that_is_set_too_high_costs_refusals_and_no_answer() -> None:
    limited = RateLimited(seconds=1.0, requests=5, headers={"retry-after": "0.5"})
    client = MeteredClient(limits={"any": _per_second(40)})
    with Provider(limited) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 15)
    assert limited.refused
    assert faults(asked) == []
    assert len(limited.accepted) == 15
    assert {one.bill.lost for one in asked} == {0}


# What a wait for our own pace costs nobody


def test_requests_leave_one_by_one_in_order_retries_too_and_no_deadline_counts_the_wait() -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(status=500) if asked.number == 2 else Behaviour()

    policy = CallPolicy(concurrency=32, call_seconds=2, attempt_seconds=2)
    client = MeteredClient(policy=policy, limits={"any": _per_second(4)})
    with Provider(behave) as provider:
        asked = ask(client, endpoint_at(provider.url), [str(number) for number in range(14)])
    assert faults(asked) == []
    assert client.spent.calls == 15
    assert max(one.seconds for one in asked) > 3, "longer than a call may take"
    order = [int(request.prompt) for request in provider.requests]
    assert order[:5] == [0, 1, 2, 3, 4]
    assert order[5:].count(1) == 1
    first, last = provider.requests[0].at, provider.requests[-1].at
    assert last - first > 2.5, "14 gaps of 0.25 s, the first of them shorter: its request opens a connection"


def test_an_agent_of_a_trial_keeps_the_pace_of_its_model() -> None:
    client = MeteredClient(limits={"any": _per_second(1)})

    async def work() -> None:
        model = client.open(endpoint_at(provider.url))
        init_active_model(model, GenerateConfig())
        bridge = EngineBridge([], asked=lambda *_: True, answered=lambda *_: None)
        with billing(Purpose(role="student")):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    request = {"model": "inspect", "messages": [{"role": "user", "content": "Go."}]}
                    group.start_soon(bridge.answer, "completions", request)
        await model.api.aclose()

    with Provider() as provider:
        anyio.run(work)
    assert len(provider.requests) == 3
    assert provider.requests[-1].at - provider.requests[0].at > 1, "two gaps of a second"


Evaluate = Callable[..., list[Trial]]


@pytest.fixture
def trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """Evaluates a skill on one student with tools that has three seconds of its own, without a baseline."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def start(skill: Path, student: str, *, limits: dict[str, RateLimit] | None = None, **flags: Any) -> list[Trial]:
        given = {"models": (student,), "harness": "agent", "max_trial_minutes": 0.05, "store": False, "report": False}
        settings = resolve_settings({**given, **flags}, environment={}, folder=tmp_path, user_folder=tmp_path)
        order = EvaluationOrder(skill=skill, repeats=1, baseline=False, sandbox="bubblewrap")
        client = client_for(settings.values)
        client.limits = limits or {}
        return list(trials_of(tmp_path / evaluate_opened(order, settings=settings, client=client).run))

    return start


def _ends(trials: list[Trial]) -> list[str]:
    return [trial.outcome.end if isinstance(trial.outcome, Scored) else trial.outcome.fault for trial in trials]


def test_a_trial_does_not_lose_its_time_to_our_own_pace(skill: Make, trials: Evaluate, script: Any) -> None:
    student = script(*turns(shell("true"), shell("true"), shell("true"), "done"))
    (trial,) = trials(skill([("Go.", {"contains": "done"})]), student, limits={student: _per_second(0.5)})
    assert _ends([trial]) == ["answered"]
    assert trial.seconds is not None
    assert trial.seconds < 3, "it waited for six"


def test_a_trial_does_not_lose_its_time_while_its_provider_is_busy_with_others(skill: Make, trials: Evaluate) -> None:
    told = threading.Event()

    def behave(asked: ReceivedRequest) -> Behaviour:
        if asked.number == 2:
            told.set()
            return Behaviour(status=429, headers={"retry-after": "5"})
        if len(asked.body["messages"]) == 2 and asked.number == 1:
            return tool_call(asked, "shell", command="sleep 0.5")
        return Behaviour(text="done")

    folder = skill([(f"Case {number}.", {"contains": "done"}) for number in range(2)])
    with Provider(behave) as provider:
        found = trials(folder, "any", base_url=provider.url, concurrency=2)
    assert told.is_set()
    assert _ends(found) == ["answered"] * 2


# What ends it


def test_a_wait_ends_when_an_answer_of_another_reaches_a_cap() -> None:
    client = MeteredClient(limits=HOURLY, budget=Budget(max_total_tokens=1))
    with Provider(lambda _: Behaviour(latency=0.3)) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 8)
    assert len(provider.requests) == 1
    assert faults(asked) == ["budget"] * 7
    assert max(one.seconds for one in asked) < MOMENT


def test_a_wait_ends_when_the_endpoint_is_down() -> None:
    policy = CallPolicy(max_retries=0, failures_until_down=1)
    client = MeteredClient(limits=HOURLY, policy=policy)
    with Provider(lambda _: Behaviour(latency=0.3, status=500)) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 8)
    assert len(provider.requests) == 1
    assert faults(asked) == ["provider"] * 8
    assert max(one.seconds for one in asked) < MOMENT


def test_a_wait_ends_at_the_cap_on_time() -> None:
    client = MeteredClient(limits=HOURLY, budget=Budget(max_seconds=0.7))
    with Provider() as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 8)
    assert len(provider.requests) == 1
    assert faults(asked) == ["budget"] * 7
    assert all(0.5 < one.seconds < MOMENT for one in asked if one.answer is None)


def test_a_wait_ends_at_an_interrupt_and_leaves_the_line_free() -> None:
    client = MeteredClient(limits=HOURLY)
    interruption = Interruption()

    async def work() -> None:
        try:
            with billing(Purpose(role="student")):
                await model.generate("Q?")
                threading.Timer(0.3, interruption.request).start()
                async with anyio.create_task_group() as group:
                    for _ in range(3):
                        group.start_soon(model.generate, "Q?")
        finally:
            with anyio.CancelScope(shield=True):
                await model.api.aclose()

    with Provider() as provider:
        model = client.open(endpoint_at(provider.url))
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            interruption.reaches(lambda: run_interruptibly(work))
        assert time.monotonic() - began < MOMENT
        assert len(provider.requests) == 1
        client.budget = Budget(max_seconds=0.0)
        assert faults(ask(client, endpoint_at(provider.url), ["Q?"])) == ["budget"]
