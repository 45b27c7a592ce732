"""Caps and what was spent: amounts that a file may hold, and no others."""

import math

import pytest
from pydantic import TypeAdapter, ValidationError

from upskill.sweep.values import Caps, JobSpending


@pytest.mark.parametrize("value", [-1, -0.1, math.inf, math.nan])
def test_a_cap_is_a_finite_number_from_0_on(value: float) -> None:
    with pytest.raises(ValueError, match="cap must be"):
        Caps(max_cost=value)


@pytest.mark.parametrize("text", ['{"max_dollars": 3}', '{"max_calls": -1}', '{"max_cost": NaN}', '{"max_calls": "x"}'])
def test_caps_are_read_strictly(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Caps).validate_json(text)


@pytest.mark.parametrize("text", ['{"calls": -1}', '{"cost": -0.5}', '{"cost": NaN}', '{"tokens": -3}'])
def test_nobody_can_have_spent_less_than_nothing(text: str) -> None:
    """It would take a cap away."""
    with pytest.raises(ValidationError):
        TypeAdapter(JobSpending).validate_json(text)


def test_what_was_spent_together_has_no_price_where_one_part_has_none() -> None:
    known, unknown = JobSpending(calls=1, tokens=2, cost=0.5), JobSpending(calls=3, tokens=4, cost=None)
    assert known + known == JobSpending(calls=2, tokens=4, cost=1.0)
    assert known + unknown == JobSpending(calls=4, tokens=6, cost=None)
