"""The settings of a job: the plan's alone, so that two machines with different settings files measure the same."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from upskill.domain.job import JOB_SETTINGS, Caps
from upskill.domain.sweep import SweepPlan
from upskill.domain.text import on_one_line
from upskill.errors import UsageError
from upskill.settings import Origin, ResolvedSettings, settings_from
from upskill.workflows.sweeping.conditions import sweep_endpoints

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


def require_planned_endpoints(plan: SweepPlan, students: Collection[str]) -> tuple[str, ...]:
    """A line for every server and alias of the plan, as they are here and now: that is where keys would go.

    Raises `UsageError` where the plan says something else of one of these students: it would hide where it is asked.
    """
    origins = {name: Origin(where=f"{name} in plan.json") for name in plan.settings if name in ("base_url", "aliases")}
    values = job_settings(plan.settings, caps=Caps()).values
    endpoints, untyped = sweep_endpoints(students, replace(values, untyped=origins))
    planned = {one.name: (one.model, one.endpoint) for one in plan.students}
    for name, one in endpoints.items():
        if planned.get(name) != (one.model, one.base_url):
            says = "does not have it" if name not in planned else f"says {_place(*planned[name])}"
            raise UsageError(
                on_one_line(f"{name}: would be asked as {_place(one.model, one.base_url)}, and the plan {says}"),
                hint="make the plan again here: upskill sweep plan FILE --at PLACE",
            )
    return untyped


def _place(model: str, endpoint: str | None) -> str:
    return model if endpoint is None else f"{model} at {endpoint}"
