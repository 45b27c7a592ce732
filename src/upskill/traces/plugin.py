"""Reads recorded sessions."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "trace": Command(
            place="upskill.traces.command:command",
            heading="Skills and cases",
            help="Show what upskill reads from a recorded session.",
        ),
    },
)
