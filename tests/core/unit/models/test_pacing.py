"""The pace of requests: even, never a burst, and corrected by what answers used. The clock is a number."""

import random
from collections import deque
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.models import MeteredClient, resolve_model
from upskill.core.models.retrying import FIRST_SHARE, LATE_SECONDS, USED_SHARE, Pace, RateLimit


def _requests(per_second: float) -> RateLimit:
    return RateLimit(requests_per_minute=60 * per_second)


def _tokens(per_second: float) -> RateLimit:
    return RateLimit(output_tokens_per_minute=60 * per_second)


def _sent(pace: Pace, *, until: float, late: float = 0.0, now: float = 0.0) -> list[float]:
    """When requests leave, if one is always there and every timer rings so late."""
    sent = []
    while now < until:
        if wait := pace.seconds_until_next(now):
            now += wait + late
        else:
            sent.append(now)
            pace.send(now)
    return sent


def test_requests_leave_evenly_spaced() -> None:
    sent = _sent(Pace(_requests(4)), until=10)
    gaps = [after - before for before, after in pairwise(sent)]
    assert gaps[0] == pytest.approx(0.25 - LATE_SECONDS)
    assert gaps[1:] == pytest.approx([0.25] * len(gaps[1:]))


def test_timers_that_ring_a_little_late_cost_no_request() -> None:
    assert len(_sent(Pace(_requests(50)), until=10, late=0.03)) == pytest.approx(500, rel=0.02)


def test_a_loop_that_stood_still_does_not_catch_up() -> None:
    pace = Pace(_requests(10))
    _sent(pace, until=1)
    assert len(_sent(pace, now=31, until=32)) <= 12


@given(
    pauses=st.lists(st.floats(0, 3), min_size=1, max_size=60),
    per_second=st.floats(0.5, 200),
    window=st.floats(0.05, 5),
)
def test_no_window_has_more_requests_than_the_rate_and_a_moment_allow(
    pauses: list[float], per_second: float, window: float
) -> None:
    pace, now, sent = Pace(_requests(per_second)), 0.0, []
    for pause in pauses:
        now += pause
        now += pace.seconds_until_next(now)
        sent.append(now)
        pace.send(now)
    most = (window + LATE_SECONDS) * per_second + 1
    for first in sent:
        assert sum(first <= at < first + window for at in sent) <= most + 1e-6


def _answered(pace: Pace, *, seconds: float, latency: float, draw: random.Random, sizes: list[int]) -> tuple[int, int]:
    """Requests and output tokens, if a request is always there and an answer takes so long."""
    now, requests, written = 0.0, 0, 0
    under_way: deque[tuple[float, float, int]] = deque()
    while now < seconds:
        while under_way and under_way[0][0] <= now:
            _, reserved, size = under_way.popleft()
            pace.answered(reserved, size)
            written += size
        wait = pace.seconds_until_next(now)
        if wait:
            now += min(wait, LATE_SECONDS)
        else:
            requests += 1
            under_way.append((now + latency, pace.send(now), draw.choice(sizes)))
    return requests, written


@pytest.mark.parametrize("sizes", [[400], [10, 1_000], [1, 1, 1, 1, 4_000]])
@pytest.mark.parametrize("latency", [0.2, 8.0])
def test_output_tokens_use_the_limit_and_keep_it(sizes: list[int], latency: float) -> None:
    per_second, seconds = 2_000, 600
    _, written = _answered(
        Pace(_tokens(per_second)), seconds=seconds, latency=latency, draw=random.Random(1), sizes=sizes
    )
    assert 0.9 <= written / (per_second * seconds) <= 1.02


def test_both_limits_hold_at_once() -> None:
    limit = RateLimit(requests_per_minute=60, output_tokens_per_minute=60 * 100)
    for sizes, expected in (([10], 60), ([400], 15)):
        requests, _ = _answered(Pace(limit), seconds=60, latency=0.5, draw=random.Random(1), sizes=sizes)
        assert requests == pytest.approx(expected, abs=2)


def test_until_the_first_answer_a_share_of_the_longest_is_expected_and_then_the_mean() -> None:
    pace = Pace(_tokens(100), longest_answer=1_000)
    reserved = pace.send(0.0)
    assert reserved == 1_000 * FIRST_SHARE
    assert pace.seconds_until_next(0.0) <= 2.5
    pace.answered(reserved, 10)
    assert pace.expected_tokens == 10
    assert pace.seconds_until_next(0.2) == 0.0, "what it did not need is free again"
    pace.answered(pace.send(0.2), 90)
    assert pace.expected_tokens == 50


def test_a_request_that_was_turned_away_gives_its_tokens_back_and_a_lost_one_keeps_them() -> None:
    pace = Pace(_tokens(100), longest_answer=4_000)
    reserved = pace.send(0.0)
    assert pace.seconds_until_next(1.0) > 8, "a lost one"
    pace.refused(reserved)
    assert pace.seconds_until_next(1.0) == 0.0


def test_without_limits_nothing_waits() -> None:
    pace = Pace(RateLimit())
    for _ in range(100):
        pace.send(0.0)
    assert pace.seconds_until_next(0.0) == 0.0


def test_the_shares_of_all_workers_are_a_part_of_the_limit() -> None:
    limit = RateLimit(requests_per_minute=4_000, output_tokens_per_minute=800_000)
    share = limit.share(4)
    assert USED_SHARE == 0.9
    assert share.requests_per_minute == pytest.approx(900)
    assert share.output_tokens_per_minute == pytest.approx(180_000)
    assert RateLimit().share(4) == RateLimit()


def test_a_limit_holds_for_a_model_under_each_of_its_names_and_for_no_other() -> None:
    student, judge = resolve_model("haiku"), resolve_model(resolve_model("haiku").model)
    assert student.name != judge.name
    client = MeteredClient(limits={"haiku": _requests(1)})
    pace = client.set_pace(student, longest_answer=100)
    assert pace is not None
    assert client.set_pace(judge, longest_answer=4_096) is client.pace_of(judge) is pace
    other = resolve_model("sonnet")
    assert client.set_pace(other, longest_answer=100) is client.pace_of(other) is None
    assert MeteredClient(limits={student.model: _requests(1)}).set_pace(student, longest_answer=None) is not None
