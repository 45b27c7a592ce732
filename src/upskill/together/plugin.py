"""Measures what skills change in each other."""

from upskill.plugin import Plugin

PLUGIN = Plugin(
    offers={
        "measure skills together": "upskill.together.command:measure_skills_together",
    },
)
