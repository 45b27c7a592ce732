"""`upskill sweep status`: how far a sweep is."""

from typing import TYPE_CHECKING

import click

from upskill.cli import options
from upskill.cli.output import print_json, print_lines
from upskill.domain.text import count
from upskill.errors import EXIT_DONE

if TYPE_CHECKING:
    from upskill.domain.case import Json
    from upskill.workflows.sweeping.status import SweepStatus

MOST_REASONS = 5


@click.command("status")
@click.argument("place", metavar="PLACE")
@options.JSON
def command(place: str, as_json: bool) -> int:
    """Show what of the sweep at PLACE is done, what is left, and what was charged.

    Exit codes: 0 shown; 2 PLACE has no plan.
    """
    from upskill.storage.sweep_folder import SweepFolder
    from upskill.workflows.sweeping.status import sweep_status

    folder = SweepFolder(place)
    status = sweep_status(folder)
    if as_json:
        print_json(_as_json(status, at=folder.place))
        return EXIT_DONE
    print_lines(*_lines(status, place=folder.place))
    left = status.evaluations.left + status.confirmations.left
    words, verb = ("go on", "run") if left else ("see the table", "report")
    print_lines(f"next, {words}: upskill sweep {verb} {folder.place}", err=True, wrap=False)
    return EXIT_DONE


def _lines(status: "SweepStatus", *, place: str) -> list[str]:
    from upskill.reporting import dollars

    plan, evaluations, confirmations = status.plan, status.evaluations, status.confirmations
    lines = [
        f"{plan.manifest} on {count(len(plan.students), 'model')}, planned {plan.made_at[:16].replace('T', ' ')} UTC",
        f"evaluations    {evaluations.done:,} of {evaluations.planned:,} done, {evaluations.left:,} left",
    ]
    if confirmations.planned:
        lines.append(f"confirmations  {confirmations.done:,} of {confirmations.planned:,} done")
    if evaluations.done:
        lines.append(f"found          {_found(status)}")
    if status.reasons:
        lines.append(f"no result      {count(sum(status.reasons.values()), 'evaluation')}, tried and not finished:")
        shown = list(status.reasons.items())[:MOST_REASONS]
        lines += [f"               {number:,}: {why}" for why, number in shown]
        if (more := len(status.reasons) - len(shown)) > 0:
            lines.append(f"               and {count(more, 'other reason')}; --json has them")
    if status.killed:
        lines.append(f"no end         {count(status.killed, 'attempt')}: running now, or killed")
    cost = status.charged.cost
    cap = "" if plan.caps.max_cost is None else f" of at most {dollars(plan.caps.max_cost)}"
    lines.append(f"charged        {count(status.charged.calls, 'call')}, {dollars(cost)}{cap}")
    if unpriced := [one.name for one in plan.students if not one.priced]:
        lines.append(f"note: the price of {', '.join(unpriced)} is unknown and not in that sum")
    if status.refused:
        lines.append(f"note: {count(status.refused, 'skill')} cannot be measured, see {place}/refused.jsonl")
    return lines


def _found(status: "SweepStatus") -> str:
    """Pairs of a skill and a model, by what was found."""
    once = f"{status.found_once:,} found once"
    if status.to_confirm:
        once += f" ({status.to_confirm:,} to be confirmed)"
    helps = [f"{status.confirmed:,} confirmed" if status.confirmed or status.plan.confirm else "", once]
    others = [f"{number:,} {verdict}" for verdict, number in status.verdicts.items()]
    return ", ".join([*filter(None, helps), *others])


def _as_json(status: "SweepStatus", *, at: str) -> "dict[str, Json]":
    plan = status.plan
    return {
        "schema": "upskill.sweep-status/1",
        "at": at,
        "planned_at": plan.made_at,
        "students": [one.name for one in plan.students],
        "evaluations": {"planned": status.evaluations.planned, "done": status.evaluations.done},
        "confirmations": {"planned": status.confirmations.planned, "done": status.confirmations.done},
        "confirmed": status.confirmed,
        "found_once": status.found_once,
        "to_confirm": status.to_confirm,
        "other_verdicts": dict(status.verdicts),
        "without_result": [{"why": why, "evaluations": number} for why, number in status.reasons.items()],
        "attempts_without_end": status.killed,
        "charged": {"calls": status.charged.calls, "tokens": status.charged.tokens, "cost": status.charged.cost},
        "max_cost": plan.caps.max_cost,
        "refused": status.refused,
    }
