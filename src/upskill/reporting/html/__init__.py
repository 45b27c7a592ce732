"""A result as one HTML file: no network, no script but ours, whatever the answers hold."""

from upskill.reporting.html.against import against_page
from upskill.reporting.html.facts import CaseText, LoggedTrial, RunFacts
from upskill.reporting.html.history import history_page
from upskill.reporting.html.page import report_glance, report_page
from upskill.reporting.html.texts import steps_for

__all__ = [
    "CaseText",
    "LoggedTrial",
    "RunFacts",
    "against_page",
    "history_page",
    "report_glance",
    "report_page",
    "steps_for",
]
