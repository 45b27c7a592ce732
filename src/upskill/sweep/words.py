"""What people and programs read of a plan, a run and a status: lines, and the objects of `--json`, whose keys are a
promise: added, never changed.
"""

from collections.abc import Iterator

from pydantic_core import to_jsonable_python

from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count
from upskill.evaluation.estimate import ASK_ABOVE_DOLLARS
from upskill.report.wording import dollars
from upskill.sweep.budget import Bounds, Forecast, Take
from upskill.sweep.plan import PlannedSweep, require_planned_endpoints
from upskill.sweep.run import Standing, SweepRun, SweepStatus, progressed
from upskill.sweep.values import Refused, SweepPlan
from upskill.terminal.output import named

_MOST_LISTED = 5
"""How many refused skills, reasons or failures are listed."""


def plan_lines(planned: PlannedSweep, standing: Standing, expected: Forecast, *, place: str) -> list[str]:
    """A plan: what is measured, what it takes, and what binds."""
    plan = planned.plan
    groups = f" in {count(len(plan.groups), 'group')}" if len(plan.groups) > 1 else ""
    confirmations = len(standing.jobs) - len(planned.jobs)
    more = f" and {count(confirmations, 'confirmation')}" if confirmations else ""
    lines = [
        f"{count(planned.skills, 'skill')} on {count(len(plan.students), 'model')}{groups}: "
        f"{count(len(planned.jobs), 'evaluation')}{more}; {len(standing.results):,} done, {expected.left:,} left",
    ]
    for one in plan.students:
        at = "" if one.endpoint is None else f" at {one.endpoint}"
        lines.append(f"  {named(planned.endpoints[one.name])}{at}")
    lines += [f"calls         {_calls(expected.calls)}", f"price         {_price(expected.price, planned.unpriced)}"]
    if expected.confirmation is not None and expected.confirmation.calls.at_most:
        lines.append(f"confirmation  {_confirmation(expected.confirmation)}")
    if expected.left:
        lines += [f"time          {_duration(expected.hours)}: {expected.limits[0].what}"]
        lines += [f"              {_duration(pace.hours)}: {pace.what}" for pace in expected.limits[1:]]
    if (cap := expected.cap) is not None:
        lines.append(
            f"cap           {cap.cap} pays for about {cap.evaluations_expected:,} of "
            f"{count(expected.left, 'evaluation')}, for {cap.evaluations_at_least:,} if each takes its worst case "
            f"({cap.key} in {plan.manifest})"
        )
    lines += [f"what binds    {expected.binds}", *_refused_lines(planned.refused, place=place)]
    if copies := planned.copies:
        are = "skill has" if len(copies) == 1 else "skills have"
        lines.append(
            f"note: {len(copies):,} {are} the content of another and are not measured twice "
            f"({copies[0][0]}: {copies[0][1]})"
        )
    return [*lines, *(f"note: {note}" for note in planned.all_notes), f"the plan is in {place}"]


def _calls(calls: Bounds) -> str:
    most = f"{calls.at_most:,}"
    return most if calls.expected == calls.at_most else f"about {calls.expected:,}, at most {most}"


def _price(price: Bounds, unpriced: tuple[str, ...]) -> str:
    unknown = f"unknown for {', '.join(unpriced)}" if unpriced else ""
    if price.expected is None or price.at_most is None:
        return unknown or "$0"
    known = f"about {dollars(price.expected)}, at most {dollars(price.at_most)}" if price.at_most else "$0"
    return f"{known}; {unknown}" if unknown else known


def _confirmation(take: Take) -> str:
    cost = f" ({dollars(take.price.expected)})" if take.price.expected else ""
    most = f" ({dollars(take.price.at_most)})" if take.price.at_most else ""
    return (
        f"of winners, on top: about {take.calls.expected:,} calls{cost} if one skill in ten helps, "
        f"at most {take.calls.at_most:,}{most}"
    )


