"""Cuts the lines of a skill that no answer needs."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "slim": Command(
            place="upskill.slim.command:command",
            heading="Commands",
            help="Cut the lines of a skill that no answer needs.",
        ),
    },
)
