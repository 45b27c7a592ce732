"""Watches whether a skill still does what it did."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "drift": Command(
            place="upskill.drift.command:command",
            heading="Commands",
            help="Watch every night whether a skill still does what it did.",
        ),
    },
)
