"""What `cases write` and `trigger --write` have in common: how a plan of what is written is shown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from upskill.cli.output import named, print_json, print_lines

if TYPE_CHECKING:
    from upskill.workflows.generating.write_cases import WritingPlan
    from upskill.workflows.generating.write_triggers import TriggersPlan


def show_writing_plan(
    plan: "WritingPlan | TriggersPlan",
    *,
    amount: str,
    as_json: bool,
    wanted: Mapping[str, str],
    schema: str,
    notes: tuple[str, ...] = (),
) -> None:
    """Who writes what, the price and the file; `amount` is for people, and `wanted` is the same in JSON."""
    writer = plan.writer.endpoint
    if as_json:
        found = {
            "schema": schema,
            "skill": plan.skill.name,
            "writer": {"name": writer.name, "model": writer.model},
            **wanted,
            "path": str(plan.target),
            "estimate": plan.estimate.as_json(),
        }
        print_json(found)
        return
    print_lines(
        f"{amount} for {plan.skill.name} by {named(writer)}",
        plan.estimate.words,
        f"to be saved to {plan.target}",
        *(f"note: {note}" for note in notes),
    )
