"""An evaluation -> terminal, HTML, Markdown, JSON, JUnit, CSV. Knows no engine and reads no files but its own.

Each name is imported when it is asked for: a sum of money needs no XML.
"""

from typing import TYPE_CHECKING

from upskill.lazy_exports import lazy_exports

# This one at once: its module has the same name, and would take its place once somebody imports that.
from upskill.reporting.csv_report import csv_report

if TYPE_CHECKING:
    from upskill.reporting.json_report import EVALUATION_SCHEMA, evaluation_json, evaluation_schema
    from upskill.reporting.junit import junit_report
    from upskill.reporting.wording import dollars
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "json_report": ("EVALUATION_SCHEMA", "evaluation_json", "evaluation_schema"),
            "junit": ("junit_report",),
            "wording": ("dollars",),
        },
    )

__all__ = ["EVALUATION_SCHEMA", "csv_report", "dollars", "evaluation_json", "evaluation_schema", "junit_report"]