def _duration(hours: float) -> str:
    minutes = hours * 60
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes:,.0f} min" if minutes < 90 else f"about {hours:,.1f} h"


def _refused_lines(refused: tuple[Refused, ...], *, place: str) -> Iterator[str]:
    if not refused:
        return
    skills = count(len({one.skill for one in refused}), "skill")
    yield f"{skills} cannot be measured:" if any(not one.students for one in refused) else f"{skills} in part:"
    for one in refused[:_MOST_LISTED]:
        on = f" on {', '.join(one.students)}" if one.students else ""
        yield f"  {one.skill}{on}: {one.why}"
    if len(refused) > _MOST_LISTED:
        yield f"  and {len(refused) - _MOST_LISTED:,} more, in {place}/refused.jsonl"


def plan_json(planned: PlannedSweep, standing: Standing, expected: Forecast, *, at: str) -> dict[str, Json]:
    """The object of `upskill sweep plan --json`."""
    return {
        "schema": "upskill.sweep-forecast/1",
        "at": at,
        "skills": planned.skills,
        "students": [
            {"model": one.name, "resolved": one.model, "endpoint": one.endpoint, "price_known": one.priced}
            for one in planned.plan.students
        ],
        "groups": [list(group) for group in planned.plan.groups],
        "evaluations": len(planned.jobs),
        "confirmations": len(standing.jobs) - len(planned.jobs),
        "done": len(standing.results),
        **to_jsonable_python(expected),
        "price_unknown_for": list(planned.unpriced),
        "refused": [{"skill": one.skill, "why": one.why, "students": list(one.students)} for one in planned.refused],
        "copies": [{"skill": skill, "same_as": same} for skill, same in planned.copies],
        "notes": list(planned.all_notes),
    }


def before_run_lines(run: SweepRun) -> Iterator[str]:
    """What a person should know before something is sent. Raises where the plan hides where models are asked."""
    students = dict.fromkeys(student for job in run.waiting for student in job.students)
    for line in require_planned_endpoints(run.standing.plan, students):
        yield f"note: {line}"
    killed = sum(run.standing.attempts[job.id].killed for job in run.waiting if job.id in run.standing.attempts)
    if killed:
        yield (
            f"note: {count(killed, 'attempt')} began and did not end, and {'is' if killed == 1 else 'are'} charged in "
            "full; if another `upskill sweep run` works on these evaluations now, end it: both would buy the same"
        )


def price_question(run: SweepRun) -> str | None:
    """What a person is asked about much money; `None` where it is little."""
    expected = sum(job.cost_expected or 0.0 for job in run.waiting)
    at_most = sum(job.cost_at_most or 0.0 for job in run.waiting)
    cap = run.budget.caps.max_cost
    if cap is not None:
        at_most = min(at_most, max(0.0, cap - run.budget.charged.cost))
    if at_most <= ASK_ABOVE_DOLLARS:
        return None
    more = ", and confirmations of winners within the cap" if run.standing.plan.confirm and cap is not None else ""
    return (
        f"{count(len(run.waiting), 'evaluation')}; price about {dollars(min(expected, at_most))}, at most "
        f"{dollars(at_most)}{more}."
    )


def charged(run: SweepRun) -> str:
    """What was charged for a run, beside its caps."""
    caps, amount = run.budget.caps, run.budget.charged
    cost = dollars(amount.cost) + ("" if caps.max_cost is None else f" of {dollars(caps.max_cost)}")
    calls = f"{amount.calls:,}" + ("" if caps.max_calls is None else f" of {caps.max_calls:,}")
    return f"{cost}, {calls} calls"


