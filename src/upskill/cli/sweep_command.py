"""`upskill sweep`: many skills on many models, with one plan, one cap and one table."""

import click

from upskill.cli import sweep_plan, sweep_report, sweep_run, sweep_status


class _InOrderOfUse(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("sweep", cls=_InOrderOfUse)
def command() -> None:
    """Measure many skills on many models, on one machine or on many.

    `plan` says what it takes, `run` buys it, `status` says how far it is, `report` shows what was found.
    """


for added, help_line in (
    (sweep_plan.command, "Plan a sweep, and say what it takes."),
    (sweep_run.command, "Run the evaluations that have no result yet."),
    (sweep_status.command, "Show what is done, what is left, what was charged."),
    (sweep_report.command, "Show what was found: skills by models."),
):
    added.short_help = help_line
    command.add_command(added)
