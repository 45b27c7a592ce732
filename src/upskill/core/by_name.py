"""Functions of features that lower folders call. Each is loaded by its name when it is called, and imported by none."""

from importlib import import_module
from typing import Any

HOMES = {
    "cases_write_command": "upskill.generation.cases_command",
    "comment_text": "upskill.share.comment",
    "measure_skills_together": "upskill.together.command",
    "report_agent": "upskill.agents.doctor",
    "loaded_instead": "upskill.trigger.trigger",
    "plan_missing_cases": "upskill.generation.cases_command",
    "read_generate_report": "upskill.generation.story",
    "write_missing_cases": "upskill.generation.write_for_skill",
    "write_missing_triggers": "upskill.generation.write_for_skill",
    "write_triggers_for_person": "upskill.generation.cases_command",
}
"""The module of each function."""


def by_name(name: str) -> Any:
    """The function of this name. Raises `ImportError` where its feature was removed."""
    return getattr(import_module(HOMES[name]), name)
