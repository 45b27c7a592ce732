"""Finds in recorded sessions what is worth teaching."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "mine": Command(
            place="upskill.mining.command:command",
            heading="Skills and cases",
            help="Find what is worth teaching in recorded sessions, without a model.",
        ),
    },
)
