"""The caps of a run: no request is sent beyond one, whatever the provider reports."""

import time
from typing import Any

import pytest

from calling import ask, endpoint_at, faults
from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.models import Budget, CallPolicy, MeteredClient, Spending
from upskill.core.nouns import Price
from upskill.core.runs.run_folders import RunFolder
from upskill.evaluation.estimate import spent_in
from upskill.library.results import EvaluationResult

IN_FLIGHT = 4
DOLLAR_A_TOKEN = Price(input_per_million=1e6, output_per_million=1e6)
POLICY = CallPolicy(concurrency=IN_FLIGHT, max_wait_seconds=0.2, attempt_seconds=2.0)


def _say(text: str, *, usage: bool = True, latency: float = 0.02) -> Behaviour:
    return Behaviour(text=text, usage=usage, latency=latency)


def test_a_cap_on_calls_is_exact_and_what_was_not_sent_is_errored_as_budget() -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_calls=10))
    with Provider(lambda _: _say("yes")) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 25)
    assert len(provider.requests) == client.spent.calls == 10
    assert faults(asked) == ["budget"] * 15
    assert {one.bill.calls for one in asked if one.answer is None} == {0}
    assert str(client.exhausted) == "the cap of 10 calls"


def test_a_retry_is_a_call_and_is_refused_like_any_other() -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_calls=3))
    with Provider(lambda _: Behaviour(status=500)) as provider:
        (one,) = ask(client, endpoint_at(provider.url), ["Q?"])
    assert one.answer is None
    assert one.bill.calls == len(provider.requests) == 3
    assert one.bill.fault == "provider", "the last thing that happened to it is why it was not answered"


@pytest.mark.parametrize("usage", [True, False])
def test_a_cap_on_tokens_holds_to_within_the_calls_in_flight_even_if_the_provider_counts_none(usage: bool) -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_total_tokens=1_000))
    with Provider(lambda _: _say("é" * 100, usage=usage)) as provider:
        asked = ask(client, endpoint_at(provider.url), ["four" * 25] * 40)
    a_call = 25 + 50 if not usage else 25 + 26
    assert str(client.exhausted) == "the cap of 1,000 tokens"
    assert 1_000 <= client.spent.tokens <= 1_000 + IN_FLIGHT * a_call
    assert len(provider.requests) * a_call == client.spent.tokens
    assert client.spent.tokens_estimated == (0 if usage else client.spent.tokens)
    answered = [one.bill for one in asked if one.answer is not None]
    assert all((bill.input_tokens is None) is not usage for bill in answered), "an estimate is never on a bill"


def test_tokens_that_cannot_be_true_are_estimated_instead() -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        sent, said = [(-100, 7), (10**12, 7), (0, 0)][asked.number % 3]
        counted = {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}
        return Behaviour(text="four" * 10, body={"usage": counted})

    client = MeteredClient(policy=POLICY, budget=Budget(max_total_tokens=10_000))
    with Provider(behave) as provider:
        ask(client, endpoint_at(provider.url), ["four" * 10] * 6)
    assert client.spent.tokens == client.spent.tokens_estimated == 6 * 20


def test_a_cap_on_cost_holds_to_within_the_calls_in_flight() -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_cost=500.0))
    with Provider(lambda _: _say("four" * 24)) as provider:
        asked = ask(client, endpoint_at(provider.url, price=DOLLAR_A_TOKEN), ["four" * 25] * 40)
    assert str(client.exhausted) == "the cap of $500.00"
    assert 500 <= client.spent.cost_known <= 500 + IN_FLIGHT * 50
    assert client.spent.cost == pytest.approx(client.spent.cost_known)
    assert sum(one.bill.cost or 0.0 for one in asked) == pytest.approx(client.spent.cost)


def test_a_provider_that_counts_no_tokens_still_meets_the_cap_on_cost() -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_cost=500.0))
    with Provider(lambda _: _say("four" * 25, usage=False)) as provider:
        ask(client, endpoint_at(provider.url, price=DOLLAR_A_TOKEN), ["four" * 25] * 40)
    assert 500 <= client.spent.cost_known <= 500 + IN_FLIGHT * 50
    assert client.spent.cost is None, "an estimate is not a cost"


def test_an_unknown_price_cannot_be_capped_by_cost() -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_cost=0.01))
    with Provider(lambda _: _say("yes")) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 10)
    assert faults(asked) == []
    assert client.exhausted is None
    assert client.spent.cost is None


