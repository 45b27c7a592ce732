"""Answers that are lost on the way: counted by request, kept, and carried from run to run."""

from collections.abc import Sequence

import pytest

from calling import ask, endpoint_at
from provider import Behaviour, Provider
from upskill.core.models import CallPolicy, MeteredClient


@pytest.mark.parametrize("fault", ["stall", "keep-alive", "reset", "cut", "truncated", "empty", "html", "list"])
def test_an_answer_that_may_have_begun_is_lost(fault: str) -> None:
    assert _counted(Behaviour(fault=fault)) == (2, 0)


@pytest.mark.parametrize("status", [408, 504, 524])
def test_an_answer_that_a_proxy_stopped_waiting_for_is_lost(status: int) -> None:
    assert _counted(Behaviour(status=status)) in ((2, 0), (1, 0))


@pytest.mark.parametrize("status", [400, 401, 429, 500, 502, 503])
def test_a_request_that_was_turned_away_is_refused(status: int) -> None:
    lost, refused = _counted(Behaviour(status=status, headers={"retry-after": "0.1"}), seconds=30.0)
    assert lost == 0
    assert refused > 0


def test_a_request_that_found_nobody_is_refused() -> None:
    with Provider() as provider:
        url = provider.url
    assert _counted_at(url, seconds=30.0) == (0, 2)


def _counted(behaviour: Behaviour, *, seconds: float = 0.3) -> tuple[int, int]:
    with Provider(lambda _: behaviour) as provider:
        return _counted_at(provider.url, seconds=seconds)


def _counted_at(url: str, prompts: Sequence[str] = ("Q?",), *, seconds: float) -> tuple[int, int]:
    policy = CallPolicy(attempt_seconds=seconds, max_retries=1, max_wait_seconds=0.05)
    (one,) = ask(MeteredClient(policy=policy), endpoint_at(url), prompts)
    assert one.answer is None
    assert one.bill.lost + one.bill.refused == one.bill.failed_calls == one.bill.calls
    return one.bill.lost, one.bill.refused
