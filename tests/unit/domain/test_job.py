"""Jobs as values: shares that never exceed a cap, and JSON that is read strictly."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.domain.job import Caps, Job, JobError, JobResult, JobSpending, split_caps
from upskill.errors import UsageError
from upskill.storage.records import job_from_text, job_text, result_from_text, result_text

WHOLE = st.none() | st.integers(0, 10**12)
REAL = st.none() | st.floats(0, 1e300, allow_subnormal=True)
CAPS = st.builds(Caps, max_cost=REAL, max_calls=WHOLE, max_total_tokens=WHOLE, max_time_minutes=REAL)
JOB = Job(
    skill="skills/a",
    students=("haiku", "local"),
    runs=3,
    settings={"temperature": 0.5, "aliases": {"haiku": "anthropic/haiku"}},
    run="runs/a",
    caps=Caps(max_cost=0.5, max_calls=10),
    store="trials.sqlite3",
)


@given(caps=CAPS, jobs=st.integers(1, 300), at_once=st.integers(1, 40))
def test_shares_never_add_up_to_more_than_the_cap_and_waste_next_to_nothing(
    caps: Caps, jobs: int, at_once: int
) -> None:
    shares = split_caps(caps, jobs, at_once=at_once)
    assert len(shares) == jobs
    for name in ("max_calls", "max_total_tokens"):
        cap, parts = getattr(caps, name), [getattr(share, name) for share in shares]
        if cap is None:
            assert set(parts) == {None}
        else:
            assert sum(parts) == cap
            assert max(parts) - min(parts) <= 1
    rounds = math.ceil(jobs / at_once)
    for cap, parts in (
        (caps.max_cost, [share.max_cost for share in shares]),
        (caps.max_time_minutes, [share.max_time_minutes for share in shares[:rounds]]),
    ):
        if cap is None:
            assert set(parts) == {None}
        else:
            total = sum(Fraction(part or 0.0) for part in parts)
            assert total <= Fraction(cap)
            assert float(total) == pytest.approx(cap, rel=1e-12, abs=1e-300)


def test_no_jobs_have_no_shares() -> None:
    assert split_caps(Caps(max_calls=3), 0) == ()


@pytest.mark.parametrize("value", [-1, -0.1, math.inf, math.nan])
def test_a_cap_is_a_finite_number_from_0_on(value: float) -> None:
    with pytest.raises(ValueError, match="cap must be"):
        Caps(max_cost=value)


def test_a_job_and_its_result_come_back_equal_from_json() -> None:
    assert job_from_text(job_text(JOB)) == JOB
    result = JobResult(
        run="runs/a",
        exit_code=2,
        error=JobError(kind="UsageError", message="m", hint="h", problems=("a", "b")),
        spending=JobSpending(calls=3, tokens=5, cost=None),
    )
    assert result_from_text(result_text(result)) == result


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sandbox": "none"}, "sandbox"),
        ({"caps": {"max_dollars": 3}}, "caps.max_dollars"),
        ({"caps": {"max_calls": -1}}, "caps"),
        ({"caps": {"max_cost": float("nan")}}, "caps.max_cost"),
        ({"runs": "3"}, "runs"),
        ({"students": "haiku"}, "students"),
        ({"format": "upskill.job/2"}, "format"),
    ],
)
def test_what_a_job_says_that_is_not_known_is_refused_by_name(change: dict[str, Any], told: str) -> None:
    text = json.dumps(json.loads(job_text(JOB)) | change)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        job_from_text(text)
    assert caught.value.problems[0].startswith(f"{told}:")


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"skill": "a"}'])
def test_what_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        job_from_text(text)
