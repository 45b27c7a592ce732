"""An evaluation -> terminal, HTML, Markdown, JSON, JUnit, CSV. Knows no engine and reads no files but its own."""

from upskill.reporting.csv_report import csv_report
from upskill.reporting.json_report import EVALUATION_SCHEMA, evaluation_json, evaluation_schema
from upskill.reporting.junit import junit_report
from upskill.reporting.money import dollars

__all__ = [
    "EVALUATION_SCHEMA",
    "csv_report",
    "dollars",
    "evaluation_json",
    "evaluation_schema",
    "junit_report",
]
