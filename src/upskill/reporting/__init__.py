"""An evaluation -> terminal, HTML, Markdown, JSON, JUnit, CSV. Knows no engine and reads no files but its own.

Each name is imported when it is asked for: a sum of money needs no XML.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# This one at once: its module has the same name, and would take its place once somebody imports that.
from upskill.reporting.csv_report import csv_report

if TYPE_CHECKING:
    from upskill.reporting.json_report import EVALUATION_SCHEMA, evaluation_json, evaluation_schema
    from upskill.reporting.junit import junit_report
    from upskill.reporting.money import dollars

_HOMES = {
    "EVALUATION_SCHEMA": "json_report",
    "dollars": "money",
    "evaluation_json": "json_report",
    "evaluation_schema": "json_report",
    "junit_report": "junit",
}

__all__ = [
    "EVALUATION_SCHEMA",
    "csv_report",
    "dollars",
    "evaluation_json",
    "evaluation_schema",
    "junit_report",
]


def __getattr__(name: str) -> object:
    """Where a name lives, imported now."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