def test_answers_lost_on_the_way_count_against_a_cap_on_tokens() -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_total_tokens=100))
    with Provider(lambda _: Behaviour(fault="truncated")) as provider:
        ask(client, endpoint_at(provider.url), ["four" * 50])
    assert len(provider.requests) == 2
    assert client.spent.tokens == client.spent.tokens_lost == 100
    assert client.spent.failed_calls == 2


def test_a_cap_on_time_runs_from_the_first_call_and_lets_what_is_in_flight_finish() -> None:
    client = MeteredClient(policy=POLICY, budget=Budget(max_seconds=2.0))
    time.sleep(0.3)
    assert client.seconds == 0.0
    with Provider(lambda _: _say("yes", latency=0.8)) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"] * 40)
    assert str(client.exhausted) == "the cap of 0.0333 minutes"
    sent = len(provider.requests)
    assert IN_FLIGHT < sent <= 3 * IN_FLIGHT, "at most three rounds of 0.8 s begin within two seconds"
    assert faults(asked) == ["budget"] * (40 - sent), "what was sent was answered"


def test_nobody_waits_for_a_retry_that_the_cap_on_time_would_refuse() -> None:
    policy = CallPolicy(concurrency=IN_FLIGHT, max_wait_seconds=30.0)
    client = MeteredClient(policy=policy, budget=Budget(max_seconds=20.0))
    began = time.monotonic()
    with Provider(lambda _: Behaviour(status=429, headers={"retry-after": "25"})) as provider:
        asked = ask(client, endpoint_at(provider.url), ["Q?"])
    assert time.monotonic() - began < 15
    assert faults(asked) == ["rate limit"]


def test_a_cap_of_nothing_sends_nothing() -> None:
    for budget in (Budget(max_calls=0), Budget(max_total_tokens=0), Budget(max_cost=0.0), Budget(max_seconds=0.0)):
        client = MeteredClient(policy=POLICY, budget=budget)
        with Provider() as provider:
            asked = ask(client, endpoint_at(provider.url), ["Q?"])
        assert provider.requests == []
        assert faults(asked) == ["budget"]


def test_what_was_spent_is_kept_by_role_and_arm() -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(fault="reset") if asked.number == 1 else _say("yes", latency=0.0)

    client = MeteredClient(policy=POLICY)
    with Provider(behave) as provider:
        ask(client, endpoint_at(provider.url, price=DOLLAR_A_TOKEN), ["Q?"], arm="baseline")
        ask(client, endpoint_at(provider.url, price=DOLLAR_A_TOKEN), ["Q?"] * 2, arm="with_skill")
    assert client.spent_by["student", "baseline"].calls == 2
    assert client.spent_by["student", "baseline"].failed_calls == 1
    assert client.spent_by["student", "baseline"].cost_lost == 1.0
    assert client.spent_by["student", "with_skill"] == Spending(calls=2, tokens=2, cost=2.0, cost_known=2.0)
    assert client.spent.calls == 4


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(max_calls=1), "the cap of 1 call"),
        (Budget(max_calls=40), "the cap of 40 calls"),
        (Budget(max_total_tokens=12_000), "the cap of 12,000 tokens"),
        (Budget(max_cost=5.0), "the cap of $5.00"),
        (Budget(max_cost=0.0025), "the cap of $0.0025"),
        (Budget(max_seconds=90.0), "the cap of 1.5 minutes"),
    ],
)
def test_the_cap_that_was_reached_is_named(budget: Budget, words: str) -> None:
    everything = Spending(calls=10**6, tokens=10**9, cost_known=10.0**6)
    assert str(budget.reached(everything, seconds=10.0**6)) == words
    assert budget.reached(Spending(), seconds=0.0) is None


@pytest.mark.parametrize("behaviour", [Behaviour(status=400), Behaviour(usage=False)], ids=["no answer", "no count"])
def test_an_unknown_price_is_never_nothing(skill: Make, run_at: Any, behaviour: Behaviour) -> None:
    ran, _ = run_at(skill([("Question?", {"contains": "ok"})]), lambda _: behaviour, max_retries=0)
    (report,) = ran.evaluation.students
    assert ran.evaluation.bought.calls > 0
    assert ran.evaluation.bought.cost is None
    assert [report.spent, *(arm.spent for arm in report.arms)] == [None, None, None]
    assert "$" not in str(EvaluationResult(evaluation=ran.evaluation, run=ran.run))
    assert spent_in(RunFolder(path=ran.run)).cost is None
