"""Measures whether models load a skill when they should."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "trigger": Command(
            place="upskill.trigger.command:command",
            heading="Commands",
            help="Measure whether models load a skill when they should.",
        ),
    },
    offers={
        "say what was loaded instead": "upskill.trigger.trigger:loaded_instead",
    },
)
