"""What is left of a sweep, in calls, dollars and hours, and which limit or cap binds."""

import pytest

from upskill.core.models.retrying import RateLimit
from upskill.sweep.budget import Amount, Bounds, Forecast, forecast
from upskill.sweep.values import Caps, PlannedJob

JOBS = [
    PlannedJob(
        id=f"{number:032x}",
        skill=f"s{number}",
        name="s",
        version="v",
        input="i",
        cases=10,
        students=("fast", "slow"),
        calls_expected=100,
        calls_at_most=200,
        cost_expected=0.1,
        cost_at_most=0.4,
        output_tokens_expected=30_000,
        tokens_at_most=400_000,
    )
    for number in range(100)
]


def _forecast(
    jobs: list[PlannedJob] = JOBS,
    *,
    caps: Caps | None = None,
    charged: Amount | None = None,
    limits: dict[str, RateLimit] | None = None,
    workers: int = 100,
    confirm: bool = True,
) -> Forecast:
    return forecast(
        jobs,
        caps=caps or Caps(),
        charged=charged or Amount(),
        limits=limits or {},
        confirm=confirm,
        workers=workers,
        concurrency=8,
    )


def test_it_adds_up() -> None:
    found = _forecast()
    assert (found.calls.expected, found.calls.at_most) == (10_000, 20_000)
    assert found.price.expected == pytest.approx(10.0)
    assert found.price.at_most == pytest.approx(40.0)
    assert found.confirmation is not None
    assert found.confirmation.calls == Bounds(expected=1_200, at_most=20_000)
    assert _forecast(confirm=False).confirmation is None


def test_the_slowest_limit_binds_at_nine_tenths_of_what_a_provider_allows() -> None:
    limits = {
        "fast": RateLimit(requests_per_minute=1_000),
        "slow": RateLimit(requests_per_minute=1_000, output_tokens_per_minute=10_000),
    }
    found = _forecast(limits=limits)
    # 5,000 requests with 300 tokens each.
    assert found.hours == pytest.approx(5_000 * 300 / 9_000 / 60)
    assert found.binds == "slow: 10,000 output tokens per minute"
    assert [pace.model for pace in found.limits] == ["slow", "fast", "slow", None]


def test_few_workers_bind_where_no_provider_does() -> None:
    one, two = _forecast(workers=1), _forecast(workers=2)
    assert one.hours == pytest.approx(2 * two.hours)
    assert one.binds.startswith("1 worker with 8 calls in flight per model")
    # 5,000 calls of each model, 5 s each, two thirds of 8 in flight.
    assert one.hours == pytest.approx(5_000 * 5 / (8 * 2 / 3) / 3600)


def test_a_cap_that_does_not_pay_for_all_binds_and_says_for_how_many_it_pays() -> None:
    found = _forecast(caps=Caps(max_cost=5.0))
    assert found.cap is not None
    # The worst case of one, with room for retries, is 0.5: 45 have been paid for before one too many is refused.
    assert (found.cap.evaluations_expected, found.cap.evaluations_at_least) == (46, 10)
    assert found.binds == "the cap of $5.00"
    later = _forecast(caps=Caps(max_cost=5.0), charged=Amount(cost=3.0))
    assert later.cap is not None
    assert later.cap.evaluations_expected == 16


def test_a_cap_that_pays_for_all_in_the_worst_case_is_not_mentioned() -> None:
    assert _forecast(caps=Caps(max_cost=60.0)).cap is None
    enough = _forecast(caps=Caps(max_cost=20.0))
    assert enough.cap is not None
    assert (enough.cap.evaluations_expected, enough.cap.evaluations_at_least) == (100, 40)
    assert enough.binds.startswith("100 workers")


@pytest.mark.parametrize(
    ("caps", "cap"),
    [
        (Caps(max_calls=1_000), "1,000 calls"),
        (Caps(max_total_tokens=1_000_000), "1,000,000 tokens"),
        (Caps(max_time_minutes=0.1), "0 minutes"),
        (Caps(max_calls=1_000, max_cost=0.6), "$0.60"),
    ],
)
def test_every_cap_can_bind(caps: Caps, cap: str) -> None:
    found = _forecast(caps=caps)
    assert found.cap is not None
    assert found.cap.cap == cap
    assert found.cap.evaluations_expected < len(JOBS)


def test_nothing_is_left_of_a_finished_sweep() -> None:
    found = _forecast([], caps=Caps(max_cost=0.0), limits={"fast": RateLimit(requests_per_minute=1)})
    assert (found.left, found.hours, found.cap) == (0, 0.0, None)
    assert found.binds == "nothing: all evaluations are done"
