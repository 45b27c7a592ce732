"""Searches skills for dangers, breaks of the specification and lack of quality."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "lint": Command(
            place="upskill.lint.command:command",
            heading="Sharing",
            help="Check skills for danger, the specification and quality.",
        ),
    },
)
