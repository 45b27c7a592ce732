"""Measures many skills on many models and machines."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "sweep": Command(
            place="upskill.sweep.command:command",
            heading="Many skills",
            help="Measure many skills on many models, on one machine or on many.",
        ),
    },
)
