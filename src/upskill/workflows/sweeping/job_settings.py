"""The settings of a job: the plan's alone, so that two machines with different settings files measure the same."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from upskill.domain.job import JOB_SETTINGS, Caps
from upskill.errors import UsageError
from upskill.settings import ResolvedSettings, settings_from

_OF_A_JOB = frozenset({"models", "harness", "seed"})


def job_settings(named: Mapping[str, Any], *, caps: Caps) -> ResolvedSettings:
    """The settings with these values. Neither settings files nor `UPSKILL_*` variables are read."""
    if strangers := sorted(named.keys() - JOB_SETTINGS - _OF_A_JOB):
        raise UsageError(
            f"the plan cannot be read: {', '.join(strangers)} cannot be set in `settings`",
            hint=f"allowed settings: {', '.join(sorted(JOB_SETTINGS))}",
        )
    chosen = settings_from(dict(named), where="plan.json")
    values = replace(
        chosen.values,
        store=False,
        report=False,
        max_cost=caps.max_cost,
        max_calls=caps.max_calls,
        max_total_tokens=caps.max_total_tokens,
        max_time_minutes=caps.max_time_minutes,
    )
    return replace(chosen, values=values)