def run_lines(run: SweepRun) -> list[str]:
    """What became of a run."""
    planned, confirmations = progressed(run.jobs.values(), run.results)
    part = "" if run.shard.of == 1 else f"part {run.shard.number} of {run.shard.of}: "
    lines = [f"{part}{planned.done:,} of {count(planned.planned, 'evaluation')} done"]
    if confirmations.planned:
        lines[0] += f"; {confirmations.done:,} of {count(confirmations.planned, 'confirmation')} done"
    lines += [f"not reached: {count(jobs, 'evaluation')} ({why})" for why, jobs in run.not_reached().items()]
    if run.failed:
        lines.append(f"without a result: {count(len(run.failed), 'evaluation')}")
        for id, why in list(run.failed.items())[:_MOST_LISTED]:
            lines.append(f"  {run.jobs[id].name} on {', '.join(run.jobs[id].students)}: {why}")
        if len(run.failed) > _MOST_LISTED:
            lines.append(f"  and {len(run.failed) - _MOST_LISTED:,} more")
    return [*lines, f"charged {charged(run)}"]


def run_json(run: SweepRun, *, at: str) -> dict[str, Json]:
    """The object of `upskill sweep run --json`."""
    planned, confirmations = progressed(run.jobs.values(), run.results)
    caps = run.budget.caps
    return {
        "schema": "upskill.sweep-run/1",
        "at": at,
        "shard": to_jsonable_python(run.shard),
        "evaluations": to_jsonable_python(planned),
        "confirmations": to_jsonable_python(confirmations),
        "not_reached": [{"why": why, "evaluations": jobs} for why, jobs in run.not_reached().items()],
        "without_result": [
            {"id": id, "skill": run.jobs[id].skill, "models": list(run.jobs[id].students), "why": why}
            for id, why in run.failed.items()
        ],
        "stopped": run.stopped,
        "charged": to_jsonable_python(run.budget.charged),
        "caps": {"cost": caps.max_cost, "calls": caps.max_calls, "tokens": caps.max_total_tokens},
    }


def status_lines(status: SweepStatus, plan: SweepPlan, *, place: str) -> list[str]:
    """How far a sweep is."""
    evaluations, confirmations = status.evaluations, status.confirmations
    left = evaluations.planned - evaluations.done
    lines = [
        f"{plan.manifest} on {count(len(plan.students), 'model')}, planned {plan.made_at[:16].replace('T', ' ')} UTC",
        f"evaluations    {evaluations.done:,} of {evaluations.planned:,} done, {left:,} left",
    ]
    if confirmations.planned:
        lines.append(f"confirmations  {confirmations.done:,} of {confirmations.planned:,} done")
    if evaluations.done:
        waiting = f" ({status.to_confirm:,} to be confirmed)" if status.to_confirm else ""
        found = [f"{status.found_once:,} found once{waiting}"]
        found += [f"{number:,} {verdict}" for verdict, number in status.other_verdicts.items()]
        if status.confirmed or plan.confirm:
            found.insert(0, f"{status.confirmed:,} confirmed")
        lines.append(f"found          {', '.join(found)}")
    if reasons := status.without_result:
        tried = count(sum(one.evaluations for one in reasons), "evaluation")
        lines.append(f"no result      {tried}, tried and not finished:")
        lines += [f"               {one.evaluations:,}: {one.why}" for one in reasons[:_MOST_LISTED]]
        if (more := len(reasons) - _MOST_LISTED) > 0:
            lines.append(f"               and {count(more, 'other reason')}; --json has them")
    if status.attempts_without_end:
        lines.append(f"no end         {count(status.attempts_without_end, 'attempt')}: running now, or killed")
    cap = "" if status.max_cost is None else f" of at most {dollars(status.max_cost)}"
    lines.append(f"charged        {count(status.charged.calls, 'call')}, {dollars(status.charged.cost)}{cap}")
    if unpriced := [one.name for one in plan.students if not one.priced]:
        lines.append(f"note: the price of {', '.join(unpriced)} is unknown and not in that sum")
    if status.refused:
        lines.append(f"note: {count(status.refused, 'skill')} cannot be measured, see {place}/refused.jsonl")
    return lines


def status_json(status: SweepStatus, *, at: str) -> dict[str, Json]:
    """The object of `upskill sweep status --json`."""
    return {"schema": "upskill.sweep-status/1", "at": at, **to_jsonable_python(status)}
