"""`upskill sweep plan`: what a sweep will measure and take. Spends nothing."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import named, print_json, print_lines
from upskill.domain.text import count
from upskill.errors import EXIT_DONE

if TYPE_CHECKING:
    from upskill.domain.case import Json
    from upskill.domain.sweep import Refused
    from upskill.workflows.sweeping.forecast import Forecast, Take
    from upskill.workflows.sweeping.plan import PlannedSweep
    from upskill.workflows.sweeping.standing import Standing

MOST_REFUSED = 5
"""How many refused skills are listed."""


@click.command("plan")
@click.argument("manifest", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--at", required=True, metavar="PLACE", help="The folder of the sweep: a path, or a URL such as s3://….")
@click.option(
    "-j",
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Estimate the time for N workers.  [default: one per core]",
)
@options.JSON
@options.QUIET
def command(manifest: Path, at: str, workers: int | None, as_json: bool, quiet: bool) -> int:
    """Plan the sweep that FILE (sweep.toml) describes, and write the plan to PLACE. No model is asked anything.

    An evaluation is one skill on a group of models, as `upskill eval` makes it. It is named by its content: what has a
    result in PLACE and has not changed is not measured again. Servers are asked once what they serve.

    Exit codes: 0 planned; 2 wrong usage, or no skill can be measured.
    """
    from upskill.cli.live_display import StepProgress
    from upskill.domain.progress import SILENT
    from upskill.storage.sweep_folder import SweepFolder
    from upskill.workflows.sweeping.forecast import forecast
    from upskill.workflows.sweeping.plan import plan_sweep
    from upskill.workflows.sweeping.standing import read_standing

    folder = SweepFolder(at)
    with StepProgress() as steps:
        planned = plan_sweep(manifest, folder, progress=SILENT if quiet else steps)
    standing = read_standing(folder)
    expected = forecast(
        [job for job in standing.jobs if job.id not in standing.results],
        caps=planned.plan.caps,
        charged=standing.charged(standing.jobs),
        limits=planned.plan.limits,
        confirm=planned.plan.confirm,
        workers=workers or os.cpu_count() or 1,
        concurrency=planned.concurrency,
    )
    if as_json:
        print_json(_as_json(planned, standing, expected, at=folder.place))
        return EXIT_DONE
    print_lines(*_lines(planned, standing, expected, place=folder.place))
    if expected.left:
        print_lines(f"next, run it: upskill sweep run {folder.place}", err=True, wrap=False)
    return EXIT_DONE


def _lines(planned: "PlannedSweep", standing: "Standing", expected: "Forecast", *, place: str) -> list[str]:
    plan = planned.plan
    groups = f" in {count(len(plan.groups), 'group')}" if len(plan.groups) > 1 else ""
    confirmations = len(standing.jobs) - len(planned.jobs)
    more = f" and {count(confirmations, 'confirmation')}" if confirmations else ""
    lines = [
        f"{count(planned.skills, 'skill')} on {count(len(plan.students), 'model')}{groups}: "
        f"{count(len(planned.jobs), 'evaluation')}{more}; {len(standing.results):,} done, {expected.left:,} left",
        *(f"  {named(planned.endpoints[one.name])}{_place(one.endpoint)}" for one in plan.students),
        f"calls         {_calls(expected.take)}",
        f"price         {_price(planned, expected.take)}",
    ]
    if plan.confirm and expected.confirmation.calls_at_most:
        lines.append(f"confirmation  {_confirmation(expected.confirmation)}")
    if expected.left:
        lines += [f"time          {_duration(expected.hours)}: {expected.paces[0].what}"]
        lines += [f"              {_duration(pace.hours)}: {pace.what}" for pace in expected.paces[1:]]
    if (cap := expected.paid) is not None:
        lines.append(
            f"cap           {cap.cap} pays for about {cap.expected:,} of {count(expected.left, 'evaluation')}, "
            f"for {cap.at_least:,} if each takes its worst case ({cap.key} in {plan.manifest})"
        )
    lines += [
        f"what binds    {expected.binds}",
        *_refused_lines(planned.refused, place=place),
        *_copy_lines(planned.copies),
        *(f"note: {note}" for note in planned.all_notes),
        f"the plan is in {place}",
    ]
    return lines


def _place(endpoint: str | None) -> str:
    return "" if endpoint is None else f" at {endpoint}"


def _calls(take: "Take") -> str:
    if take.calls_expected == take.calls_at_most:
        return f"{take.calls_at_most:,}"
    return f"about {take.calls_expected:,}, at most {take.calls_at_most:,}"


def _price(planned: "PlannedSweep", take: "Take") -> str:
    from upskill.reporting import dollars

    unknown = planned.unpriced
    if take.cost_expected is None or take.cost_at_most is None:
        return f"unknown for {', '.join(unknown)}" if unknown else "$0"
    known = (
        "$0" if not take.cost_at_most else f"about {dollars(take.cost_expected)}, at most {dollars(take.cost_at_most)}"
    )
    return f"{known}; unknown for {', '.join(unknown)}" if unknown else known


def _confirmation(take: "Take") -> str:
    from upskill.reporting import dollars

    cost = f" ({dollars(take.cost_expected)})" if take.cost_expected else ""
    most = f" ({dollars(take.cost_at_most)})" if take.cost_at_most else ""
    return (
        f"of winners, on top: about {take.calls_expected:,} calls{cost} if one skill in ten helps, "
        f"at most {take.calls_at_most:,}{most}"
    )


def _duration(hours: float) -> str:
    minutes = hours * 60
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes:,.0f} min" if minutes < 90 else f"about {hours:,.1f} h"


def _refused_lines(refused: "tuple[Refused, ...]", *, place: str) -> list[str]:
    if not refused:
        return []
    skills = count(len({one.skill for one in refused}), "skill")
    lines = [f"{skills} cannot be measured:" if any(not one.students for one in refused) else f"{skills} in part:"]
    for one in refused[:MOST_REFUSED]:
        on = f" on {', '.join(one.students)}" if one.students else ""
        lines.append(f"  {one.skill}{on}: {one.why}")
    if len(refused) > MOST_REFUSED:
        lines.append(f"  and {len(refused) - MOST_REFUSED:,} more, in {place}/refused.jsonl")
    return lines


def _copy_lines(copies: tuple[tuple[str, str], ...]) -> list[str]:
    if not copies:
        return []
    skill, same = copies[0]
    are = "skill has" if len(copies) == 1 else "skills have"
    return [f"note: {len(copies):,} {are} the content of another and are not measured twice ({skill}: {same})"]


def _as_json(planned: "PlannedSweep", standing: "Standing", expected: "Forecast", *, at: str) -> "dict[str, Json]":
    plan = planned.plan
    return {
        "schema": "upskill.sweep-forecast/1",
        "at": at,
        "skills": planned.skills,
        "students": [
            {"model": one.name, "resolved": one.model, "endpoint": one.endpoint, "price_known": one.priced}
            for one in plan.students
        ],
        "groups": [list(group) for group in plan.groups],
        "evaluations": len(planned.jobs),
        "confirmations": len(standing.jobs) - len(planned.jobs),
        "done": len(standing.results),
        "left": expected.left,
        **_take_json(expected.take),
        "price_unknown_for": list(planned.unpriced),
        "confirmation": _take_json(expected.confirmation) if plan.confirm else None,
        "workers": expected.workers,
        "hours": expected.hours,
        "limits": [{"what": one.what, "model": one.model, "hours": one.hours} for one in expected.paces],
        "cap": None
        if (cap := expected.paid) is None
        else {
            "key": cap.key,
            "cap": cap.cap,
            "evaluations_expected": cap.expected,
            "evaluations_at_least": cap.at_least,
        },
        "binds": expected.binds,
        "refused": [{"skill": one.skill, "why": one.why, "students": list(one.students)} for one in planned.refused],
        "copies": [{"skill": skill, "same_as": same} for skill, same in planned.copies],
        "notes": list(planned.all_notes),
    }


def _take_json(take: "Take") -> "dict[str, Json]":
    return {
        "calls": {"expected": take.calls_expected, "at_most": take.calls_at_most},
        "price": {"expected": take.cost_expected, "at_most": take.cost_at_most},
    }
